"""The writer's lock on an index: a file lock of the operating system, freed when the process that has it
dies. A JSON file beside the lock describes that process for users. Only the lock decides who writes."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from pathlib import Path

import filelock
from attrs import frozen

from cairn.paths import write_private

logger = logging.getLogger(__name__)

_NAME = "writer.lock"
_NOTE = "writer.json"
_NOTE_BYTES = 4_096
_COMMAND = re.compile(r"[a-z]{1,20}")
_CLOCKS_DIFFER_SECONDS = 2.0
"""The system's clock and the start times of processes may disagree by this much."""


@frozen
class Holder:
    """The process that writes an index, as it describes itself."""

    pid: int
    command: str
    """`cairn` and the name of the subcommand, without its arguments."""
    since: float
    """The time in Unix seconds at which the process took the lock."""


def writer_lock(data: Path) -> filelock.BaseFileLock:
    """Return the lock of the index in the data folder `data`; acquire it without blocking."""
    return filelock.FileLock(data / _NAME, thread_local=False)


def is_locked(data: Path) -> bool:
    if not (data / _NAME).exists():
        return False
    try:
        with writer_lock(data).acquire(blocking=False):
            return False
    except filelock.Timeout:
        return True
    except OSError:  # a data folder that cannot be written has no writer
        return False


def note_holder(data: Path) -> None:
    """Describe this process in the file beside the lock. A failure is only logged."""
    command = next((word for word in sys.argv[1:2] if _COMMAND.fullmatch(word)), "")
    note = {"pid": os.getpid(), "command": f"cairn {command}".strip(), "since": time.time()}
    try:
        write_private(data / _NOTE, json.dumps(note))
    except OSError as problem:
        logger.debug("%s is not written: %s", data / _NOTE, problem)


def holder(data: Path) -> Holder | None:
    """Return the process that the file beside the lock describes; None if it ended or the file is invalid."""
    try:
        with (data / _NOTE).open("rb") as file:
            note = json.loads(file.read(_NOTE_BYTES))
        found = Holder(note["pid"], note["command"], float(note["since"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_sound = isinstance(found.pid, int) and isinstance(found.command, str)
    return found if is_sound and was_alive_at(found.pid, found.since) else None


def was_alive_at(pid: int, moment: float) -> bool:
    """Return whether the process with this id started before `moment`: the system reuses process ids."""
    import psutil  # the import takes 30 ms

    try:
        return bool(psutil.Process(pid).create_time() <= moment + _CLOCKS_DIFFER_SECONDS)
    except (psutil.AccessDenied, OSError):  # a process of another user, or a system that does not say
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False
