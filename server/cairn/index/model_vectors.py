"""Compares chunks with a question by the model's vectors, which lie in a vec0 table under their texts' keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from cairn.index.schema import vectors_table
from cairn.index.vector_blocks import UnknownLayoutError, read_vectors_at


def compare_chunks(
    db: apsw.Connection, model_id: int, ids: Sequence[int], vector: NDArray[np.float32]
) -> dict[int, float]:
    """The cosine similarity of these chunks to `vector`, float32[dimension]; one without a vector is left out.

    Two thirds of the time of asking sqlite-vec for each distance (400 of 107,000 chunks: 3.3 ms instead of 5.0).
    """
    asked = vector.astype(np.float32, copy=False)
    try:
        with db:  # one moment of the index
            found, vectors = _stored(db, model_id, ids, asked.size)
    except UnknownLayoutError:
        return _compared_by_sqlite_vec(db, model_id, ids, asked)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    cosines = np.divide(np.vecdot(vectors, asked), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return dict(zip(found, cosines.astype(np.float64).tolist(), strict=True))


# CROSS JOIN fixes the order of the tables; left to itself, SQLite walks all embeddings for a few chunks.


def _stored(
    db: apsw.Connection, model_id: int, ids: Sequence[int], dimension: int
) -> tuple[list[int], NDArray[np.float32]]:
    """Those of the chunks that have a vector, and float32[n, dimension]."""
    table = vectors_table(model_id)
    try:
        rows = db.execute(
            f"""SELECT c.id, place.chunk_id, place.chunk_offset
                FROM json_each(?) i CROSS JOIN chunks c ON c.id = i.value
                CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key
                CROSS JOIN {table}_rowids place ON place.rowid = e.id""",
            (json.dumps(list(ids)),),
        ).fetchall()
    except apsw.SQLError as problem:
        raise UnknownLayoutError(str(problem)) from problem
    found = cast("list[tuple[int, int, int]]", rows)
    places = [(block, place) for _, block, place in found]
    return [chunk for chunk, _, _ in found], read_vectors_at(db, table, places, dimension)


def _compared_by_sqlite_vec(
    db: apsw.Connection, model_id: int, ids: Sequence[int], vector: NDArray[np.float32]
) -> dict[int, float]:
    rows = db.execute(
        f"""SELECT c.id, 1.0 - vec_distance_cosine(v.embedding, ?)
            FROM json_each(?) i CROSS JOIN chunks c ON c.id = i.value
            CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key
            CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
        (vector.tobytes(), json.dumps(list(ids))),
    )
    return {int(row[0]): float(row[1]) for row in rows}
