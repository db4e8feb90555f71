"""Finds the engine of a workspace, and starts one in the background where none runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn import __version__
from cairn.attach.channel import AttachError, Channel, SilentEngineError, opened
from cairn.attach.records import BACKGROUND, read_record
from cairn.paths import workspace_dir

if TYPE_CHECKING:
    import subprocess

LOG = "engine.log"
_CLAIM = "engine.starting"
_START_SECONDS = 30.0
"""Patience for an engine that starts, on a busy machine; it takes about a second."""
_ANSWER_SECONDS = 10.0
"""Patience for the first line of an editor's or a server's engine."""
_IMPORT_SECONDS = 20.0
"""The same for an engine in the background, which may have just been started and answers once it is imported."""
_ANOTHER_SECONDS = 1.0
"""Time between two starts of an engine."""
_YIELD_SECONDS = 5.0
_LOOK_SECONDS = 0.02


def find(
    folders: Sequence[Path], wish: dict[str, Any], seconds: float
) -> tuple[Channel, dict[str, Any]] | None:
    """A channel to an engine that runs for one of the folders, with its answer to `wish`; None where none can be asked."""
    for folder in folders:
        record = read_record(folder)
        if record is None or record.process_id == os.getpid():
            continue
        try:
            return opened(record, wish, seconds)
        except AttachError:
            continue
    return None


def attach(folders: Sequence[Path], wish: dict[str, Any]) -> Channel:
    """A channel for a dialogue with the engine of the folders, which is started where none runs.

    Raises AttachError where that cannot be, or the engine refuses.
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
        # One that ended by itself has found that another process starts one, which may have died since.
        if code == 0 and now >= started_at + _ANOTHER_SECONDS and _claims_start(folders[0]):
            started, started_at = _start(folders), now
        time.sleep(_LOOK_SECONDS)
    raise AttachError("no engine answered in time")


def _agreed(folders: Sequence[Path], wish: dict[str, Any]) -> Channel | None:
    """A channel to an engine of the folders that has agreed to `wish`; None where none runs.

    Raises AttachError where it refuses, and where it is an editor's or a server's and silent: another one cannot take its place.
    """
    for folder in folders:
        record = read_record(folder)
        if record is None or record.process_id == os.getpid():
            continue
        patience = _IMPORT_SECONDS if record.kind == BACKGROUND else _ANSWER_SECONDS
        try:
            channel, answer = opened(record, wish, patience)
        except SilentEngineError:
            if record.kind != BACKGROUND:
                raise
        except AttachError:
            continue
        else:
            if answer.get("ok"):
                return channel
            channel.close()
            raise AttachError(str(answer.get("error", "the engine refused")))
    return None


def ask_to_yield(folder: Path) -> Channel | None:
    """Ask the engine in the background that has the folder to give it up; None where none has it.

    The engine has let go of the folder when this returns. It goes on serving its clients until the channel is closed.
    """
    record = read_record(folder)
    if record is None or record.kind != BACKGROUND or record.process_id == os.getpid():
        return None
    try:
        channel, _ = opened(record, {"want": "yield"}, _YIELD_SECONDS)
    except AttachError:
        return None
    return channel


def _replace_older(folders: Sequence[Path]) -> None:
    """End an engine in the background that is of an older version than this process."""
    for folder in folders:
        record = read_record(folder)
        if record is not None and _is_older(record.version) and (channel := ask_to_yield(folder)):
            channel.close()


def _is_older(version: str) -> bool:
    return _numbers(version) < _numbers(__version__)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _claims_start(folder: Path) -> bool:
    """Whether this process is the one to start the folder's engine: of ten whose engine has died, one does."""
    claim = workspace_dir(folder) / _CLAIM
    with suppress(OSError):
        if abs(time.time() - claim.stat().st_mtime) > _ANOTHER_SECONDS:
            claim.unlink()
    try:
        claim.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError:  # Starting the engine will fail for the same reason, and say so.
        return True
    return True


def _start(folders: Sequence[Path]) -> subprocess.Popen[bytes]:
    """Start an engine in the background, which outlives this process. Raises AttachError."""
    import subprocess  # Commands that find an engine start none.

    data = workspace_dir(folders[0])
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    # -P: the current folder may be a workspace with modules called as Python's own.
    command = [
        sys.executable,
        "-P",
        "-m",
        "cairn.serve.background",
        "engine",
        *(str(each.absolute()) for each in folders),
    ]
    environment = {**os.environ}
    for name in ("CAIRN_DATA_DIR", "CAIRN_CONFIG_DIR"):
        if environment.get(name):
            environment[name] = str(Path(environment[name]).absolute())
    try:
        data.mkdir(parents=True, exist_ok=True)
        with (data / LOG).open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=data,
                env=environment,
                **detached,
            )
    except OSError as problem:
        raise AttachError(f"an engine cannot be started: {problem}") from problem
