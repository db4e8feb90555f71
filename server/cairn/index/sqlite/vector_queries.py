"""Queries for the chunks nearest in meaning, by their vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import apsw

from cairn.index.reader.filters import HIDDEN_CHUNKS, ChunkFilter, admitted
from cairn.index.reader.index_memory import interruption
from cairn.index.reader.index_reader import MAX_NEIGHBOURS, IndexReader
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import Cancelled
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_TABLE

# Only methods that compare vectors import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.index.vectors.static_rows import StaticRows


class VectorQueries(IndexReader):
    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        from cairn.index.reader.postings import read_ids

        with self.reading() as db:
            rows = self._static_rows(db, cancelled)
        if rows is not None:
            where, values = admitted(self, only)
            allowed = None
            with self.reading(cancelled) as db:
                if where:
                    allowed = rows.among((where, *values), lambda: read_ids(db, where, values))
                elif only.hidden:
                    allowed = rows.except_for(read_ids(db, HIDDEN_CHUNKS, [json.dumps(only.hidden)]))
        if cancelled():  # nothing can interrupt numpy
            raise interruption(cancelled)
        if rows is None:
            return []
        ids, scores = rows.nearest(vector, min(limit, MAX_NEIGHBOURS), allowed)
        return list(map(Hit, ids.tolist(), scores.tolist()))

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        import numpy as np

        with self.reading() as db:
            rows, wanted = self._static_rows(db), list(ids)
            if rows is not None:
                known, vectors = rows.vectors(wanted)
            elif read_facts(db).has_static:
                known, vectors = _vectors(db, wanted)
            else:
                known, vectors = np.empty(0, np.int64), np.empty((0, 0), np.int8)
        return known, vectors if len(known) else np.empty((0, 0), np.int8)

    def _static_rows(self, db: apsw.Connection, deadline: Cancelled | None = None) -> StaticRows | None:
        """Return the static vectors in memory; None if the index has none, or while many vectors are not read
        yet. With `deadline`, wait for them. Reading is never interrupted, or the next query would start
        again."""
        facts = read_facts(db)
        if not facts.has_static:
            return None
        memory = self.memory
        with memory.matrix_lock:
            if memory.matrix is None:
                from cairn.index.vectors.static_matrix import StaticMatrix

                memory.matrix = StaticMatrix()
        return memory.matrix.rows(db, memory.local.identity, facts, deadline)


def _vectors(db: apsw.Connection, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    import numpy as np

    # CROSS JOIN fixes the order of the tables. Otherwise SQLite walks all vectors for a few chunks.
    rows = db.execute(
        f"SELECT v.rowid, v.embedding FROM json_each(?) i CROSS JOIN {STATIC_TABLE} v ON v.rowid = i.value",
        (json.dumps(ids),),
    ).fetchall()
    vectors = np.array([np.frombuffer(cast(bytes, vector), np.int8) for _, vector in rows], np.int8)
    return np.array([row for row, _ in rows], np.int64), vectors
