"""The lock on writing an index: an operating system's file lock, which the death of its holder frees.

A note beside it names its holder, for people: the lock alone decides who writes.
"""

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

logger = logging.getLogger(__name__)

_NAME = "writer.lock"
_NOTE = "writer.json"
_NOTE_BYTES = 4_096
_COMMAND = re.compile(r"[a-z]{1,20}")
_CLOCKS_DIFFER_SECONDS = 2.0
"""A process's start and the time are told by two clocks of the system."""


@frozen
class Holder:
    """The process that writes an index, as it says itself."""

    pid: int
    command: str
    """`cairn` and the command's name; nothing of what was asked."""
    since: float
    """Unix seconds at which it took the lock."""


def writer_lock(data: Path) -> filelock.BaseFileLock:
    """The lock of the index in the data folder `data`; acquire it without blocking."""
    return filelock.FileLock(data / _NAME, thread_local=False)


def is_held(data: Path) -> bool:
    """Whether some process writes the index in `data` now."""
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
    """Note that this process has the lock now. What cannot be written is left out: nothing depends on it."""
    command = next((word for word in sys.argv[1:2] if _COMMAND.fullmatch(word)), "")
    note = {"pid": os.getpid(), "command": f"cairn {command}".strip(), "since": time.time()}
    fresh = data / f"{_NOTE}.new"
    try:
        fresh.write_text(json.dumps(note), encoding="utf-8")
        fresh.replace(data / _NOTE)
    except OSError as problem:
        logger.debug("%s is not written: %s", data / _NOTE, problem)


def holder(data: Path) -> Holder | None:
    """The process that has the lock, while one does; None where the note is none, or that of a process that has ended."""
    try:
        with (data / _NOTE).open("rb") as file:
            note = json.loads(file.read(_NOTE_BYTES))
        found = Holder(note["pid"], note["command"], float(note["since"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_sound = isinstance(found.pid, int) and isinstance(found.command, str)
    return found if is_sound and was_alive_at(found.pid, found.since) else None


def was_alive_at(pid: int, moment: float) -> bool:
    """Whether the process that has this number now had started by then: numbers are given again."""
    import psutil  # which takes 30 ms, for those who ask

    try:
        return bool(psutil.Process(pid).create_time() <= moment + _CLOCKS_DIFFER_SECONDS)
    except psutil.AccessDenied:  # somebody else's, but there
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False
