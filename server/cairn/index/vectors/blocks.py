"""sqlite-vec's own tables, read as they are: which rows a block of vectors has, and the bytes of the vectors.

A vec0 table keeps 1,024 vectors in one blob. `T_chunks` has each block's rowids and, as bits, which of them are in use;
`T_rowids` has each row's block and place in it; `T_vector_chunks00` has the vectors. Whole blocks are read 40 times
as fast as rows are selected (107,000 rows of int8[128]: 10 ms, 410 ms). Readers call these inside a transaction, as
rows move between blocks when a table is packed (`cairn.index.store.maintenance`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray


class UnknownLayoutError(Exception):
    """The tables are not as this module knows them; sqlite-vec's own queries must do."""


@frozen
class VectorBlock:
    """One block of a vec0 table, without its vectors."""

    validity: bytes
    """A bit for each place, the lowest first: whether it is in use."""
    rowids: bytes
    """int64 for each place."""

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """int64[n] rowids in use, and intp[n] their places in the block."""
        used = np.unpackbits(np.frombuffer(self.validity, np.uint8), bitorder="little")
        places = np.flatnonzero(used)
        return np.frombuffer(self.rowids, np.int64)[places], places


def read_blocks(db: apsw.Connection, table: str) -> dict[int, VectorBlock]:
    """The blocks of `table` by number: 0.9 ms for 107,000 rows. Raises UnknownLayoutError."""
    blocks = {}
    for number, size, validity, rowids in _rows(
        db, f"SELECT chunk_id, size, validity, rowids FROM {table}_chunks"
    ):
        if not isinstance(validity, bytes) or not isinstance(rowids, bytes):
            raise UnknownLayoutError(f"{table}_chunks has no blobs")
        if (len(validity) * 8, len(rowids)) != (size, int(str(size)) * 8):
            raise UnknownLayoutError(f"{table}_chunks has blobs of another size")
        blocks[int(str(number))] = VectorBlock(validity, rowids)
    return blocks


def read_block_vectors(db: apsw.Connection, table: str, number: int, dimension: int) -> NDArray[np.int8]:
    """int8[places, dimension] of a block, those out of use included. Raises UnknownLayoutError."""
    found = list(_rows(db, f"SELECT vectors FROM {table}_vector_chunks00 WHERE rowid = {int(number)}"))
    vectors = found[0][0] if found else None
    if not isinstance(vectors, bytes) or not dimension or len(vectors) % dimension:
        raise UnknownLayoutError(f"{table}_vector_chunks00 has no such block")
    return np.frombuffer(vectors, np.int8).reshape(-1, dimension)


def read_vectors_at(
    db: apsw.Connection, table: str, places: Sequence[tuple[int, int]], dimension: int
) -> NDArray[np.float32]:
    """float32[n, dimension]: the vectors at `places`, n pairs of block and place in it, in their order.

    One blob is opened for each block, not one for each row as sqlite-vec does: finding a place in a blob of 1.5 MB
    is most of the work. 400 of 107,000 vectors of float32[384]: 1.3 ms instead of 3.5. Raises UnknownLayoutError.
    """
    vectors = np.empty((len(places), dimension), np.float32)
    if not places:
        return vectors
    size = dimension * vectors.itemsize
    room = vectors.data.cast("B")
    order = sorted(range(len(places)), key=places.__getitem__)
    opened = -1
    try:
        with db.blob_open(
            "main", f"{table}_vector_chunks00", "vectors", places[order[0]][0], False
        ) as blob:  # sqlite-vec, too, opens it by the number of the block
            for row in order:
                block, place = places[row]
                if block != opened:
                    blob.reopen(block)
                    opened = block
                blob.seek(place * size)
                blob.read_into(room[row * size : (row + 1) * size])
    except (apsw.SQLError, ValueError) as problem:
        raise UnknownLayoutError(f"{table}_vector_chunks00: {problem}") from problem
    return vectors


def _rows(db: apsw.Connection, sql: str) -> Iterator[tuple[object, ...]]:
    try:
        yield from cast("Iterable[tuple[object, ...]]", db.execute(sql))
    except apsw.SQLError as problem:
        raise UnknownLayoutError(str(problem)) from problem
