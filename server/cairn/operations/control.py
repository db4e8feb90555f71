"""Lets a process control the others that have the same folder open: pause indexing, and set the phase.

The processes of a folder share only its data folder. Requests to the writer are stored in the index file. An
idle writer reads them within a second, a busy one after its current step. The phase is in a small file, which
each process checks before each search.
"""

from __future__ import annotations

import datetime
import json
import os
import time
from pathlib import Path
from typing import Any, TypeGuard

from attrs import frozen

from cairn.errors import CairnError, IndexUnavailableError, InvalidRequestError
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.coordination import RequestKind, is_locked, leave_request
from cairn.operations.kill_switch import OFF, VECTORS
from cairn.operations.places import require_directory
from cairn.paths import workspace_dir, write_private

_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 60.0
_ALIVE_SECONDS = 1.0
"""The interval at which to check whether the writer is still alive."""


def is_being_indexed(folder: Path) -> bool:
    """Return whether any process keeps the index of `folder` up to date."""
    return is_locked(workspace_dir(folder))


def set_paused(folder: Path, paused: bool) -> None:
    """Make the process that indexes `folder` pause or resume. Raise IndexUnavailableError if that fails, or
    if that process does not answer within a minute."""
    require_directory(folder)
    data = workspace_dir(folder)
    reader = SqliteReader(data)
    kind = RequestKind.PAUSE if paused else RequestKind.RESUME
    is_requested, next_check, ends = False, 0.0, time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < ends:
        if time.monotonic() >= next_check:
            if not is_being_indexed(folder):
                raise IndexUnavailableError(
                    f"no process is indexing {folder.resolve()}; open it in an editor, or run `cairn index`"
                )
            next_check = time.monotonic() + _ALIVE_SECONDS
        if bool(reader.facts().paused) == paused and not reader.has_requests():
            return
        is_requested = is_requested or leave_request(data, kind, "") is not None
        time.sleep(_POLL_SECONDS)
    raise IndexUnavailableError(
        f"the process that is indexing {folder.resolve()} does not answer; it may have been stopped"
    )


# --- the phase that is set by hand -------------------------------------------------------------------


OVERRIDE_NAME = "retrieval.json"
_MOST_BYTES = 10_000
"""The maximum number of bytes to read. A file from `write_override` has about 80."""


class OverrideUnavailableError(CairnError):
    """The phase cannot be set by hand."""


@frozen
class PhaseOverride:
    phase: int | None = None
    """The phase, 0 to 3; None if none is set. Phase 0 switches retrieval off."""
    problem: str | None = None


class OverrideReader:
    """Reads the override of one data folder. Thread-safe."""

    def __init__(self, data: Path) -> None:
        self._path = data / OVERRIDE_NAME
        self._known: tuple[tuple[int, int, int] | None, PhaseOverride] = (None, PhaseOverride())
        """The identity and the content of the file that was read. A single tuple needs no lock."""

    def read(self) -> PhaseOverride:
        """Return the override, or the file's problem. Without a change, this is one system call of 2 µs."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - half the time of Path.stat
            file = (status.st_mtime_ns, status.st_size, status.st_ino)
            known, override = self._known
            if file != known:
                # If another process replaces the file just now, the new file is read now and again by the
                # next call.
                override = self._read_file()
                self._known = (file, override)
            return override
        except FileNotFoundError:
            return PhaseOverride()
        except OSError as problem:
            return self._unused(problem.strerror or str(problem))

    def _read_file(self) -> PhaseOverride:
        with self._path.open("rb") as file:
            content = file.read(_MOST_BYTES)
        try:
            values = json.loads(content)
        except (ValueError, RecursionError):
            return self._unused("it is not JSON")
        phase = values.get("phase") if isinstance(values, dict) else ""
        if phase is None or _is_phase(phase):
            return PhaseOverride(phase)
        return self._unused("its phase is none of 0, 1, 2, 3 and null")

    def _unused(self, why: str) -> PhaseOverride:
        return PhaseOverride(
            problem=f"The phase set by hand in {self._path} is not used: {why}."
            " Set it anew with `cairn phase`."
        )


def write_override(data: Path, phase: int | None, by: str) -> None:
    """Set the phase for all processes that use the data folder `data`; with None, the settings decide again.
    `by` says in the file who set the phase. Raise InvalidRequestError for an invalid phase, and
    OverrideUnavailableError if the file cannot be written.
    """
    if phase is not None and not _is_phase(phase):
        raise InvalidRequestError("phase", f"expected 0, 1, 2 or 3, got {phase!r}")
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = json.dumps({"phase": phase, "since": since, "by": by}).encode() + b"\n"
    try:
        write_private(data / OVERRIDE_NAME, content)
    except OSError as problem:
        raise OverrideUnavailableError(
            f"The phase cannot be kept in {data / OVERRIDE_NAME} ({problem.strerror or problem}). "
            "Free space there, or set CAIRN_DATA_DIR to a writable folder."
        ) from problem


def _is_phase(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and OFF <= value <= VECTORS
