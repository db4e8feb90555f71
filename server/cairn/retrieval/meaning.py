"""Compare queries and chunks by vectors: the static ones that every index has, or those of an installed
larger model. Vectors of different kinds are never compared, so each query uses one kind for all chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.embedding.embedder import Embedder
from cairn.embedding.static import StaticTable
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import Cancelled
from cairn.index.store.meta import Facts, static_key

_FEW = 0.05
"""The maximum share of chunks without a vector of the model. If more are missing, static vectors rank better;
if none is, both kinds rank alike (docs/ranking.md)."""


@frozen
class ModelMeaning:
    embedder: Embedder
    static: StaticTable | None = None
    """Finds the chunks with which the model's vectors are compared."""

    @property
    def dimension(self) -> int:
        return self.embedder.model.dimension

    def vectors(self, queries: Sequence[str]) -> list[ModelVector]:
        """Return a vector for each query. The model is called once for all."""
        static = StaticMeaning(self.static).vectors(queries) if self.static else [None] * len(queries)
        rows = self.embedder.embed_queries(queries)
        model = self.embedder.model.id
        return [ModelVector(row, model, other) for row, other in zip(rows, static, strict=True)]


@frozen
class StaticMeaning:
    table: StaticTable

    @property
    def dimension(self) -> int:
        return self.table.dimension

    def vectors(self, queries: Sequence[str]) -> list[StaticVector]:
        return [StaticVector(row) for row in self.table.embed_queries_int8(queries)]


@frozen
class ModelVector:
    """A query's vector, float32[dimension], by the model with the id `model`."""

    vector: NDArray[np.float32]
    model: str
    static: StaticVector | None = None
    """The static vector that finds the chunks to compare. It reads a sixth of the bytes, and vectors of
    deleted texts cannot take all results. NDCG@10 was 0.879 with an earlier table, 0.881 comparing all."""

    def nearest(self, index: IndexReader, limit: int, only: ChunkFilter, cancelled: Cancelled) -> list[Hit]:
        if self.static is None:
            return index.nearest(self.vector, self.model, limit, only, cancelled)
        found = self.static.nearest(index, limit, only, cancelled)
        compared = self.similarities(index, [hit.chunk_id for hit in found])
        return sorted((Hit(*each) for each in compared.items()), key=lambda hit: (-hit.score, hit.chunk_id))

    def similarities(self, index: IndexReader, ids: Sequence[int]) -> dict[int, float]:
        return index.similarities(ids, self.vector, self.model)


@frozen
class StaticVector:
    """A query's vector, int8[dimension], by the static table."""

    vector: NDArray[np.int8]

    def nearest(self, index: IndexReader, limit: int, only: ChunkFilter, cancelled: Cancelled) -> list[Hit]:
        return index.nearest_static(self.vector, limit, only, cancelled)

    def similarities(self, index: IndexReader, ids: Sequence[int]) -> dict[int, float]:
        return index.static_similarities(ids, self.vector)


Meaning = ModelMeaning | StaticMeaning
QueryVector = ModelVector | StaticVector


def table_of(meaning: Meaning | None) -> StaticTable | None:
    """Return the static table, which can also compare single lines; None without one."""
    if isinstance(meaning, ModelMeaning):
        return meaning.static
    return meaning.table if meaning else None


def finder(vector: QueryVector) -> tuple[QueryVector, str]:
    """Return the vector that finds the nearest chunks, and the name of this leg. Beside a model, the static
    vector only finds: then all chunks that any leg found are compared by the model's vectors."""
    if isinstance(vector, ModelVector) and vector.static is not None:
        return vector.static, "static"
    return vector, "similarity"


def similarities(
    query_vectors: Sequence[QueryVector], index: IndexReader, ids: Sequence[int]
) -> list[dict[int, float]]:
    """Return the cosine similarity of each chunk with a vector, for each query. The model's vectors are read
    once for all queries. This calls the index directly instead of through each vector, because most stack
    frames of a search above SQLite are on this path (`benchmarks/frames.py`)."""
    static = [each.vector for each in query_vectors if isinstance(each, StaticVector)]
    if static:
        return list(map(partial(index.static_similarities, ids), static))
    rows = [each for each in query_vectors if isinstance(each, ModelVector)]
    queries = np.stack([row.vector / (np.linalg.norm(row.vector) or 1.0) for row in rows])
    found, vectors = index.vectors(ids, queries.shape[1], rows[0].model)
    return [dict(zip(found, cosines, strict=True)) for cosines in (queries @ vectors.T).tolist()]


def choose_meaning(
    facts: Sequence[Facts],
    embedder: Callable[[], Embedder | None],
    static: Callable[[], StaticTable | None],
) -> Meaning | None:
    """Return the best comparison that these indexes allow, or None. Only what it uses is loaded."""
    chunks = sum(f.chunks for f in facts)
    waiting = sum(f.queued if f.model_id else f.chunks for f in facts)
    waiting_static = sum(f.static_queued if f.has_static else f.chunks for f in facts)
    table = static() if waiting_static < chunks else None
    # Another version of Cairn may have written one of the indexes with another table.
    if table is not None and any(f.has_static and f.static_key != static_key(table.id) for f in facts):
        table, waiting_static = None, chunks
    # While vectors of both kinds are computed, the kind that more chunks already have finds more.
    if waiting < chunks and (waiting <= _FEW * chunks or table is None or waiting < waiting_static):
        model = embedder()
        if model is not None:
            return ModelMeaning(model, table)
    return StaticMeaning(table) if table is not None else None
