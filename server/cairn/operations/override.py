"""Reads and writes the phase that is set by hand for all processes of a workspace at once.

The phase is in a small file in the workspace's data folder. Each process checks the file before each search.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any, TypeGuard

from attrs import frozen

from cairn.errors import CairnError, InvalidRequestError
from cairn.operations.kill_switch import OFF, VECTORS
from cairn.paths import write_private

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
