"""The lock on writing an index: an operating system's file lock, which the death of its holder frees."""

from __future__ import annotations

from pathlib import Path

import filelock

_NAME = "writer.lock"


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
