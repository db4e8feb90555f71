"""The reader of a snapshot in a team's database, which has the rights of one role."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.chunk_queries import ChunkQueries
from cairn.index.postgres.definition_queries import DefinitionQueries
from cairn.index.postgres.snapshot_reader import check
from cairn.index.postgres.vectors import VectorCache
from cairn.index.postgres.word_queries import WordQueries
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import MAX_NEIGHBOURS
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import Cancelled
from cairn.index.store.schema import STATIC_LENGTH

_VECTORS = VectorCache()


class PostgresReader(WordQueries, ChunkQueries, DefinitionQueries):
    """Reads the snapshot of `memory`. Row security decides which rows `reads` may see."""

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        limit = min(limit, MAX_NEIGHBOURS)
        check(cancelled)
        if (kept := _VECTORS.of(self.memory, self.reads, cancelled)) is not None:
            allowed = self._passing(kept.store.ids[: kept.count], only) if only or only.hidden else None
            ids, scores = kept.nearest(vector, limit, allowed)
            return list(map(Hit, ids.tolist(), scores.tolist()))
        if only:
            return self._nearest_among(vector, limit, only)
        requested = limit
        while True:
            rows = self._nearest(vector, requested)
            hits = self._filtered([Hit(chunk, _cosine(distance)) for chunk, distance in rows], only, limit)
            if len(hits) >= limit or len(rows) < requested:
                return hits
            requested *= 4  # Some of these neighbours belong to other revisions.

    def _nearest(self, vector: NDArray[np.int8], limit: int) -> list[tuple[int, float]]:
        key = self.memory.key
        sql = """SELECT chunk, vector <-> %s::halfvec AS distance FROM cairn.vectors
            WHERE shard = %s AND pool = %s ORDER BY distance LIMIT %s"""

        def ask(db: Connection[TupleRow]) -> list[tuple[int, float]]:
            rows = db.execute(sql, (_halfvec(vector), key.shard, key.pool, limit)).fetchall()
            return cast("list[tuple[int, float]]", rows)

        return sorted(self._ask(ask), key=lambda row: (row[1], row[0]))

    def _nearest_among(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        mask = self._mask(only)
        assert mask is not None
        allowed = np.flatnonzero(mask)
        hits = [Hit(chunk, cosine) for chunk, cosine in self._compared(allowed.tolist(), vector)]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return self._filtered(hits, only, limit)

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        kept = _VECTORS.of(self.memory, self.reads)
        if kept is not None:
            return kept.similarities(ids, vector)
        return dict(self._compared(self._present(ids), vector))

    def _compared(self, ids: Sequence[int], vector: NDArray[np.int8]) -> list[tuple[int, float]]:
        if not ids:
            return []
        key, text = self.memory.key, _halfvec(vector)
        sql = """SELECT chunk, vector <-> %s::halfvec FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""
        rows = self._ask(lambda db: db.execute(sql, (text, key.shard, key.pool, list(ids))).fetchall())
        return [(chunk, _cosine(distance)) for chunk, distance in rows]

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        key, wanted = self.memory.key, list(ids)
        if (kept := _VECTORS.of(self.memory, self.reads)) is not None:
            there, vectors = kept.vectors(wanted)
            return there, vectors if len(there) else np.empty((0, 0), np.int8)
        sql = """SELECT chunk, vector::real[] FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""

        def ask(db: Connection[TupleRow]) -> list[tuple[int, list[float]]]:
            cursor = db.cursor(binary=True)
            cursor.execute(sql, (key.shard, key.pool, wanted))
            return cast("list[tuple[int, list[float]]]", cursor.fetchall())

        wanted = self._present(wanted)
        rows = self._ask(ask) if wanted else []
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found, numbers = zip(*rows, strict=True)
        return np.array(found, np.int64), np.array(numbers).astype(np.int8)


def _halfvec(vector: NDArray[np.int8]) -> str:
    return json.dumps(vector.tolist())


def _cosine(distance: float) -> float:
    """Return the cosine of two static vectors with this Euclidean distance."""
    return 1.0 - distance * distance / (2.0 * STATIC_LENGTH**2)
