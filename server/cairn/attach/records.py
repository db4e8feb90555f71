"""The record of who has a workspace's engine: a small file in the workspace's data folder, beside a lock.

The lock alone decides which process may write the record. The system frees it when its holder dies, so a record may outlive
its writer; whoever cannot connect to the address of a record takes it for stale.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cairn.paths import workspace_dir

if TYPE_CHECKING:
    from filelock import BaseFileLock

BACKGROUND, EDITOR, SERVER = "background", "editor", "server"
"""The kinds of processes that have engines. One that runs in the background gives way to the others."""

_NAME = "engine.json"
_LOCK = "engine.lock"
_MOST_BYTES = 4_096


class Record(NamedTuple):
    """Where an engine can be asked. A named tuple, since attrs takes 30 ms to import."""

    address: str
    """`unix:PATH`, or `tcp:PORT` of loopback."""
    token: str
    """What the first line of a connection must hold."""
    process_id: int
    version: str
    """The version of Cairn."""
    kind: str
    """One of `background`, `editor` and `server`."""


def read_record(folder: Path) -> Record | None:
    """The record of the folder's engine; None where there is none that can be read."""
    try:
        with (workspace_dir(folder) / _NAME).open("rb") as file:
            found = Record(**json.loads(file.read(_MOST_BYTES)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    is_sound = all(isinstance(each, str) for each in (found.address, found.token, found.version, found.kind))
    return found if is_sound and isinstance(found.process_id, int) else None


def write_record(folder: Path, record: Record) -> None:
    """Replace the folder's record; only its user can read it. Raises OSError."""
    place = workspace_dir(folder) / _NAME
    fresh = place.with_name(f"{_NAME}.{os.urandom(4).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(record._asdict(), file)
    fresh.replace(place)


def remove_record(folder: Path, record: Record) -> None:
    """Remove the folder's record if it is still this one."""
    if read_record(folder) == record:
        with suppress(OSError):
            (workspace_dir(folder) / _NAME).unlink()


def taken_lock(folder: Path) -> BaseFileLock | None:
    """The lock on having the folder's engine, taken; None where another process has it or the data folder cannot be written."""
    import filelock  # Only processes that have engines need it.

    data = workspace_dir(folder)
    lock = filelock.FileLock(data / _LOCK, thread_local=False)
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except (filelock.Timeout, OSError):
        return None
    return lock
