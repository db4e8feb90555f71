"""Finds the engine of a workspace, and starts one in the background if none runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn import __version__
from cairn.attach.channel import AttachError, Channel, SilentEngineError, accepted, opened
from cairn.attach.engine_records import BACKGROUND, PROTOCOL, Record, read_record
from cairn.paths import private_folder, workspace_dir

if TYPE_CHECKING:
    import subprocess

LOG = "engine.log"
_ENGINE = "cairn.serve.background"
"""The module of background engines."""
_CLAIM = "engine.starting"
_START_SECONDS = 30.0
"""How long to wait for an engine to start, for a busy machine. An engine usually starts in about a second."""
_ANSWER_SECONDS = 10.0
"""The timeout for the first answer of an editor's or a server's engine."""
_IMPORT_SECONDS = 20.0
"""The timeout for the first answer of a background engine, which may still be importing its modules."""
_RESTART_SECONDS = 1.0
"""The minimum time between two starts of an engine."""
_YIELD_SECONDS = 5.0
_POLL_SECONDS = 0.02


def find(
    folders: Sequence[Path], wish: dict[str, Any], seconds: float
) -> tuple[Channel, dict[str, Any]] | None:
    """Return a channel to a running engine of one of the folders, and its answer to `wish`.

    Return None if no engine answers within `seconds`.
    """
    for record in _other_engines(folders):
        with suppress(AttachError):
            return opened(record, wish, seconds)
    return None


def attach(folders: Sequence[Path], wish: dict[str, Any]) -> Channel:
    """Return a channel for a dialogue with the engine of the folders, which is started if none runs.

    The paths are absolute. Raises AttachError if no engine can be started, or if the engine refuses.
    """
    deadline = time.monotonic() + _START_SECONDS
    started, started_at = None, 0.0
    while (now := time.monotonic()) < deadline:
        _replace_older(folders)
        channel = _agreed(folders, wish)
        if channel is not None:
            return channel
        code = started.poll() if started is not None else 0
        if code:
            log = workspace_dir(folders[0]) / LOG
            raise AttachError(f"the engine that was started ended with the code {code}; {log} says why")
        # A started engine exits with 0 if another one was starting, which may have died since.
        if code == 0 and now >= started_at + _RESTART_SECONDS and _claims_start(folders[0]):
            started, started_at = _start(folders), now
        time.sleep(_POLL_SECONDS)
    for record in _other_engines(folders):  # The error of another attempt says why.
        opened(record, {"want": "hello"}, _YIELD_SECONDS)[0].close()
    raise AttachError("no engine answered in time")


def _agreed(folders: Sequence[Path], wish: dict[str, Any]) -> Channel | None:
    """Return a channel to an engine of the folders that has accepted `wish`; None if no engine runs.

    Raises AttachError if the engine refuses. It also raises AttachError if an editor's or a server's engine
    does not answer, because no other engine can replace that one.
    """
    for record in _other_engines(folders):
        seconds = _IMPORT_SECONDS if record.kind == BACKGROUND else _ANSWER_SECONDS
        try:
            channel, answer = opened(record, wish, seconds)
        except SilentEngineError:
            if record.kind != BACKGROUND:
                raise
        except AttachError:
            continue
        else:
            return accepted(channel, answer)
    return None


def _other_engines(folders: Sequence[Path]) -> Iterator[Record]:
    """Yield the records of the folders' engines, except those of this process."""
    for folder in folders:
        record = read_record(folder)
        if record is not None and record.process_id != os.getpid():
            yield record


def ask_to_yield(folder: Path) -> Channel | None:
    """Ask the folder's background engine to give up the folder. Return None if there is no such engine.

    When this returns, the engine has released the folder. It serves its clients until the channel is closed.
    An engine with an older protocol does not understand the request, so it is ended.
    """
    for record in _other_engines([folder]):
        if record.kind != BACKGROUND:
            continue
        if record.protocol < PROTOCOL:
            _end(record)
            continue
        with suppress(AttachError):
            return opened(record, {"want": "yield"}, _YIELD_SECONDS)[0]
    return None


def _end(record: Record) -> None:
    """End the background engine of the record, if the process with its number is one."""
    from cairn.startup.figures import asked

    def end(psutil: Any) -> None:
        process = psutil.Process(record.process_id)
        if _ENGINE in process.cmdline():
            process.terminate()
            process.wait(_YIELD_SECONDS)

    asked(end)


def _replace_older(folders: Sequence[Path]) -> None:
    """End background engines whose version is older than that of this process."""
    for folder in folders:
        record = read_record(folder)
        if record is None:
            continue
        is_older = record.protocol < PROTOCOL or _numbers(record.version) < _numbers(__version__)
        if is_older and (channel := ask_to_yield(folder)):
            channel.close()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _claims_start(folder: Path) -> bool:
    """Return whether this process should start the folder's engine: of ten that need it, only one does."""
    claim = workspace_dir(folder) / _CLAIM
    with suppress(OSError):
        if abs(time.time() - claim.stat().st_mtime) > _RESTART_SECONDS:
            claim.unlink()
    try:
        private_folder(claim.parent)
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError:  # Starting the engine will fail for the same reason and report it.
        pass
    return True


def _start(folders: Sequence[Path]) -> subprocess.Popen[bytes]:
    """Start a background engine, which outlives this process and keeps its current folder. Raises
    AttachError."""
    import subprocess  # Commands that find a running engine do not need this import.

    data = workspace_dir(folders[0])
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    # -P: the current folder may have modules named like Python's own.
    command = [sys.executable, "-P", "-m", _ENGINE, "engine"]
    command += map(str, folders)
    try:
        private_folder(data)
        with (data / LOG).open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                **detached,
            )
    except OSError as problem:
        raise AttachError(f"an engine cannot be started: {problem}") from problem
