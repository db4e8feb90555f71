"""Reads the model's vectors of chunks from their vec0 table, by the key of the embedded text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from cairn.index.store.schema import vectors_table
from cairn.index.vectors.blocks import UnknownLayoutError, known_layout, read_vectors_at


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
