"""Keeps the static vectors of a large index in memory, because searching a matrix is faster than sqlite-vec.

sqlite-vec still stores the vectors. The first query that needs the matrix reads it, later queries apply the
changes made by any process, and the matrix is freed after half an hour without use. docs/design.md has the
measurements.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from pathlib import Path

import apsw
from attrs import field, frozen

from cairn.index.store.database import open_reader
from cairn.index.store.deadline import query_end, uninterrupted
from cairn.index.store.meta import Facts, read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.vectors.static_rows import RowStore, StaticRows
from cairn.index.vectors.vec0 import UnknownLayoutError, VectorBlock, read_blocks
from cairn.startup.interpreter import trim_memory

logger = logging.getLogger(__name__)

FEWEST_ROWS = 64
"""Fewer rows than this are not kept in memory, because sqlite-vec compares them with a query in 0.3 ms."""
_CODED_FROM = 130_000
"""A matrix of at least this many rows has binary codes, which select the rows to compare. Computing the
distances of so many rows takes 5 ms with 128 dimensions. Codes take a quarter of the rows' memory."""
_IDLE_SECONDS = 1_800.0
"""The time without queries after which rows are freed. It is long because reading and coding a million rows
takes 2 s of a core, and users may read an answer for minutes before they search again."""
_READ_BEHIND_FROM = 200_000
"""If there are at least this many chunks, a separate thread reads the rows, so that queries can end at their
deadlines. Reading a million rows takes 0.4 to 0.7 s, less than one search by sqlite-vec."""
_POLL_SECONDS = 0.02
"""The interval in seconds at which a query that waits for that thread checks its deadline."""
_LONGEST_WAIT = 0.1
"""How many seconds a query waits for another thread's update before it uses the old rows or sqlite-vec."""


@frozen
class _Version:
    """Identifies the index, the table of vectors and the generation of the rows."""

    identity: object
    schema: int
    """It changes when the table of vectors is dropped and created again."""
    generation: int

    @classmethod
    def at(cls, db: apsw.Connection, identity: object, facts: Facts) -> _Version:
        return cls(identity, int(db.pragma("schema_version")), facts.generation)

    def is_like(self, other: _Version) -> bool:
        """Return whether both are states of one table of vectors."""
        return (self.identity, self.schema) == (other.identity, other.schema)


@frozen(eq=False)
class _Current:
    version: _Version
    rows: StaticRows | None = None
    """None if there are too few rows or they cannot be read."""
    blocks: dict[int, VectorBlock] = field(factory=dict)

    def leads_to(self, version: _Version) -> bool:
        """Return whether the rows can be updated to `version`."""
        mine = self.version
        return self.rows is not None and mine.is_like(version) and mine.generation <= version.generation

    def serves(self, version: _Version) -> bool:
        """Return whether the rows are of `version` or later. A query that reads an earlier state of the index
        lacks only vectors of chunks that are gone by now."""
        return self.version.is_like(version) and self.version.generation >= version.generation


class StaticMatrix:
    """The rows of one index, for all threads of the process."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._current: _Current | None = None
        self._reading = threading.Lock()
        self._beginning = threading.Lock()
        self._behind: threading.Thread | None = None
        """The thread that reads, or was the latest to read, all rows."""
        self._coding = False
        self._timer: threading.Timer | None = None
        self._used = 0.0

    def rows(
        self, db: apsw.Connection, identity: object, facts: Facts, *, waits: bool = False
    ) -> StaticRows | None:
        """Return the rows of the generation of `facts` or a later one, or None if the caller must search with
        sqlite-vec.

        The rows are of an earlier generation if another thread takes long to update them. While another
        thread reads a large matrix, this returns None, or waits for it until the end of the query if `waits`.
        `identity` identifies the index file of `db`. For 107,000 rows, the first call takes 25 ms if the file
        is cached, and a call after a change 1 to 3 ms.
        """
        self._used = time.monotonic()
        current = self._current
        if current is not None:
            at = current.version
            if (at.identity, at.generation) == (identity, facts.generation):
                return current.rows
        version = _Version.at(db, identity, facts)
        if current is not None and current.serves(version):
            return current.rows
        follows = current is not None and current.leads_to(version)
        if not follows and facts.chunks >= _READ_BEHIND_FROM:
            behind = self._read_behind(Path(db.filename), identity)
            if not (waits and _has_ended(behind)):
                return None
            current = self._current
            follows = current is not None and current.leads_to(version)
        if not self._reading.acquire(timeout=_LONGEST_WAIT):
            return current.rows if current is not None and follows else None
        try:
            with uninterrupted():
                return self._read(db, identity).rows
        finally:
            self._reading.release()

    def forget(self) -> None:
        """Free the memory. The next query reads the rows again."""
        with self._reading:
            if self._timer is not None:
                self._timer.cancel()
            self._current = self._timer = None
        trim_memory()

    def _read_behind(self, path: Path, identity: object) -> threading.Thread:
        with self._beginning:
            if self._behind is None or not self._behind.is_alive():
                arguments = (path, identity)
                self._behind = threading.Thread(
                    target=self._read_at, args=arguments, name="cairn-vectors", daemon=True
                )
                self._behind.start()
            return self._behind

    def _read_at(self, path: Path, identity: object) -> None:
        try:
            db = open_reader(path)
            if db is not None:
                with contextlib.closing(db), self._reading:
                    self._read(db, identity)
        except apsw.Error as problem:  # the next query raises it, too
            logger.warning("static vectors could not be read: %s", problem)

    # --- following the index, inside the lock ------------------------------------------------------

    def _read(self, db: apsw.Connection, identity: object) -> _Current:
        with db:  # one snapshot of the index
            facts = read_facts(db)
            version = _Version.at(db, identity, facts)
            if self._current is not None and self._current.serves(version):
                return self._current
            try:
                current = self._followed(db, version, facts)
            except UnknownLayoutError as problem:
                logger.warning("only sqlite-vec compares static vectors: %s", problem)
                current = _Current(version)
        self._current = current
        self._attend(current)
        return current

    def _followed(self, db: apsw.Connection, version: _Version, facts: Facts) -> _Current:
        if facts.chunks < FEWEST_ROWS or not facts.has_static:
            return _Current(version)
        before = self._current
        try:
            if before is not None and before.rows is not None and before.leads_to(version):
                blocks = read_blocks(db, STATIC_TABLE, before.blocks)
                rows = before.rows.changed(db, before.blocks, blocks, facts.content)
                if rows is not None:
                    return _Current(version, rows, blocks)
        except BaseException:
            self._current = None  # an incomplete update is useless
            raise
        # The old matrix is freed first, because two would take twice the memory.
        self._current = before = None
        blocks = read_blocks(db, STATIC_TABLE, {})
        return _Current(version, StaticRows.read(db, blocks, facts.content), blocks)

    def _attend(self, current: _Current) -> None:
        """Start a thread that codes the rows if they are many, and a timer that frees them when unused."""
        if current.rows is None:
            return
        store = current.rows.store
        if store.codes is None and store.count >= _CODED_FROM and not self._coding:
            self._coding = True
            threading.Thread(target=self._code, args=(store,), name="cairn-codes", daemon=True).start()
        if self._timer is None:
            self._wait_idle(self._idle_seconds)

    def _code(self, store: RowStore) -> None:
        """Make the codes of the rows, in 1.6 s for a million. Meanwhile queries compute all distances."""
        try:
            codes, count = store.coded()
            with self._reading:  # rows may have been added meanwhile
                codes.add(count, store.vectors[count : store.count])
                store.codes = codes
        finally:
            with self._reading:
                self._coding = False
                if self._current is not None:
                    self._attend(self._current)  # another store may have replaced this one meanwhile

    # --- freeing memory -------------------------------------------------------------------------------

    def _wait_idle(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._forget_unused)
        self._timer.daemon = True
        self._timer.start()

    def _forget_unused(self) -> None:
        with self._reading:
            left = self._used + self._idle_seconds - time.monotonic()
            if left > 0:
                self._wait_idle(left)
                return
            self._current = self._timer = None
        trim_memory()


def _has_ended(thread: threading.Thread) -> bool:
    query_is_over = query_end()
    while thread.is_alive() and not query_is_over():
        thread.join(_POLL_SECONDS)
    return not thread.is_alive()
