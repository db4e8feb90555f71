"""The one place that opens the index file, checks it and sets it aside."""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw

from cairn.errors import IndexUnavailableError
from cairn.index.store.meta import CHECK_IS_DUE, read_facts, set_facts
from cairn.index.store.schema import KEYWORD_TABLES, SCHEMA, SCHEMA_VERSION

logger = logging.getLogger(__name__)

DATABASE_NAME = "index.db"
PREVIOUS_NAME = "previous.db"
"""An index of another version, kept until its vectors are taken over."""

DAMAGE = (apsw.NotADBError, apsw.CorruptError, zlib.error)
"""What is raised for a file that is no database, one that contradicts itself, and texts that cannot be unpacked."""
UNWRITABLE = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    OSError,
)
"""What a full disk, a read-only folder or missing permissions raise; they may go away."""

_CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_BUSY_MS = 5_000
_MAPPED_BYTES = 64 << 20
"""Small indexes are mapped, which halves the time of a vector scan (docs/design.md). Of large ones the mappings, one
for each thread's connection, would count several times in the process's memory."""
_CHECK_EVERY = 10_000
"""SQLite instructions between two looks whether a check is to end."""
_CHECKED_FIRST_BYTES = 64 << 20
"""An index up to this size is checked before it is written again: 0.8 s for 31 MB. A million chunks, 2 GB, take 46 s of a core, and no save
would be found meanwhile, so a larger one is checked once there is nothing else to do. What kills a process alone damages no database."""


def open_reader(path: Path) -> apsw.Connection | None:
    """A read-only connection, or None while there is no index of this version. One connection a thread.

    It serves until `file_identity` changes.
    """
    identity = file_identity(path)
    if identity is None:
        return None
    try:
        connection = _connect_to_read(path)
        connection.pragma("mmap_size", _MAPPED_BYTES if identity[-1] else 0)
        return _if_current(connection)
    except (*DAMAGE, apsw.CantOpenError, apsw.BusyError, apsw.ReadOnlyError, apsw.IOError, OSError):
        return None  # being created or replaced by its writer


def _if_current(connection: apsw.Connection) -> apsw.Connection | None:
    if connection.pragma("user_version") == SCHEMA_VERSION:
        return connection
    connection.close()
    return None


def file_identity(path: Path) -> tuple[int, bool, bool] | None:
    """What differs once another file has this path, its folder can be written where it could not, or it has grown too
    large to be mapped; None without a file.

    Two system calls, 9 µs.
    """
    try:
        status = path.stat()
        return status.st_ino, os.access(path.parent, os.W_OK), status.st_size < _MAPPED_BYTES
    except OSError:
        return None


def open_writer(folder: Path, check: bool) -> tuple[apsw.Connection, str | None]:
    """The writing connection to the index in `folder`, which exists; only the lock's holder may call it.

    A file that is damaged is set aside, one of another schema version kept for its vectors, and a new one made;
    the second value then says so. Raises IndexUnavailableError where the folder cannot be used.
    """
    try:
        connection, remark = _open_or_rebuild(folder / DATABASE_NAME, check)
        connection.transaction_mode = "IMMEDIATE"
        with _closed_on_failure(connection), connection:
            set_facts(connection, writing=1)
    except UNWRITABLE as problem:
        raise unwritable(folder, problem) from problem
    return connection, remark


def unwritable(folder: Path, problem: Exception) -> IndexUnavailableError:
    """The error for a data folder that cannot be used."""
    return IndexUnavailableError(
        f"The index cannot be written to {folder} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )


def set_aside(path: Path) -> str:
    """Move a damaged database out of the way; the name it has now. No connection may be open.

    Of several that were damaged only the latest is kept.
    """
    remove_set_aside(path)
    ending = f".damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    # The log or journal first: one that stays behind would be applied to the database that is made next.
    for file in _files(path)[::-1]:
        if file.exists():
            file.replace(file.with_name(f"{file.name}{ending}"))
    return f"{path.name}{ending}"


def remove_set_aside(path: Path) -> None:
    """Forget the database that was set aside, if one was."""
    for damaged in path.parent.glob(f"{path.name}*.damaged-*"):
        damaged.unlink(missing_ok=True)


def remove_previous(folder: Path) -> None:
    """Forget the index of another version, if there is one."""
    for file in _files(folder / PREVIOUS_NAME):
        file.unlink(missing_ok=True)


def connect_read_only(path: Path) -> apsw.Connection:
    """A read-only connection to an index of any version. Raises apsw.Error."""
    return _connect(path, apsw.SQLITE_OPEN_READONLY)


def open_for_request(path: Path) -> apsw.Connection | None:
    """A connection that may leave a request; None while there is no index of this version."""
    if not path.exists():
        return None
    return _if_current(_connect(path, apsw.SQLITE_OPEN_READWRITE))


def _open_or_rebuild(path: Path, check: bool) -> tuple[apsw.Connection, str | None]:
    remark = None
    try:
        with _closed_on_failure(_connect(path, _CREATE)) as connection:
            if connection.pragma("user_version") == SCHEMA_VERSION:
                if check and read_facts(connection).writing:  # its last writer did not close it
                    if path.stat().st_size <= _CHECKED_FIRST_BYTES:
                        check_soundness(connection)
                    else:
                        with connection:
                            set_facts(connection, **CHECK_IS_DUE)
                return connection, None
            is_empty = connection.execute("SELECT count(*) FROM sqlite_master").get == 0
            connection.close()
        if not is_empty:
            remove_previous(path.parent)
            kept_files = _files(path.with_name(PREVIOUS_NAME))
            for old, kept in zip(_files(path)[::-1], kept_files[::-1], strict=True):
                if old.exists():
                    old.replace(kept)
            remark = "The index is from another version of Cairn and is being rebuilt."
    except DAMAGE as problem:
        remark = (
            f"The index was damaged ({problem}); it was set aside as {set_aside(path)} and is being rebuilt."
        )
        logger.warning(remark)
    return create(path, vfs=None), remark


def create(path: Path | str, vfs: str | None) -> apsw.Connection:
    """A new index; `vfs` names SQLite's file system, None for the real one."""
    with _closed_on_failure(_connect(path, _CREATE, vfs)) as connection:
        # Incremental, so that space can be given back a few pages at a time.
        connection.pragma("auto_vacuum", "INCREMENTAL")
        if vfs is None:
            connection.pragma("journal_mode", "wal")
        with connection:
            connection.execute(SCHEMA)
            connection.pragma("user_version", SCHEMA_VERSION)
    return connection


@contextmanager
def _closed_on_failure(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close(True)
        raise


def check_soundness(connection: apsw.Connection, interrupted: Callable[[], bool] = lambda: False) -> bool:
    """Raise one of DAMAGE if the database contradicts itself; false if `interrupted()` ended the check before.

    0.15 s for the 7.5 MB of an index without vectors (aiohttp).
    """
    connection.set_progress_handler(interrupted, _CHECK_EVERY)
    try:
        verdict = connection.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise apsw.CorruptError(str(verdict))
        for table in KEYWORD_TABLES:
            connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        for wrong, sql in _CONTRADICTIONS.items():
            if connection.execute(sql).get:
                raise apsw.CorruptError(wrong)
        for (packed,) in connection.execute("SELECT text FROM chunks UNION ALL SELECT packed FROM commits"):
            zlib.decompress(cast(bytes, packed))
    except apsw.InterruptError:
        return False
    finally:
        connection.set_progress_handler(None)
    return True


_CONTRADICTIONS = {
    "chunks without keywords": "SELECT EXISTS (SELECT id FROM chunks EXCEPT SELECT id FROM chunks_fts_docsize)",
    "keywords without chunks": "SELECT EXISTS (SELECT id FROM chunks_fts_docsize EXCEPT SELECT id FROM chunks)",
    "files without path words": "SELECT EXISTS (SELECT id FROM files EXCEPT SELECT id FROM paths_fts_docsize)",
    "path words without files": "SELECT EXISTS (SELECT id FROM paths_fts_docsize EXCEPT SELECT id FROM files)",
    "chunks that are not counted": "SELECT count(*) <> (SELECT value FROM meta WHERE key = 'chunks') FROM chunks",
}
"""What no transaction leaves behind, and SQLite knows nothing of."""


def _connect_to_read(path: Path) -> apsw.Connection:
    log = Path(f"{path}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return _connect(path, apsw.SQLITE_OPEN_READONLY)
    # Nobody writes there, and nothing waits in a log. A usual connection would fail, for it makes the files beside
    # the database anew; or it would share the one that is there, and then this process could not write later.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return _connect(f"{path.absolute().as_uri()}?immutable=1", flags)


def _connect(path: Path | str, flags: int, vfs: str | None = None) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    connection.set_busy_timeout(_BUSY_MS)
    connection.enable_load_extension(True)
    connection.load_extension(_vector_extension())
    connection.enable_load_extension(False)
    connection.pragma("synchronous", "NORMAL")  # safe with WAL: a power cut loses the last commit at most
    connection.pragma("foreign_keys", "ON")
    connection.pragma("temp_store", "MEMORY")
    return connection


@functools.cache
def _vector_extension() -> str:
    """sqlite-vec's `loadable_path`, without its import of numpy: 0.1 s."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("sqlite-vec is not installed", name="sqlite_vec")
    return str(Path(spec.origin).with_name("vec0"))


def _files(path: Path) -> list[Path]:
    return [path, *(Path(f"{path}-{kind}") for kind in ("wal", "shm", "journal"))]
