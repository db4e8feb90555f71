"""The interface to the index for the two stages that search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cairn.protocol.evidence import ScoredChunk
from cairn.retrieval.window_ranking import Passage


class Searcher(Protocol):
    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """Return the best `k` chunks of the named collections for each query, best first, with scores 0 to 1.

        The first query is the question; the others are variations of it.
        """

    def package_relevance(self, query: str, collections: Sequence[str]) -> Mapping[str, float]:
        """Return how much the question is about a collection's package, 0 to 1, by collection."""

    def neighbours(self, chunks: Sequence[ScoredChunk], window: int) -> list[list[ScoredChunk]]:
        """Return, for each chunk, up to `window` chunks before and after it in its file, in order."""

    def vectors(self, chunks: Sequence[ScoredChunk]) -> NDArray[np.float32] | None:
        """Return float32[n, dimension]: unit vectors, and zeros for chunks without one; None if all are."""

    def passages(self) -> Sequence[Passage]:
        """Return the passages that answer the first query of the first search, best first."""
