"""Reads the file and the length of each chunk from the index file."""

from __future__ import annotations

import threading

import apsw
import numpy as np
from attrs import define, field

from cairn.index.reader.arrays import Ids, numbers
from cairn.index.reader.chunk_columns import LONGEST, NO_CHUNKS, ChunkColumns

_ROOM = 1.25
"""The capacity of the arrays relative to the number of ids, so that a save seldom copies them."""


@define(eq=False)
class ChunkArrays:
    """The `ChunkColumns` of one index, shared by all threads. Chunks of later saves are appended."""

    _known: tuple[object, ChunkColumns] | None = None
    _reading: threading.Lock = field(factory=threading.Lock)

    def columns(self, db: apsw.Connection, identity: object) -> ChunkColumns:
        """Return the columns of the index that `db` reads. The first call takes 1 s for a million chunks."""
        last = int(db.execute("SELECT max(id) FROM chunks").get or 0)
        known = self._known
        if known is None or known[0] != identity or known[1].upto < last:
            with self._reading:
                known = self._known
                if known is None or known[0] != identity or known[1].upto < last:
                    before = known[1] if known is not None and known[0] == identity else NO_CHUNKS
                    self._known = known = (identity, _extended(db, before, last))
        return known[1]


def _extended(db: apsw.Connection, before: ChunkColumns, last: int) -> ChunkColumns:
    file_of, tokens = before.file_of, before.tokens
    if last >= len(file_of):
        file_of, tokens = (np.zeros(int(last * _ROOM) + 1, column.dtype) for column in (file_of, tokens))
        file_of[: len(before.file_of)], tokens[: len(before.tokens)] = before.file_of, before.tokens
    between = (before.upto, last)
    # An SQLite index has both numbers without the texts. For a few new chunks, the table itself is faster.
    source = "chunks INDEXED BY sqlite_autoindex_chunks_1" if before is NO_CHUNKS else "chunks"
    ((ids, files),) = db.execute(
        f"SELECT group_concat(id), group_concat(file_id) FROM {source} WHERE id > ? AND id <= ?", between
    )
    file_of[numbers(ids)] = numbers(files)
    ((ids, sizes, lengths),) = db.execute(
        "SELECT group_concat(id), group_concat(hex(sz), ''), group_concat(length(sz)) FROM chunks_fts_docsize"
        " WHERE id > ? AND id <= ?",
        between,
    )
    if ids:
        tokens[numbers(ids)] = np.minimum(_sums(bytes.fromhex(str(sizes)), numbers(lengths)), LONGEST)
    counted = tokens[: last + 1]
    chunks = np.count_nonzero(counted)
    mean = float(counted.sum(dtype=np.int64)) / chunks if chunks else 1.0
    return ChunkColumns(file_of, tokens, last, mean)


def _sums(varints: bytes, lengths: Ids) -> Ids:
    """Return the sum of each row's numbers, int64[rows]. The numbers are SQLite varints of up to three bytes:
    all bytes but the last have their highest bit set, and the first byte has the highest digits."""
    every = np.frombuffer(varints, np.uint8)
    continues = every >= 128
    shift = np.where(continues, np.where(np.append(continues[1:], False), 14, 7), 0)
    values = (every & 127).astype(np.int64) << shift
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return np.add.reduceat(values, starts)
