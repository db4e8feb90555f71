"""The phase that somebody set by hand, for all processes of a workspace at once (S2's manual override).

It is one small file in the workspace's data folder. Whoever searches looks at it before each search.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, TypeGuard

from attrs import frozen

from cairn.errors import CairnError, InvalidRequestError
from cairn.operations.kill_switch import OFF, VECTORS

OVERRIDE_NAME = "retrieval.json"
_MOST_BYTES = 10_000
"""What was written by `write_override` has about 80; of anything larger there is nothing to read."""
_REPLACE_TRIES = 20
_REPLACE_PAUSE_S = 0.01
"""On Windows a file that another process has open for reading cannot be replaced; it soon closes it."""


class OverrideUnavailableError(CairnError):
    """The phase cannot be set by hand."""


@frozen
class PhaseOverride:
    """What was set by hand; nothing where `phase` is None."""

    phase: int | None = None
    """0 to 3; 0 switches retrieval off."""
    problem: str | None = None
    """Why the file counts for nothing, if it is damaged."""


class OverrideReader:
    """Looks at the file of one data folder. Methods may be called from several threads at once."""

    def __init__(self, data: Path) -> None:
        self._path = data / OVERRIDE_NAME
        self._known: tuple[tuple[int, int, int] | None, PhaseOverride] = (None, PhaseOverride())
        """What tells the file that was read from others, and what it said. One value, and so no lock."""

    def read(self) -> PhaseOverride:
        """What is set now; a damaged file sets nothing, and says why. Costs one system call, 2 µs, while nothing changes."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - half the time of Path.stat
            file = (status.st_mtime_ns, status.st_size, status.st_ino)
            known, override = self._known
            if file != known:
                # A file that replaces this one before it is read is read now, and once more the next time.
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
            return self._unused("it is no JSON")
        phase = values.get("phase") if isinstance(values, dict) else ""
        if phase is None or _is_phase(phase):
            return PhaseOverride(phase)
        return self._unused("its phase is none of 0, 1, 2, 3 and null")

    def _unused(self, why: str) -> PhaseOverride:
        told = f"The phase set by hand in {self._path} is not used: {why}. Set it anew with `cairn phase`."
        return PhaseOverride(problem=told)


def write_override(data: Path, phase: int | None, by: str) -> None:
    """Set the phase for every process that uses the data folder `data`; None lets the settings decide again.

    `by` says who did, for people who look into the file. Raises InvalidRequestError for what is no phase, and
    OverrideUnavailableError where the file cannot be written.
    """
    if phase is not None and not _is_phase(phase):
        raise InvalidRequestError("phase", f"expected 0, 1, 2 or 3, got {phase!r}")
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = json.dumps({"phase": phase, "since": since, "by": by}).encode() + b"\n"
    try:
        data.mkdir(parents=True, exist_ok=True)
        _put_in_place(data, content)
    except OSError as problem:
        raise OverrideUnavailableError(
            f"The phase cannot be kept in {data / OVERRIDE_NAME} ({problem.strerror or problem}). "
            "Free space there, or set CAIRN_DATA_DIR to a writable folder."
        ) from problem


def _put_in_place(data: Path, content: bytes) -> None:
    """Whoever reads meanwhile finds the old file or the new one, whole."""
    handle, name = tempfile.mkstemp(prefix=f"{OVERRIDE_NAME}.", dir=data)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # The file system's own clock goes in steps of milliseconds, in which two files of one size would be
        # taken for one.
        now = time.time_ns()
        os.utime(name, ns=(now, now))
        for tries_left in reversed(range(_REPLACE_TRIES)):
            try:
                Path(name).replace(data / OVERRIDE_NAME)
                return
            except PermissionError:
                if not tries_left:
                    raise
                time.sleep(_REPLACE_PAUSE_S)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _is_phase(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and OFF <= value <= VECTORS
