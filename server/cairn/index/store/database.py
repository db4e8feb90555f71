"""The one place that opens the index file, checks it, maintains it, and moves a damaged one aside.

Maintenance merges keyword indexes, compacts vectors and frees space. It runs in small steps while the
indexing thread has nothing else to do, so a save never waits for it.
"""

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
from cairn.index.store.schema import KEYWORD_TABLES, SCHEMA, SCHEMA_VERSION, STATIC_TABLE

logger = logging.getLogger(__name__)

DATABASE_NAME = "index.db"
_PREVIOUS_NAME = "previous.db"
"""Cairn 0.2 could leave this file beside the index."""

DAMAGE = (apsw.NotADBError, apsw.CorruptError, zlib.error)
"""Errors of a file that is not a database, of an inconsistent database, and of damaged compressed text."""
UNWRITABLE = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    OSError,
)
"""Errors raised by a full disk, a read-only folder or missing permissions. They may go away."""

_CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_BUSY_MS = 5_000
_MAPPED_BYTES = 64 << 20
"""Index files smaller than this are memory-mapped, which halves the time of a vector scan (docs/design.md).
Each thread's connection would map a larger file, and each mapping would count as memory of the process."""
_CHECK_EVERY = 10_000
"""The number of SQLite instructions between two calls of a check's `interrupted`."""
_CHECKED_FIRST_BYTES = 64 << 20
"""An index of at most this size is checked before it is written, which takes 0.8 s for 31 MB. A larger one is
checked in the background.

The check of a million chunks, 2 GB, takes 46 s of a core, during which no save would be indexed. It can wait,
because killing a process does not by itself damage a database.
"""


def open_reader(path: Path) -> apsw.Connection | None:
    """Open a read-only connection for one thread, valid while `file_identity` stays the same. Return None
    while there is no index of this schema version."""
    identity = file_identity(path)
    if identity is None:
        return None
    try:
        connection = _connect_to_read(path)
        connection.pragma("mmap_size", _MAPPED_BYTES if identity[-1] else 0)
        return _if_current(connection)
    except (*DAMAGE, apsw.CantOpenError, apsw.BusyError, apsw.ReadOnlyError, apsw.IOError, OSError):
        return None  # the file is being created or replaced by its writer


def _if_current(connection: apsw.Connection) -> apsw.Connection | None:
    if connection.pragma("user_version") == SCHEMA_VERSION:
        return connection
    connection.close()
    return None


def file_identity(path: Path) -> tuple[int, bool, bool] | None:
    """Return a value that changes when readers must reopen the file, or None without a file. This takes 9 µs.

    It changes when the file is replaced, when its folder becomes writable or read-only, and when the file
    becomes too large to be mapped.
    """
    try:
        status = path.stat()
        return status.st_ino, os.access(path.parent, os.W_OK), status.st_size < _MAPPED_BYTES
    except OSError:
        return None


def open_writer(folder: Path, check: bool) -> tuple[apsw.Connection, str | None]:
    """Open the writing connection to the index in `folder`. The caller must have the writer's lock.

    A damaged file is moved aside, and one of another schema version is deleted. In each case a new index
    replaces the file, and the second value is a remark for the user; otherwise it is None. Raises
    IndexUnavailableError if the folder cannot be used.
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
    return IndexUnavailableError(
        f"The index cannot be written to {folder} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )


def set_aside(path: Path) -> str:
    """Rename a damaged database, delete earlier ones, and return its new name. No connection may be open."""
    remove_set_aside(path)
    ending = f".damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    # The log or journal is renamed first: if it stayed, SQLite would apply it to the new database.
    for file in _files(path)[::-1]:
        if file.exists():
            file.replace(file.with_name(f"{file.name}{ending}"))
    return f"{path.name}{ending}"


def set_index_aside(path: Path, problem: Exception) -> str:
    """Rename a damaged index, log that, and return the remark for the user. No connection may be open."""
    remark = f"The index was damaged ({problem}); it was set aside as {set_aside(path)} and is being rebuilt."
    logger.warning(remark)
    return remark


def remove_set_aside(path: Path) -> None:
    for damaged in path.parent.glob(f"{path.name}*.damaged-*"):
        damaged.unlink(missing_ok=True)


def connect_read_only(path: Path) -> apsw.Connection:
    """Open a read-only connection to an index of any schema version. Raises apsw.Error."""
    return _connect(path, apsw.SQLITE_OPEN_READONLY)


def open_for_request(path: Path) -> apsw.Connection | None:
    """Open a connection that can write a request, or return None while there is no index of this version."""
    if not path.exists():
        return None
    return _if_current(_connect(path, apsw.SQLITE_OPEN_READWRITE))


def _open_or_rebuild(path: Path, check: bool) -> tuple[apsw.Connection, str | None]:
    remark = None
    try:
        with _closed_on_failure(_connect(path, _CREATE)) as connection:
            if connection.pragma("user_version") == SCHEMA_VERSION:
                if check and read_facts(connection).writing:  # the last writer died
                    if path.stat().st_size <= _CHECKED_FIRST_BYTES:
                        check_soundness(connection)
                    else:
                        with connection:
                            set_facts(connection, **CHECK_IS_DUE)
                return connection, None
            is_empty = connection.execute("SELECT count(*) FROM sqlite_master").get == 0
            connection.close()
        if not is_empty:
            for file in (*_files(path)[::-1], *_files(path.with_name(_PREVIOUS_NAME))):
                file.unlink(missing_ok=True)
            remark = "The index is from another version of Cairn and is being rebuilt."
    except DAMAGE as problem:
        remark = set_index_aside(path, problem)
    return create(path, vfs=None), remark


def create(path: Path | str, vfs: str | None) -> apsw.Connection:
    """Create an index in the virtual file system of SQLite that `vfs` names, or on disk for None."""
    with _closed_on_failure(_connect(path, _CREATE, vfs)) as connection:
        # Incremental vacuuming lets maintenance free a few pages at a time.
        connection.pragma("auto_vacuum", "INCREMENTAL")
        if vfs is None:
            connection.pragma("journal_mode", "wal")
        with connection:
            connection.execute(SCHEMA)
            connection.pragma("user_version", SCHEMA_VERSION)
    return connection


def distrust(connection: apsw.Connection) -> None:
    """Prepare a connection to a database that another machine has made (https://sqlite.org/security.html)."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", "ON")


@contextmanager
def _closed_on_failure(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close(True)
        raise


def check_soundness(connection: apsw.Connection, interrupted: Callable[[], bool] = lambda: False) -> bool:
    """Raise one of DAMAGE if the database is inconsistent; return false if interrupted before the end. The
    check takes 0.15 s for an index of 7.5 MB without vectors (aiohttp)."""
    connection.set_progress_handler(interrupted, _CHECK_EVERY)
    try:
        verdict = connection.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise apsw.CorruptError(str(verdict))
        for table in KEYWORD_TABLES:
            connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        for wrong, sql in _CONTRADICTIONS.items():
            if connection.execute(f"SELECT EXISTS ({sql})").get:
                raise apsw.CorruptError(wrong)
        for (packed,) in connection.execute("SELECT text FROM chunks UNION ALL SELECT packed FROM commits"):
            zlib.decompress(cast(bytes, packed))
    except apsw.InterruptError:
        return False
    finally:
        connection.set_progress_handler(None)
    return True


_CONTRADICTIONS = {
    "chunks without keywords": "SELECT id FROM chunks EXCEPT SELECT id FROM chunks_fts_docsize",
    "keywords without chunks": "SELECT id FROM chunks_fts_docsize EXCEPT SELECT id FROM chunks",
    "files without path words": "SELECT id FROM files EXCEPT SELECT id FROM paths_fts_docsize",
    "path words without files": "SELECT id FROM paths_fts_docsize EXCEPT SELECT id FROM files",
    "chunks that are not counted": (
        "SELECT value FROM meta WHERE key = 'chunks' EXCEPT SELECT count(*) FROM chunks"
    ),
}
"""Queries for contradictory rows. No transaction leaves such rows, and SQLite's check does not find them."""


def _connect_to_read(path: Path) -> apsw.Connection:
    log = Path(f"{path}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return _connect(path, apsw.SQLITE_OPEN_READONLY)
    # No process writes in this folder, and the log is empty. An ordinary connection would fail if it could
    # not create the files beside the database. If it shared such files, this process could not write later.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return _connect(f"{path.absolute().as_uri()}?immutable=1", flags)


def _connect(path: Path | str, flags: int, vfs: str | None = None) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    connection.set_busy_timeout(_BUSY_MS)
    connection.enable_load_extension(True)
    connection.load_extension(_vector_extension())
    connection.enable_load_extension(False)
    connection.pragma("synchronous", "NORMAL")  # safe with WAL: a power cut loses at most the last commit
    connection.pragma("foreign_keys", "ON")
    connection.pragma("temp_store", "MEMORY")
    return connection


@functools.cache
def _vector_extension() -> str:
    """Return sqlite-vec's `loadable_path` without importing the package, which imports numpy (0.1 s)."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("sqlite-vec is not installed", name="sqlite_vec")
    return str(Path(spec.origin).with_name("vec0"))


def _files(path: Path) -> list[Path]:
    return [path, *(Path(f"{path}-{kind}") for kind in ("wal", "shm", "journal"))]


_DAY = 24 * 3600
_HOLES = 0.3
"""A table of vectors is compacted if a larger share of its rows is deleted. sqlite-vec does not reuse their
space."""
_FEWEST_HOLES = 1_000
_BLOCK = 1_024
"""The number of rows in a block of sqlite-vec. It fills only the latest block's holes."""
_PAGES_AT_ONCE = 1_000
"""The number of pages freed in one transaction: 4 MB."""
_MERGED_PAGES = 200
"""The number of pages of a keyword index merged in one transaction."""
_NOTHING_MERGED = 2
"""A merge that changes fewer rows than this had nothing to do (SQLite's documentation of FTS5's `merge`)."""


def today() -> int:
    return int(time.time() // _DAY)


class Maintenance:
    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def run(self, interrupted: Callable[[], bool]) -> bool:
        """Do all steps; return false if interrupted before the last one. Completed steps stay done."""
        return not any(interrupted() for _ in self._steps())

    def _steps(self) -> Iterator[None]:
        if read_facts(self._db).has_static:
            while self._has_holes() and self._empty_a_block():
                yield
        for table in KEYWORD_TABLES:
            while self._merge_keywords(table):
                yield
        while self._give_back():
            yield

    # sqlite-vec's table `_chunks` has the capacity of each block, and `_rowids` has the block of each row.

    def _has_holes(self) -> bool:
        rows = int(self._db.execute(f"SELECT count(*) FROM {STATIC_TABLE}_rowids").get or 0)
        room = int(self._db.execute(f"SELECT coalesce(sum(size), 0) FROM {STATIC_TABLE}_chunks").get or 0)
        return room - rows > max(_HOLES * room, _FEWEST_HOLES + _BLOCK)

    def _empty_a_block(self) -> bool:
        """Move the rows of the emptiest block into the latest one; return false if there are none to move."""
        with self._db:
            block = self._db.execute(
                f"""SELECT chunk_id FROM {STATIC_TABLE}_rowids
                    WHERE chunk_id < (SELECT max(chunk_id) FROM {STATIC_TABLE}_chunks)
                    GROUP BY chunk_id ORDER BY count(*) LIMIT 1"""
            ).get
            rows = self._db.execute(
                f"""SELECT v.rowid, v.embedding
                    FROM {STATIC_TABLE}_rowids moved CROSS JOIN {STATIC_TABLE} v ON v.rowid = moved.rowid
                    WHERE moved.chunk_id = ?""",
                (block,),
            ).fetchall()
            self._db.executemany(f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?", [(row[0],) for row in rows])
            self._db.executemany(
                f"INSERT INTO {STATIC_TABLE}(rowid, embedding) VALUES (?, vec_int8(?))", rows
            )
        return bool(rows)

    def _merge_keywords(self, table: str) -> bool:
        """Merge part of a keyword index, which frees deleted entries; return false once nothing is left."""
        before = self._db.total_changes()
        with self._db:
            self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (_MERGED_PAGES,))
        return self._db.total_changes() - before >= _NOTHING_MERGED

    def _give_back(self) -> bool:
        """Give some free pages back to the file system; return false once none can be given back."""
        free = int(self._db.pragma("freelist_count"))
        if free:
            self._db.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        return int(self._db.pragma("freelist_count")) < free
