"""The static vectors of snapshots in the memory of a process: read in bulk once, then compared as those of an index file are.

To compare 20,000 vectors takes 1 ms here and 10 ms in the database, and there each of a question's three looks at vectors is a
round trip besides.
"""

from __future__ import annotations

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
from cairn.index.postgres.catalogue import SnapshotMemory, present_chunks
from cairn.index.postgres.session import Reads
from cairn.index.postgres.tables import DIMENSIONS
from cairn.index.reader.connection import interruption
from cairn.index.store.deadline import Cancelled
from cairn.index.vectors.static_rows import RowStore, StaticRows

logger = logging.getLogger(__name__)

_MOST_BYTES = 400_000_000
"""Memory for the vectors of all snapshots: those of a million chunks in small snapshots, or of four million in large ones."""
_READ_BEHIND_FROM = 30_000
"""Chunks from which a thread of its own reads the vectors, 5 s for a million, so that whoever waits can be told that the time is
over. The database would need 1 s of all cores to compare as many for one question."""
_LOOK_SECONDS = 0.02
"""Between two looks whether that is so."""
_CODED_FROM = 130_000
"""As of an index file (`cairn.index.vectors.static_matrix`)."""
_LONGEST_READING_MS = 600_000
_AT_ONCE = 16_384
"""Rows taken over at once: 9 MB."""
_RETRY_SECONDS = 60.0
"""Vectors that could not be read in the background are not read again for so long."""

_COPY_HEADER, _COPY_END = 19, b"\xff\xff"
_ROW = np.dtype(
    [
        ("fields", ">i2"), ("l1", ">i4"), ("chunk", ">i4"), ("l2", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"),
        ("vector", ">f2", (DIMENSIONS,)),
    ]
)  # fmt: skip
"""A chunk's id and its vector, as COPY sends them in binary."""


@define(eq=False)
class _Kept:
    """The vectors of one snapshot."""

    rows: StaticRows | None = None
    size: int = 0
    """Bytes of memory that they take."""
    used: float = 0.0
    reading: threading.Lock = field(factory=threading.Lock, init=False)
    behind: threading.Thread | None = None
    """The latest thread that read them in the background."""
    tried: float = float("-inf")
    """When that thread began."""


class KeptVectors:
    """The vectors of the snapshots that were asked last. Methods may be called from several threads at once.

    Each snapshot's are read as the reader who asks first, and then serve all who may see the repository: nobody may have a
    `SnapshotMemory` whose repository the database does not show.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES, read_behind_from: int = _READ_BEHIND_FROM) -> None:
        self._most_bytes = most_bytes
        self._read_behind_from = read_behind_from
        self._known: WeakKeyDictionary[SnapshotMemory, _Kept] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, memory: SnapshotMemory, reads: Reads, until: Cancelled | None = None) -> StaticRows | None:
        """The vectors of a snapshot; None where they are too many, or could not be read, so that the database is asked instead.

        Many that are being read are waited for `until` it is true, which raises OutOfTimeError or QueryCancelledError; without
        it, there are none meanwhile. Raises what `Reads.read` does.
        """
        if _size(memory.chunks) > self._most_bytes:
            return None
        with self._lock:
            kept = self._known.setdefault(memory, _Kept())
        kept.used = time.monotonic()
        if kept.rows is not None:
            return kept.rows
        if memory.chunks >= self._read_behind_from:
            self._read_behind(memory, kept, reads.apart)
            if until is not None and kept.behind is not None:
                _wait(kept.behind, until)
            return kept.rows
        with kept.reading:
            if kept.rows is None:
                self._keep(kept, reads.read(memory.watched(lambda db: read_rows(db, memory))))
            return kept.rows

    def wait(self, memory: SnapshotMemory) -> None:
        """Wait for a thread that reads the snapshot's vectors in the background."""
        kept = self._known.get(memory)
        if kept is not None and kept.behind is not None:
            kept.behind.join()

    @property
    def size(self) -> int:
        """Bytes of memory that all kept vectors take."""
        with self._lock:
            return sum(kept.size for kept in self._known.values())

    def _read_behind(self, memory: SnapshotMemory, kept: _Kept, reads: Reads) -> None:
        with kept.reading:
            now = time.monotonic()
            if kept.rows is not None or now < kept.tried + _RETRY_SECONDS:
                return
            kept.tried = now
            kept.behind = threading.Thread(
                target=self._read, args=(memory, kept, reads), name="cairn-vectors", daemon=True
            )
            kept.behind.start()

    def _read(self, memory: SnapshotMemory, kept: _Kept, reads: Reads) -> None:
        def read(db: Connection[TupleRow]) -> StaticRows:
            db.execute(f"SET LOCAL statement_timeout = {_LONGEST_READING_MS}")
            return read_rows(db, memory)

        try:
            self._keep(kept, reads.read(read))
        except CairnError as problem:
            logger.warning("the vectors of snapshot %d could not be read: %s", memory.key.id, problem)

    def _keep(self, kept: _Kept, rows: StaticRows) -> None:
        """Keep these, and forget those used longest ago where all take too much."""
        with self._lock:
            kept.rows, kept.size = rows, _size(len(rows.store.ids))
            held = sorted((each for each in self._known.values() if each.rows), key=lambda each: each.used)
            size = sum(each.size for each in held)
            for each in held:
                if size > self._most_bytes and each is not kept:
                    size -= each.size
                    each.rows, each.size, each.tried = None, 0, float("-inf")


def _wait(thread: threading.Thread, until: Cancelled) -> None:
    while thread.is_alive():
        if until():
            raise interruption(until)
        thread.join(_LOOK_SECONDS)


def read_rows(db: Connection[TupleRow], memory: SnapshotMemory) -> StaticRows:
    """The vectors of a snapshot, coded where they are many."""
    store = RowStore(memory.chunks, DIMENSIONS, Path(tempfile.gettempdir()))
    for ids, vectors in _copied(db, memory):
        present = present_chunks(memory, ids)
        # Several revisions may be indexed in the pool; a publication just now may have brought more.
        room = len(store.ids) - store.count
        store.add(ids[present][:room], vectors[present][:room])
        store.memory.let_go()
    if store.count >= _CODED_FROM:
        store.codes, _ = store.coded()
    ids = store.ids[: store.count]
    sorter = None if np.all(ids[1:] > ids[:-1]) else np.argsort(ids, kind="stable")
    return StaticRows(store, store.count, None, sorter, content=0)


def _copied(
    db: Connection[TupleRow], memory: SnapshotMemory
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int8]]]:
    """int64[n] and int8[n, dimension]: the vectors of the pool's chunks, some at a time."""
    statement = sql.SQL(
        "COPY (SELECT chunk, vector FROM cairn.vectors WHERE shard = {} AND pool = {}) TO STDOUT (FORMAT binary)"
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
    """Bytes of memory for so many rows: of many, the vectors lie in a file and their codes in memory."""
    return rows * (DIMENSIONS // 4 if rows >= _CODED_FROM else DIMENSIONS) + rows * 12
