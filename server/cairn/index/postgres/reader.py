"""The reader of a snapshot in a team's database, which has the rights of one role."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.chunk_queries import ChunkQueries
from cairn.index.postgres.definition_queries import DefinitionQueries
from cairn.index.postgres.snapshot_reader import best_first, check
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
            if allowed is not None and kept.present is not None:
                allowed &= kept.present
            ids, scores = kept.nearest(vector, limit, allowed)
            return list(map(Hit, ids.tolist(), scores.tolist()))
        if only:
            return self._nearest_among(vector, limit, only)
        near = self._nearest(vector, limit + len(self.chunks_in(only.hidden)))
        return self._filtered(best_first(near), only, limit)

    def _nearest(self, vector: NDArray[np.int8], limit: int) -> dict[int, float]:
        """Return the cosines of the `limit` chunks nearest to the vector, and of those as near as the last.

        Which of these come first depends on their numbers, which the database does not know.
        """
        key = self.memory.key
        sql = """SELECT chunk, vector <-> %s::halfvec AS distance FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND file <@ %s::int4multirange
            ORDER BY distance FETCH FIRST %s ROWS WITH TIES"""
        given = (_halfvec(vector), key.shard, key.pool, self.memory.file_ranges, limit)
        return self._cosines(self._ask(lambda db: db.execute(sql, given).fetchall()))

    def _nearest_among(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        mask = self._mask(only)
        assert mask is not None
        return self._filtered(best_first(self._compared(np.flatnonzero(mask), vector)), only, limit)

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        kept = _VECTORS.of(self.memory, self.reads)
        if kept is not None:
            return kept.similarities(ids, vector)
        return self._compared(ids, vector)

    def _compared(self, numbers: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        """Return the cosine of each of these chunks, by number."""
        key, wanted = self.memory.key, self.memory.chunk_numbers.ids_of(numbers)
        sql = """SELECT chunk, vector <-> %s::halfvec FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""
        given = (_halfvec(vector), key.shard, key.pool, wanted)
        return self._cosines(self._ask(lambda db: db.execute(sql, given).fetchall()) if wanted else [])

    def _cosines(self, rows: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Return cosines by chunk number, ascending, from rows of an id and a Euclidean distance."""
        number_of = self.memory.chunk_numbers.number
        found = sorted((number_of(chunk), _cosine(distance)) for chunk, distance in rows)
        return {number: cosine for number, cosine in found if number}

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        key, wanted = self.memory.key, list(ids)
        if (kept := _VECTORS.of(self.memory, self.reads)) is not None:
            there, vectors = kept.vectors(wanted)
            return there, vectors if len(there) else np.empty((0, 0), np.int8)
        sql = """SELECT chunk, vector::real[] FROM cairn.vectors
            WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"""
        numbers = self.memory.chunk_numbers
        wanted = numbers.ids_of(wanted)

        def ask(db: Connection[TupleRow]) -> list[tuple[int, list[float]]]:
            cursor = db.cursor(binary=True)
            cursor.execute(sql, (key.shard, key.pool, wanted))
            return [(numbers.number(chunk), vector) for chunk, vector in cursor]

        rows = sorted(self._ask(ask)) if wanted else []
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found, components = zip(*rows, strict=True)
        return np.array(found, np.int64), np.array(components).astype(np.int8)


def _halfvec(vector: NDArray[np.int8]) -> str:
    return json.dumps(vector.tolist())


def _cosine(distance: float) -> float:
    """Return the cosine of two static vectors with this Euclidean distance."""
    return 1.0 - distance * distance / (2.0 * STATIC_LENGTH**2)
