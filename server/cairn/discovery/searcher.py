"""The searcher that two of the stages need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cairn.protocol.evidence import ScoredChunk
from cairn.retrieval.passages.ranking import Passage


class Searcher(Protocol):
    """What the two searching stages need of the engine."""

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """The best `k` chunks of the named collections for each query, best first, scores 0 to 1.

        The first query is the question, the others are variations of it.
        """

    def asked_about(self, query: str, collections: Sequence[str]) -> Mapping[str, float]:
        """For collections of packages how much the question is about the package, 0 to 1; others are left out."""

    def neighbours(self, chunks: Sequence[ScoredChunk], window: int) -> list[list[ScoredChunk]]:
        """For each of `chunks`, up to `window` chunks before and after it in its file, in file order."""

    def vectors(self, chunks: Sequence[ScoredChunk]) -> NDArray[np.float32] | None:
        """float32[n, dimension] of unit length, zeros for a chunk that has none; None where nothing has any."""

    def passages(self) -> Sequence[Passage]:
        """The lines that answer the question that was searched first, best first; none before a search."""
