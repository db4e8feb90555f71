"""How questions and chunks are compared by meaning: with the static vectors that every index has, or, where a larger model
is installed, with its vectors once they are made.

Vectors of the two are never compared with each other, so each question uses one kind for all chunks.
"""

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
"""Share of chunks that may lack the model's vector before static ones, which all have, rank better: the two rank alike
where nothing is missing (docs/ranking.md)."""


@frozen
class ModelMeaning:
    """Compares by the model's vectors."""

    embedder: Embedder
    static: StaticTable | None = None
    """Finds chunks, which are then compared by the model's vectors."""

    @property
    def dimension(self) -> int:
        return self.embedder.model.dimension

    def vectors(self, queries: Sequence[str]) -> list[ModelVector]:
        """A vector for each query. One call of the model embeds all."""
        static = StaticMeaning(self.static).vectors(queries) if self.static else [None] * len(queries)
        rows = self.embedder.embed_queries(queries)
        model = self.embedder.model.id
        return [ModelVector(row, model, other) for row, other in zip(rows, static, strict=True)]


@frozen
class StaticMeaning:
    """Compares by static vectors."""

    table: StaticTable

    @property
    def dimension(self) -> int:
        return self.table.dimension

    def vectors(self, queries: Sequence[str]) -> list[StaticVector]:
        """A vector for each query."""
        return [StaticVector(row) for row in self.table.embed_queries_int8(queries)]


@frozen
class ModelVector:
    """float32[dimension] of the model with the id `model`."""

    vector: NDArray[np.float32]
    model: str
    static: StaticVector | None = None
    """The same question, where static vectors find what the model's are compared with: a sixth of the bytes, and
    none of texts that are gone, which could take all places. NDCG@10 was 0.879 so with
    an earlier table, and 0.881 comparing all."""

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
    """int8[dimension] of the static table."""

    vector: NDArray[np.int8]

    def nearest(self, index: IndexReader, limit: int, only: ChunkFilter, cancelled: Cancelled) -> list[Hit]:
        return index.nearest_static(self.vector, limit, only, cancelled)

    def similarities(self, index: IndexReader, ids: Sequence[int]) -> dict[int, float]:
        return index.static_similarities(ids, self.vector)


Meaning = ModelMeaning | StaticMeaning
"""Turns questions into vectors of one kind."""
QueryVector = ModelVector | StaticVector
"""A question as a vector of one kind."""


def table_of(meaning: Meaning | None) -> StaticTable | None:
    """The static table, which also compares lines that have no vector in the index; None where there is none."""
    if isinstance(meaning, ModelMeaning):
        return meaning.static
    return meaning.table if meaning else None


def finder(asked: QueryVector) -> tuple[QueryVector, str]:
    """What finds the nearest chunks to `asked`, and the name of the leg that this is.

    Static vectors find without comparing: the model's are compared with all that was found, whichever leg did.
    """
    if isinstance(asked, ModelVector) and asked.static is not None:
        return asked.static, "static"
    return asked, "similarity"


def similarities(
    asked: Sequence[QueryVector], index: IndexReader, ids: Sequence[int]
) -> list[dict[int, float]]:
    """For each question the cosine similarity of those of the chunks that have a vector.

    The model's vectors are read once for all questions. The index is asked here, not by each vector: most of a search's
    frames above SQLite are those of this path (`benchmarks/frames.py`).
    """
    static = [each.vector for each in asked if isinstance(each, StaticVector)]
    if static:
        return list(map(partial(index.static_similarities, ids), static))
    rows = [each for each in asked if isinstance(each, ModelVector)]
    queries = np.stack([row.vector / (np.linalg.norm(row.vector) or 1.0) for row in rows])
    found, vectors = index.vectors(ids, queries.shape[1], rows[0].model)
    return [dict(zip(found, cosines, strict=True)) for cosines in (queries @ vectors.T).tolist()]


def choose_meaning(
    facts: Sequence[Facts],
    embedder: Callable[[], Embedder | None],
    static: Callable[[], StaticTable | None],
) -> Meaning | None:
    """What these indexes are best compared by now, None where they have no vectors. Loads only what it chooses."""
    chunks = sum(f.chunks for f in facts)
    waiting = sum(f.queued if f.model_id else f.chunks for f in facts)
    waiting_static = sum(f.static_queued if f.has_static else f.chunks for f in facts)
    table = static() if waiting_static < chunks else None
    # Another version of Cairn may write one of them, with another table.
    if table is not None and any(f.has_static and f.static_key != static_key(table.id) for f in facts):
        table, waiting_static = None, chunks
    # While static vectors are being made, too, those that most chunks have find the most.
    if waiting < chunks and (waiting <= _FEW * chunks or table is None or waiting < waiting_static):
        model = embedder()
        if model is not None:
            return ModelMeaning(model, table)
    return StaticMeaning(table) if table is not None else None
