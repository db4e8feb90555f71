"""sqlite-vec's own tables, read as they are: which rows a block of vectors has, and the bytes of the vectors.

A vec0 table keeps 1,024 vectors in one blob. `T_chunks` has each block's rowids and, as bits, which of them are in use;
`T_rowids` has each row's block and place in it; `T_vector_chunks00` has the vectors. Whole blocks are read 40 times
as fast as rows are selected (107,000 rows of int8[128]: 10 ms, 410 ms). Readers call these inside a transaction, as
rows move between blocks when a table is packed (`cairn.index.store.maintenance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray


class UnknownLayoutError(Exception):
    """The tables are not as this module knows them; sqlite-vec's own queries must do."""


@contextmanager
def known_layout() -> Iterator[None]:
    """Around whatever reads the tables as they are: raises UnknownLayoutError where they are not so."""
    try:
        yield
    except (apsw.SQLError, TypeError, ValueError) as problem:
        raise UnknownLayoutError(str(problem)) from problem


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


@known_layout()
def read_blocks(db: apsw.Connection, table: str, before: Mapping[int, VectorBlock]) -> dict[int, VectorBlock]:
    """The blocks of `table` by number: 0.9 ms for 107,000 rows. Raises UnknownLayoutError.

    Those that are as they were `before` are taken from there, without their rowids being read: of a million rows these are 8 MB. sqlite-vec
    adds rows to the latest block alone, so in another one a place in use still has the row that it had.
    """
    latest = max(before, default=0)
    found = db.execute(f"SELECT chunk_id, size, validity FROM {table}_chunks").fetchall()
    rows = cast("list[tuple[int, int, bytes]]", found)
    if not any(number == latest for number, *_ in rows):  # another one was the latest meanwhile
        before = {}
    blocks: dict[int, VectorBlock] = {}
    for number, size, bits in rows:
        validity, known = bytes(bits), before.get(number)
        if known is not None and number < latest and known.validity == validity:
            blocks[number] = known
            continue
        rowids = bytes(db.execute(f"SELECT rowids FROM {table}_chunks WHERE chunk_id = ?", (number,)).get)
        if (len(validity) * 8, len(rowids)) != (size, size * 8):
            raise ValueError(f"{table}_chunks has blobs of another size")
        blocks[number] = VectorBlock(validity, rowids)
    return blocks


@known_layout()
def read_block_vectors(db: apsw.Connection, table: str, number: int, dimension: int) -> NDArray[np.int8]:
    """int8[places, dimension] of a block, those out of use included. Raises UnknownLayoutError."""
    vectors = db.execute(f"SELECT vectors FROM {table}_vector_chunks00 WHERE rowid = ?", (number,)).get
    return np.frombuffer(vectors, np.int8).reshape(-1, dimension)


@known_layout()
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
    opened = places[order[0]][0]
    # sqlite-vec, too, opens it by the number of the block
    with db.blob_open("main", f"{table}_vector_chunks00", "vectors", opened, False) as blob:
        for row in order:
            block, place = places[row]
            if block != opened:
                blob.reopen(block)
                opened = block
            blob.seek(place * size)
            blob.read_into(room[row * size : (row + 1) * size])
    return vectors
