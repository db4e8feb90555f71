"""Queries for the chunks nearest in meaning, by their vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, cast

import apsw
from attrs import evolve

from cairn.index.reader.filters import HIDDEN_CHUNKS, ChunkFilter, admitted, passes
from cairn.index.reader.index_memory import ConnectedReader
from cairn.index.reader.index_reader import MAX_NEIGHBOURS, IndexReader
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import check_end
from cairn.index.store.meta import Facts, known_facts
from cairn.index.store.schema import STATIC_TABLE, static_cosine

# Only methods that compare vectors import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.index.vectors.static_rows import StaticRows

# In the queries below, CROSS JOIN fixes the order of the tables. Otherwise SQLite walks all embeddings for a
# few chunks, which takes 55 ms instead of 2 ms for 2,000 chunks.


class VectorQueries(IndexReader):
    def nearest_static(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        limit = min(limit, MAX_NEIGHBOURS)
        with self.reading() as db:
            facts = known_facts(db)
            matrix = self._static_rows(db, facts, waits=True)
        if not facts.has_static:
            return []
        if matrix is not None:
            return self._nearest_rows(matrix, vector, limit, only)
        check_end()  # nothing can interrupt sqlite-vec
        condition, passing = passes(self, "id", only)
        where, values, spare = _neighbour_filter(self, only)
        rows = self.select(
            f"""WITH nearest AS MATERIALIZED (
                    SELECT rowid AS id, distance FROM {STATIC_TABLE}
                    WHERE embedding MATCH vec_int8(?) AND k = ? {f"AND rowid IN ({where})" if where else ""})
                SELECT id, {static_cosine("distance")} FROM nearest WHERE {condition if spare else "true"}
                ORDER BY distance, id""",
            (vector.tobytes(), limit + spare, *values, *(passing if spare else ())),
        )
        return list(starmap(Hit, rows[:limit]))

    def _nearest_rows(
        self,
        matrix: StaticRows,
        vector: NDArray[np.int8],
        limit: int,
        only: ChunkFilter,
    ) -> list[Hit]:
        from cairn.index.reader.postings import read_ids

        allowed = None
        # What is hidden changes whenever another document is edited, what else passes only with the index.
        where, values = admitted(self, evolve(only, hidden=()))
        with self.reading() as db:
            if where:
                allowed = matrix.among((where, *values), lambda: read_ids(db, where, values))
            if only.hidden:
                shown = matrix.except_for(read_ids(db, HIDDEN_CHUNKS, [json.dumps(only.hidden)]))
                allowed = shown if allowed is None else allowed & shown
        check_end()  # nothing can interrupt numpy
        ids, scores = matrix.nearest(vector, limit, allowed)
        return list(map(Hit, ids.tolist(), scores.tolist()))

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        with self.reading() as db:
            facts = known_facts(db)
            if not facts.has_static:
                return {}
            matrix = self._static_rows(db, facts)
            similar = matrix.similarities if matrix else partial(_similarities, db)
            return similar(list(ids), vector)

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        import numpy as np

        with self.reading() as db:
            facts = known_facts(db)
            if not facts.has_static:
                return np.empty(0, np.int64), np.empty((0, 0), np.int8)
            matrix, wanted = self._static_rows(db, facts), list(ids)
            known, rows = matrix.vectors(wanted) if matrix else _vectors(db, wanted)
        return known, rows if len(known) else np.empty((0, 0), np.int8)

    def _static_rows(self, db: apsw.Connection, facts: Facts, *, waits: bool = False) -> StaticRows | None:
        """Return the static vectors in memory; None if sqlite-vec is faster, or while many vectors are not
        read yet, unless `waits`. Reading is never interrupted, or the next query would start again."""
        if not facts.has_static:
            return None
        memory = self.memory
        with memory.matrix_lock:
            if memory.matrix is None:
                from cairn.index.vectors.static_matrix import StaticMatrix

                memory.matrix = StaticMatrix()
        return memory.matrix.rows(db, memory.local.identity, facts, waits=waits)


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
