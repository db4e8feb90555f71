"""The one place that opens the index file."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import apsw
import sqlite_vec

from cairn.errors import IndexUnavailableError
from cairn.index.schema import SCHEMA, SCHEMA_VERSION

logger = logging.getLogger(__name__)

DATABASE_NAME = "index.db"
_BUSY_MS = 5_000
_READER_MMAP_BYTES = 1 << 30
"""Mapped reads halve the time of a vector scan (docs/design.md)."""


def open_reader(path: Path) -> apsw.Connection | None:
    """A read-only connection, or None while there is no index of this version. One connection a thread."""
    if not path.exists():
        return None
    try:
        connection = _connect(path, apsw.SQLITE_OPEN_READONLY)
        connection.pragma("mmap_size", _READER_MMAP_BYTES)
        version = connection.pragma("user_version")
    except (apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError, apsw.BusyError):
        return None  # being created or replaced by its writer
    if version != SCHEMA_VERSION:
        connection.close()
        return None
    return connection


def open_writer(folder: Path) -> tuple[apsw.Connection, str | None]:
    """The writing connection to the index in `folder`, which exists; only the lock's holder may call it.

    A file that is damaged is set aside, one of another schema version dropped; the second value then
    says so. Raises IndexUnavailableError where the folder cannot be used.
    """
    path = folder / DATABASE_NAME
    try:
        connection, remark = _open_or_rebuild(path)
        connection.transaction_mode = "IMMEDIATE"
    except (OSError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError) as problem:
        raise unwritable(folder, problem) from problem
    return connection, remark


def unwritable(folder: Path, problem: Exception) -> IndexUnavailableError:
    """The error for a data folder that cannot be used."""
    return IndexUnavailableError(
        f"The index cannot be written to {folder} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )


def _open_or_rebuild(path: Path) -> tuple[apsw.Connection, str | None]:
    remark = None
    try:
        connection = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        version = connection.pragma("user_version")
        if version == SCHEMA_VERSION:
            return connection, None
        is_empty = connection.execute("SELECT count(*) FROM sqlite_master").get == 0
        connection.close()
        if not is_empty:
            _remove(path)
            remark = "The index is from another version of Cairn and is being rebuilt."
    except (apsw.NotADBError, apsw.CorruptError) as problem:
        aside = _quarantine(path)
        remark = f"The index was damaged ({problem}); it was set aside as {aside.name} and is being rebuilt."
        logger.warning(remark)
    connection = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    connection.pragma("journal_mode", "wal")
    with connection:
        connection.execute(SCHEMA)
        connection.pragma("user_version", SCHEMA_VERSION)
    return connection, remark


def _connect(path: Path, flags: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(_BUSY_MS)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    connection.pragma("synchronous", "NORMAL")  # safe with WAL: a power cut loses the last commit at most
    connection.pragma("foreign_keys", "ON")
    connection.pragma("temp_store", "MEMORY")
    return connection


def _files(path: Path) -> list[Path]:
    return [path, Path(f"{path}-wal"), Path(f"{path}-shm")]


def _remove(path: Path) -> None:
    for file in _files(path):
        file.unlink(missing_ok=True)


def _quarantine(path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for file in _files(path):
        if file.exists():
            file.replace(file.with_name(f"{file.name}.damaged-{stamp}"))
    return path.with_name(f"{path.name}.damaged-{stamp}")
