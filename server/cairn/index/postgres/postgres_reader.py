"""The reader of a snapshot in a team's database, and a cache of the static vectors of snapshots.

Vectors are compared in memory like those of an index file. Comparing 20,000 vectors takes 1 ms in memory and
10 ms in the database. There, each of a query's three comparisons also costs a round trip.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field
from numpy.typing import NDArray
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from cairn.errors import CairnError
from cairn.index.postgres.snapshot_catalogue import SnapshotMemory
from cairn.index.postgres.snapshot_reader import ChunkQueries, best_first
from cairn.index.postgres.team_schema import DIMENSIONS
from cairn.index.postgres.term_queries import DefinitionQueries, WordQueries
from cairn.index.postgres.transactions import Reads
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import MAX_NEIGHBOURS
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import check_end
from cairn.index.store.schema import STATIC_LENGTH
from cairn.index.vectors.static_rows import RowStore, StaticRows

logger = logging.getLogger(__name__)

_MOST_BYTES = 400_000_000
"""The memory for all vectors: that of a million chunks in small snapshots, or four million in large ones."""
_READ_BEHIND_FROM = 30_000
"""The number of chunks from which a background thread reads the vectors, so that requests can time out. A
million take 5 s to read; comparing them in the database takes 1 s of all cores per query.
"""
_LOOK_SECONDS = 0.02
"""The interval at which a waiting request checks its deadline."""
_CODED_FROM = 130_000
"""The number of chunks from which vectors are quantised, as in `cairn.index.vectors.static_matrix`."""
_LONGEST_READING_MS = 600_000
_AT_ONCE = 16_384
"""The number of rows read at once, which take 9 MB."""
_RETRY_SECONDS = 60.0
"""The pause after a background thread failed to read vectors."""

_COPY_HEADER, _COPY_END = 19, b"\xff\xff"
_ROW = np.dtype(
    [
        ("fields", ">i2"), ("l1", ">i4"), ("chunk", ">i4"), ("l2", ">i4"), ("dimensions", ">i2"),
        ("unused", ">i2"), ("vector", ">f2", (DIMENSIONS,)),
    ]
)  # fmt: skip
"""The row of a binary COPY with a chunk's id and its vector."""


@define(eq=False)
class _Entry:
    rows: StaticRows | None = None
    used: float = 0.0
    reading: threading.Lock = field(factory=threading.Lock)
    behind: threading.Thread | None = None
    """The latest background thread that read the vectors."""
    retry_at: float = 0.0

    @property
    def size(self) -> int:
        """The memory of the vectors in bytes."""
        return _size(len(self.rows.store.ids)) if self.rows else 0


class VectorCache:
    """A thread-safe cache of the vectors of recently used snapshots.

    The vectors are read with the rights of the first reader and then serve all readers. So a caller may have
    the `SnapshotMemory` only of a repository that its reader may see.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES, read_behind_from: int = _READ_BEHIND_FROM) -> None:
        self._most_bytes = most_bytes
        self._read_behind_from = read_behind_from
        self._entries: WeakKeyDictionary[SnapshotMemory, _Entry] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, memory: SnapshotMemory, reads: Reads, *, waits: bool = False) -> StaticRows | None:
        """Return the vectors of a snapshot, or None if they are too many or cannot be read.

        A background thread reads the vectors of a large snapshot. Return None while it reads, or wait for it
        if `waits`; the end of the query raises OutOfTimeError or QueryCancelledError (`check_end`).
        """
        if _size(memory.chunks) > self._most_bytes:
            return None
        with self._lock:
            entry = self._entries.setdefault(memory, _Entry())
        entry.used = time.monotonic()
        if entry.rows is not None:
            return entry.rows
        if memory.chunks >= self._read_behind_from:
            self._read_behind(memory, entry, reads.detached)
            if waits and entry.behind is not None:
                _wait(entry.behind)
            return entry.rows
        with entry.reading:
            if entry.rows is None:
                self._keep(entry, reads.read(memory.watched(lambda db: read_rows(db, memory))))
            return entry.rows

    def _keep(self, entry: _Entry, rows: StaticRows) -> None:
        """Keep `rows`, and evict the least recently used vectors above the limit."""
        with self._lock:
            entry.rows = rows
            others = (each for each in self._entries.values() if each.rows and each is not entry)
            room = self._most_bytes - entry.size
            for each in sorted(others, key=lambda each: -each.used):
                room -= each.size
                if room < 0:
                    each.rows = None

    def _read_behind(self, memory: SnapshotMemory, entry: _Entry, reads: Reads) -> None:
        with entry.reading:
            is_running = entry.behind is not None and entry.behind.is_alive()
            if is_running or time.monotonic() < entry.retry_at or entry.rows is not None:
                return
            entry.behind = threading.Thread(
                target=self._read, args=(memory, entry, reads), name="cairn-vectors", daemon=True
            )
            entry.behind.start()

    def _read(self, memory: SnapshotMemory, entry: _Entry, reads: Reads) -> None:
        def read(db: Connection[TupleRow]) -> StaticRows:
            db.execute(f"SET LOCAL statement_timeout = {_LONGEST_READING_MS}")
            return read_rows(db, memory)

        try:
            self._keep(entry, reads.read(read))
        except CairnError as problem:
            logger.warning("The vectors of snapshot %d could not be read: %s", memory.key.id, problem)
        finally:
            if entry.rows is None:  # Any error has the same pause.
                entry.retry_at = time.monotonic() + _RETRY_SECONDS


def _wait(thread: threading.Thread) -> None:
    while thread.is_alive():
        check_end()
        thread.join(_LOOK_SECONDS)


def read_rows(db: Connection[TupleRow], memory: SnapshotMemory) -> StaticRows:
    """Read the vectors of a snapshot by number, and quantise them if there are many."""
    many = len(memory.chunk_numbers)
    store, present = RowStore(many, DIMENSIONS, Path(tempfile.gettempdir())), np.zeros(many, np.bool_)
    for ids, vectors in _copied(db, memory):
        numbers = memory.chunk_numbers.numbers_of(ids)
        own = np.flatnonzero(numbers)  # The others are of other revisions or repositories.
        store.put(numbers[own] - 1, numbers[own], vectors[own])
        present[numbers[own] - 1] = True
        store.memory.release()
    missing = np.flatnonzero(~present)
    store.put(missing, missing + 1, np.zeros((len(missing), DIMENSIONS), np.int8))
    store.count = many
    if many >= _CODED_FROM:
        store.codes, _ = store.coded()
    return StaticRows(store, many, present if len(missing) else None, None, content=0)


def _copied(
    db: Connection[TupleRow], memory: SnapshotMemory
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int8]]]:
    """Yield the ids and vectors of the pool's chunks in batches: int64[n] and int8[n, dimension]."""
    statement = sql.SQL(
        """COPY (SELECT chunk, vector FROM cairn.vectors WHERE shard = {} AND pool = {})
           TO STDOUT (FORMAT binary)"""
    ).format(memory.key.shard, memory.key.pool)
    with db.cursor().copy(statement) as copy:
        rows: Iterable[bytes | bytearray | memoryview] = iter(copy)
        begin = _COPY_HEADER
        while batch := b"".join(islice(rows, _AT_ONCE)):
            end = len(batch) - (len(batch) - begin) % _ROW.itemsize
            assert bytes(batch[end:]) in (b"", _COPY_END)
            read = np.frombuffer(batch[begin:end], _ROW)
            yield read["chunk"].astype(np.int64), read["vector"].astype(np.int8)
            begin = 0


def _size(rows: int) -> int:
    """Return the memory of `rows` vectors in bytes. If they are many, only their codes are in memory."""
    return rows * (DIMENSIONS // 4 if rows >= _CODED_FROM else DIMENSIONS) + rows * 12


_VECTORS = VectorCache()


class PostgresReader(WordQueries, ChunkQueries, DefinitionQueries):
    """Reads the snapshot of `memory`. Row security decides which rows `reads` may see."""

    def nearest_static(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        _check_vector(vector)
        limit = min(limit, MAX_NEIGHBOURS)
        check_end()
        if (kept := _VECTORS.of(self.memory, self.reads, waits=True)) is not None:
            allowed = self.passing(kept.store.ids[: kept.count], only) if only or only.hidden else None
            if allowed is not None and kept.present is not None:
                allowed &= kept.present
            ids, scores = kept.nearest(vector, limit, allowed)
            return list(map(Hit, ids.tolist(), scores.tolist()))
        if only:
            return self._nearest_among(vector, limit, only)
        near = self._nearest(vector, limit + len(self.chunks_in(only.hidden)))
        return self._filtered(best_first(near), only, limit)

    def _nearest(self, vector: NDArray[np.int8], limit: int) -> dict[int, float]:
        """Return the cosines of the `limit` chunks nearest to the vector, and of those as near as the last.

        Which of these come first depends on their numbers, which the database does not know.
        """
        key = self.memory.key
        sql = """SELECT chunk, vector <-> %s::halfvec AS distance FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND file <@ %s::int4multirange
            ORDER BY distance FETCH FIRST %s ROWS WITH TIES"""
        given = (_halfvec(vector), key.shard, key.pool, self.memory.file_ranges, limit)
        return self._cosines(self._ask(lambda db: db.execute(sql, given).fetchall()))

    def _nearest_among(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        mask = self._mask(only)
        assert mask is not None
        return self._filtered(best_first(self._compared(np.flatnonzero(mask), vector)), only, limit)

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        _check_vector(vector)
        kept = _VECTORS.of(self.memory, self.reads)
        if kept is not None:
            return kept.similarities(ids, vector)
        return self._compared(ids, vector)

    def _compared(self, numbers: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        """Return the cosine of each of these chunks, by number."""
        key, wanted = self.memory.key, self.memory.chunk_numbers.ids_of(numbers)
        sql = """SELECT chunk, vector <-> %s::halfvec FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""
        given = (_halfvec(vector), key.shard, key.pool, wanted)
        return self._cosines(self._ask(lambda db: db.execute(sql, given).fetchall()) if wanted else [])

    def _cosines(self, rows: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Return cosines by chunk number, ascending, from rows of an id and a Euclidean distance."""
        number_of = self.memory.chunk_numbers.number
        found = sorted((number_of(chunk), _cosine(distance)) for chunk, distance in rows)
        return {number: cosine for number, cosine in found if number}

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        key, wanted = self.memory.key, list(ids)
        if (kept := _VECTORS.of(self.memory, self.reads)) is not None:
            there, vectors = kept.vectors(wanted)
            return there, vectors if len(there) else np.empty((0, 0), np.int8)
        sql = """SELECT chunk, vector::real[] FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""
        numbers = self.memory.chunk_numbers
        wanted = numbers.ids_of(wanted)

        def ask(db: Connection[TupleRow]) -> list[tuple[int, list[float]]]:
            cursor = db.cursor(binary=True)
            cursor.execute(sql, (key.shard, key.pool, wanted))
            return [(numbers.number(chunk), vector) for chunk, vector in cursor]

        rows = sorted(self._ask(ask)) if wanted else []
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found, components = zip(*rows, strict=True)
        return np.array(found, np.int64), np.array(components).astype(np.int8)


def _check_vector(vector: NDArray[np.int8]) -> None:
    """Raise ValueError for a vector of another type or length, which a clone may send."""
    if vector.dtype != np.int8 or vector.shape != (DIMENSIONS,):
        raise ValueError(f"The vector is not int8[{DIMENSIONS}].")


def _halfvec(vector: NDArray[np.int8]) -> str:
    return json.dumps(vector.tolist())


def _cosine(distance: float) -> float:
    """Return the cosine of two static vectors with this Euclidean distance."""
    return 1.0 - distance * distance / (2.0 * STATIC_LENGTH**2)
