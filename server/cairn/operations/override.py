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
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

from attrs import frozen

from cairn.errors import CairnError, InvalidRequestError

OVERRIDE_NAME = "retrieval.json"
HIGHEST_PHASE = 3
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
    since: str = ""
    """When that was, in UTC (ISO 8601)."""
    by: str = ""
    """Who did, such as `cairn phase`."""
    problem: str | None = None
    """Why the file counts for nothing, if it is damaged."""


class OverrideReader:
    """Looks at the file of one data folder. Methods may be called from several threads at once."""

    def __init__(self, data: Path) -> None:
        self._path = str(data / OVERRIDE_NAME)
        self._known: tuple[tuple[int, int, int] | None, PhaseOverride] = (None, PhaseOverride())
        """What tells the file that was read from others, and what it said. One value, and so no lock."""

    def read(self) -> PhaseOverride:
        """What is set now. Costs one system call, 2 µs, while nothing changes; raises nothing."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - half the time of Path.stat
        except FileNotFoundError:
            return PhaseOverride()
        except OSError as problem:
            return PhaseOverride(problem=_unused(self._path, problem.strerror or str(problem)))
        file = (status.st_mtime_ns, status.st_size, status.st_ino)
        known, override = self._known
        if file != known:
            # A file that replaces this one before it is read is read now, and once more the next time.
            override = read_override(Path(self._path).parent)
            self._known = (file, override)
        return override

    def phase(self) -> int | None:
        """The phase that is set now, None for none: what `KillSwitch` asks for."""
        return self.read().phase


def read_override(data: Path) -> PhaseOverride:
    """What the file in the data folder `data` says now; a damaged one says nothing, and why."""
    path = data / OVERRIDE_NAME
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return PhaseOverride()
    except OSError as problem:
        return PhaseOverride(problem=_unused(path, problem.strerror or str(problem)))
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return PhaseOverride(problem=_unused(path, "it is no JSON"))
    phase = values.get("phase") if isinstance(values, dict) else ""
    if not (phase is None or _is_phase(phase)):
        return PhaseOverride(problem=_unused(path, "its phase is none of 0, 1, 2, 3 and null"))
    return PhaseOverride(phase, _text(values.get("since")), _text(values.get("by")))


def write_override(
    data: Path, phase: int | None, by: str = "cairn phase", clock: Callable[[], int] = time.time_ns
) -> PhaseOverride:
    """Set the phase for every process that uses the data folder `data`; None lets the settings decide again.

    `clock` tells nanoseconds since 1970, for the file's time. Returns what is set now. Raises InvalidRequestError for what is no phase, and OverrideUnavailableError
    where the file cannot be written.
    """
    if phase is not None and not _is_phase(phase):
        raise InvalidRequestError("phase", f"expected 0, 1, 2 or 3, got {phase!r}")
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = json.dumps({"phase": phase, "since": since, "by": by}).encode() + b"\n"
    try:
        data.mkdir(parents=True, exist_ok=True)
        _put_in_place(data, content, clock())
    except OSError as problem:
        raise OverrideUnavailableError(
            f"The phase cannot be kept in {data / OVERRIDE_NAME} ({problem.strerror or problem}). "
            "Free space there, or set CAIRN_DATA_DIR to a writable folder."
        ) from problem
    return PhaseOverride(phase, since, by)


def _put_in_place(data: Path, content: bytes, now: int) -> None:
    """Whoever reads meanwhile finds the old file or the new one, whole."""
    handle, name = tempfile.mkstemp(prefix=f"{OVERRIDE_NAME}.", dir=data)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # The file system's own clock goes in steps of milliseconds, in which two files of one size would be
        # taken for one.
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
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST_PHASE


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _unused(path: Path | str, why: str) -> str:
    return f"The phase set by hand in {path} is not used: {why}. Set it anew with `cairn phase`."
