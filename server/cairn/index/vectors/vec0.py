"""Reads rows and vectors directly from the tables in which sqlite-vec stores a vec0 table.

A vec0 table T stores 1,024 vectors in one blob, a block. `T_chunks` has the rowids of each block, and a bit
for each place that says whether the place is in use; `T_rowids` has the block of each row and its place
there; `T_vector_chunks00` has the vectors. Reading whole blocks is 40 times as fast as selecting rows: 10 ms
instead of 410 ms for 107,000 rows of int8[128]. Call these functions inside a transaction, because
maintenance moves rows between blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.store.schema import vectors_table


class UnknownLayoutError(Exception):
    """The tables have an unknown layout. Callers fall back to sqlite-vec's own queries."""


@contextmanager
def known_layout() -> Iterator[None]:
    """Raise UnknownLayoutError if the enclosed reads of the tables fail."""
    try:
        yield
    except (apsw.SQLError, TypeError, ValueError) as problem:
        raise UnknownLayoutError(str(problem)) from problem


@frozen
class VectorBlock:
    """One block of a vec0 table, without its vectors."""

    validity: bytes
    """One bit for each place, lowest bit first. It is set if the place is in use."""
    rowids: bytes

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the rowids in use, int64[n], and their places in the block, intp[n]."""
        used = np.unpackbits(np.frombuffer(self.validity, np.uint8), bitorder="little")
        places = np.flatnonzero(used)
        return np.frombuffer(self.rowids, np.int64)[places], places


@known_layout()
def read_blocks(db: apsw.Connection, table: str, before: Mapping[int, VectorBlock]) -> dict[int, VectorBlock]:
    """Return the blocks of `table` by number, in 0.9 ms for 107,000 rows. Raises UnknownLayoutError.

    Unchanged blocks are taken from `before`, because the rowids of a million rows take 8 MB. sqlite-vec adds
    rows only to the latest block, so in any other block a place that is still in use has the same row as
    before.
    """
    latest = max(before, default=0)
    found = db.execute(f"SELECT chunk_id, size, validity FROM {table}_chunks").fetchall()
    rows = cast("list[tuple[int, int, bytes]]", found)
    if not any(number == latest for number, *_ in rows):  # the latest was dropped; others may have new rows
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
    """Return the vectors of all places of a block, int8[places, dimension]. Raises UnknownLayoutError."""
    vectors = db.execute(f"SELECT vectors FROM {table}_vector_chunks00 WHERE rowid = ?", (number,)).get
    return np.frombuffer(vectors, np.int8).reshape(-1, dimension)


@known_layout()
def read_vectors_at(
    db: apsw.Connection, table: str, places: Sequence[tuple[int, int]], dimension: int
) -> NDArray[np.float32]:
    """Return the vectors at `places`, n pairs (block, place in the block), as float32[n, dimension].

    For 400 of 107,000 vectors of float32[384] it takes 1.3 ms, and sqlite-vec 3.5 ms. Opening a blob of 1.5
    MB takes most of the time: this function opens one for each block, and sqlite-vec one for each row. Raises
    UnknownLayoutError.
    """
    vectors = np.empty((len(places), dimension), np.float32)
    if not places:
        return vectors
    size = dimension * vectors.itemsize
    room = vectors.data.cast("B")
    order = sorted(range(len(places)), key=places.__getitem__)
    opened = places[order[0]][0]
    # The blob's rowid is the number of the block, as in sqlite-vec's own code.
    with db.blob_open("main", f"{table}_vector_chunks00", "vectors", opened, False) as blob:
        for row in order:
            block, place = places[row]
            if block != opened:
                blob.reopen(block)
                opened = block
            blob.seek(place * size)
            blob.read_into(room[row * size : (row + 1) * size])
    return vectors


def chunk_vectors(
    db: apsw.Connection, model_id: int, ids: Sequence[int], dimension: int
) -> tuple[list[int], NDArray[np.float32]]:
    """Return the ids of the n chunks that have a vector, and their vectors, float32[n, dimension] of unit
    length. This takes 3.3 ms for 400 of 107,000 chunks. sqlite-vec takes 5.0 ms for their distances."""
    try:
        with db, known_layout():  # one snapshot of the index
            found, vectors = _stored(db, model_id, ids, dimension)
    except UnknownLayoutError:
        found, vectors = _read_by_sqlite_vec(db, model_id, ids, dimension)
    return found, of_unit_length(vectors)


def text_vectors(
    db: apsw.Connection, model_id: int, keys: Iterable[str], dimension: int
) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of the texts that have one, float32[dimension] of unit length, by embedding key."""
    rows = db.execute(
        f"""SELECT k.value, v.embedding FROM json_each(?) k
            CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = unhex(k.value)
            CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
        (json.dumps(list(keys)),),
    )
    found = cast("list[tuple[str, bytes]]", rows.fetchall())
    return {key: of_unit_length(np.frombuffer(vector, np.float32)[:dimension]) for key, vector in found}


def of_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide each row of float32[n, dimension] by its length; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


# CROSS JOIN fixes the order of the tables. Otherwise SQLite reads all embeddings to find a few.


def _stored(
    db: apsw.Connection, model_id: int, ids: Sequence[int], dimension: int
) -> tuple[list[int], NDArray[np.float32]]:
    table = vectors_table(model_id)
    rows = db.execute(
        f"""SELECT c.id, place.chunk_id, place.chunk_offset
            FROM json_each(?) i CROSS JOIN chunks c ON c.id = i.value
            CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key
            CROSS JOIN {table}_rowids place ON place.rowid = e.id""",
        (json.dumps(list(ids)),),
    )
    found = cast("list[tuple[int, int, int]]", rows.fetchall())
    places = [(block, place) for _, block, place in found]
    return [chunk for chunk, _, _ in found], read_vectors_at(db, table, places, dimension)


def _read_by_sqlite_vec(
    db: apsw.Connection, model_id: int, ids: Sequence[int], dimension: int
) -> tuple[list[int], NDArray[np.float32]]:
    rows = db.execute(
        f"""SELECT c.id, v.embedding FROM json_each(?) i CROSS JOIN chunks c ON c.id = i.value
            CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key
            CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
        (json.dumps(list(ids)),),
    )
    found = cast("list[tuple[int, bytes]]", rows.fetchall())
    vectors = np.frombuffer(b"".join(vector for _, vector in found), np.float32)
    return [chunk for chunk, _ in found], vectors.reshape(-1, dimension)
