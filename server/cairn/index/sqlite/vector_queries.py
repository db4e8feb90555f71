"""Queries for the chunks nearest in meaning, by a model's vectors or by static ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, cast

import apsw

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_memory import ConnectedReader, interruption
from cairn.index.reader.index_reader import MAX_NEIGHBOURS, IndexReader
from cairn.index.reader.records import Hit
from cairn.index.sqlite.filter_sql import HIDDEN_CHUNKS, admitted, passes
from cairn.index.store.deadline import Cancelled
from cairn.index.store.meta import Facts, read_facts
from cairn.index.store.schema import STATIC_TABLE, static_cosine, vectors_table

# Only methods that compare vectors import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.index.vectors.static_rows import StaticRows

# In the queries below, CROSS JOIN fixes the order of the tables. Otherwise SQLite walks all embeddings for a
# few chunks, which takes 55 ms instead of 2 ms for 2,000 chunks.


class VectorQueries(IndexReader):
    def nearest(
        self, vector: NDArray[np.float32], model: str, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        condition, passing = passes(self, "c.id", only)
        where, values, spare = _neighbour_filter(self, only)
        embedding = vector.astype("float32", copy=False).tobytes()  # sqlite-vec reads contiguous float32
        with self.reading(cancelled) as db:
            model_id = _model_id(db, model)
            if model_id is None:
                return []
            among = (
                f"AND rowid IN (SELECT e.id FROM ({where}) admitted CROSS JOIN chunks c ON c.id = admitted.id"
                f" CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key)"
                if where
                else ""
            )
            rows = db.execute(
                f"""WITH nearest AS (
                        SELECT rowid, distance FROM {vectors_table(model_id)}
                        WHERE embedding MATCH ? AND k = ? {among})
                    SELECT c.id, 1.0 - n.distance AS similarity
                    FROM nearest n JOIN embeddings e ON e.id = n.rowid
                    JOIN chunks c ON c.embedding_key = e.key
                    WHERE {condition} ORDER BY similarity DESC, c.id""",
                (embedding, min(limit, MAX_NEIGHBOURS) + spare, *values, *passing),
            )
            hits = [Hit(*row) for row in rows]
        return hits[:limit] if spare else hits

    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        import numpy as np

        from cairn.index.vectors.vec0 import chunk_vectors

        with self.reading() as db:
            model_id = _model_id(db, model)
            if model_id is None:
                return [], np.empty((0, dimension), np.float32)
            return chunk_vectors(db, model_id, ids, dimension)

    def key_vectors(self, keys: Iterable[str], dimension: int, model: str) -> dict[str, NDArray[np.float32]]:
        with self.reading() as db:
            model_id = _model_id(db, model)
            if model_id is None:
                return {}
            from cairn.index.vectors.vec0 import text_vectors

            return text_vectors(db, model_id, keys, dimension)

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        limit = min(limit, MAX_NEIGHBOURS)
        with self.reading() as db:
            facts = read_facts(db)
            matrix = self._static_rows(db, facts, cancelled)
        if not facts.has_static:
            return []
        if matrix is not None:
            return self._nearest_rows(matrix, vector, limit, only, cancelled)
        if cancelled():  # nothing can interrupt sqlite-vec
            raise interruption(cancelled)
        condition, passing = passes(self, "id", only)
        where, values, spare = _neighbour_filter(self, only)
        rows = self.select(
            f"""WITH nearest AS MATERIALIZED (
                    SELECT rowid AS id, distance FROM {STATIC_TABLE}
                    WHERE embedding MATCH vec_int8(?) AND k = ? {f"AND rowid IN ({where})" if where else ""})
                SELECT id, {static_cosine("distance")} FROM nearest WHERE {condition if spare else "true"}
                ORDER BY distance, id""",
            (vector.tobytes(), limit + spare, *values, *(passing if spare else ())),
            cancelled,
        )
        return list(starmap(Hit, rows[:limit]))

    def _nearest_rows(
        self,
        matrix: StaticRows,
        vector: NDArray[np.int8],
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        from cairn.index.reader.postings import read_ids

        allowed = None
        where, values = admitted(self, only)
        with self.reading(cancelled) as db:
            if where:
                allowed = matrix.among((where, *values), lambda: read_ids(db, where, values))
            elif only.hidden:
                allowed = matrix.except_for(read_ids(db, HIDDEN_CHUNKS, [json.dumps(only.hidden)]))
        if cancelled():  # nothing can interrupt numpy
            raise interruption(cancelled)
        ids, scores = matrix.nearest(vector, limit, allowed)
        return list(map(Hit, ids.tolist(), scores.tolist()))

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        with self.reading() as db:
            facts = read_facts(db)
            if not facts.has_static:
                return {}
            matrix = self._static_rows(db, facts)
            similar = matrix.similarities if matrix else partial(_similarities, db)
            return similar(list(ids), vector)

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        import numpy as np

        with self.reading() as db:
            facts = read_facts(db)
            if not facts.has_static:
                return np.empty(0, np.int64), np.empty((0, 0), np.int8)
            matrix, wanted = self._static_rows(db, facts), list(ids)
            known, rows = matrix.vectors(wanted) if matrix else _vectors(db, wanted)
        return known, rows if len(known) else np.empty((0, 0), np.int8)

    def model_in_use(self) -> tuple[str, int]:
        used = self.select(
            "SELECT model, dimension FROM models WHERE id = (SELECT value FROM meta WHERE key = 'model_id')"
        )
        return used[0] if used else ("", 0)

    def embedding_keys(self, ids: Sequence[int]) -> list[str]:
        sql = "SELECT hex(embedding_key) FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
        return [key for (key,) in self.select(sql, (json.dumps(list(ids)),))]

    def lacking_vectors(self, keys: Sequence[str]) -> int:
        sql = """SELECT count(*) FROM json_each(?) k WHERE NOT EXISTS
            (SELECT 1 FROM embeddings e
             WHERE e.model_id = (SELECT value FROM meta WHERE key = 'model_id') AND e.key = unhex(k.value))"""
        ((lacking,),) = self.select(sql, (json.dumps(list(keys)),))
        return int(lacking)

    def _static_rows(
        self, db: apsw.Connection, facts: Facts, deadline: Cancelled | None = None
    ) -> StaticRows | None:
        """Return the static vectors in memory; None if sqlite-vec is faster, or while many vectors are not
        read yet. With `deadline`, wait for them. Reading is never interrupted, or the next query would start
        again."""
        if not facts.has_static:
            return None
        memory = self.memory
        with memory.matrix_lock:
            if memory.matrix is None:
                from cairn.index.vectors.static_matrix import StaticMatrix

                memory.matrix = StaticMatrix()
        return memory.matrix.rows(db, memory.local.identity, facts, deadline)


def _similarities(db: apsw.Connection, ids: Sequence[int], vector: NDArray[np.int8]) -> dict[int, float]:
    rows = db.execute(
        f"""WITH compared AS (
                SELECT v.rowid AS id, vec_distance_L2(v.embedding, vec_int8(?)) AS distance
                FROM json_each(?) i CROSS JOIN {STATIC_TABLE} v ON v.rowid = i.value)
            SELECT id, {static_cosine("distance")} FROM compared""",
        (vector.tobytes(), json.dumps(ids)),
    )
    return {int(row[0]): float(row[1]) for row in rows}


def _vectors(db: apsw.Connection, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    import numpy as np

    rows = db.execute(
        f"SELECT v.rowid, v.embedding FROM json_each(?) i CROSS JOIN {STATIC_TABLE} v ON v.rowid = i.value",
        (json.dumps(ids),),
    ).fetchall()
    vectors = np.array([np.frombuffer(cast(bytes, vector), np.int8) for _, vector in rows], np.int8)
    return np.array([row for row, _ in rows], np.int64), vectors


def _neighbour_filter(reader: ConnectedReader, only: ChunkFilter) -> tuple[str, list[str], int]:
    """Return the SQL and the values of `admitted`, and 0. If the filter excludes only a few hidden chunks,
    return no SQL, but the number of hidden chunks, by which more neighbours must be requested. For more than
    MAX_NEIGHBOURS hidden chunks, listing the chunks that pass was faster in an index of 60,000 chunks."""
    where, values = admitted(reader, only)
    if where or not only.hidden:
        return where, values, 0
    ((hidden,),) = reader.select(f"SELECT count(*) FROM ({HIDDEN_CHUNKS})", (json.dumps(only.hidden),))
    return ("", [], hidden) if hidden <= MAX_NEIGHBOURS else (*admitted(reader, only, even_all=True), 0)


def _model_id(db: apsw.Connection, model: str) -> int | None:
    # For each length of embedded text, there is a row `model:length`. The row in use comes first.
    found = db.execute(
        "SELECT id FROM models WHERE model = ?1 OR substr(model, 1, length(?1) + 1) = ?1 || ':'"
        " ORDER BY id = (SELECT value FROM meta WHERE key = 'model_id') DESC LIMIT 1",
        (model,),
    ).get
    return None if found is None else int(found)
