"""The record of the process that runs a workspace's engine: a small file in its data folder, beside a lock.

The lock alone decides which process may write the record. The system frees the lock when its process dies. A
record can outlive its process; it is stale if its address accepts no connection.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cairn.paths import private_folder, read_private, workspace_dir, write_private

if TYPE_CHECKING:
    from filelock import BaseFileLock

BACKGROUND, EDITOR, SERVER = "background", "editor", "server"
"""The kinds of processes that run engines. A background engine yields to the other kinds."""

PROTOCOL = 2
"""The number of the protocol of `cairn.attach.channel`. Records of protocol 1 do not contain it."""
_NAME = "engine.json"
_LOCK = "engine.lock"
_MOST_BYTES = 4_096


class Record(NamedTuple):
    """The address of an engine. This is a named tuple because importing attrs takes 30 ms."""

    address: str
    """`unix:PATH`, or `tcp:PORT` on the loopback address."""
    token: str
    """The secret that both sides of a connection prove to know."""
    process_id: int
    version: str
    kind: str
    """BACKGROUND, EDITOR or SERVER."""
    protocol: int = 1


def read_record(folder: Path) -> Record | None:
    """Return the record of the folder's engine; None if this user has none, or it cannot be read."""
    try:
        found = Record(**json.loads(read_private(workspace_dir(folder) / _NAME, _MOST_BYTES)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    is_sound = all(isinstance(each, str) for each in (found.address, found.token, found.version, found.kind))
    is_sound = is_sound and isinstance(found.process_id, int) and isinstance(found.protocol, int)
    return found if is_sound else None


def write_record(folder: Path, record: Record) -> None:
    """Replace the folder's record, readable by this user alone. Raises OSError."""
    write_private(workspace_dir(folder) / _NAME, json.dumps(record._asdict()))


def remove_record(folder: Path, record: Record) -> None:
    """Delete the folder's record, unless another one has replaced it."""
    if read_record(folder) == record:
        with suppress(OSError):
            (workspace_dir(folder) / _NAME).unlink()


def acquire_lock(folder: Path) -> BaseFileLock | None:
    """Acquire and return the lock of the folder's engine.

    Return None if another process has it, or if the data folder cannot be written.
    """
    import filelock  # Only processes with engines need this import.

    data = workspace_dir(folder)
    lock = filelock.FileLock(data / _LOCK, thread_local=False)
    try:
        private_folder(data)
        lock.acquire(blocking=False)
    except (filelock.Timeout, OSError):
        return None
    return lock
