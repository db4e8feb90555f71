"""How alike texts are, judged by the words they share: near-duplicates and diversity.

Word sets are bit masks over one vocabulary, so that a comparison is two machine operations on a
kilobyte instead of a walk over both texts: 400 chunks compare pairwise in some 30 ms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def word_masks(texts: Sequence[str]) -> list[int]:
    """One bit mask for each text: bit i is set when it holds word i of the texts' common vocabulary."""
    positions: dict[str, int] = {}
    masks: list[int] = []
    for text in texts:
        mask = 0
        for word in set(_WORD.findall(text.lower())):
            mask |= 1 << positions.setdefault(word, len(positions))
        masks.append(mask)
    return masks


def jaccard(one: int, other: int) -> float:
    """Shared words over all words of two masks, 0 to 1; 1 for two empty ones."""
    union = (one | other).bit_count()
    return (one & other).bit_count() / union if union else 1.0


def distinct(masks: Sequence[int], threshold: float) -> list[int]:
    """Indices of the masks that are not more similar than `threshold` to one kept before them."""
    kept: list[int] = []
    sizes = [mask.bit_count() for mask in masks]
    for index, mask in enumerate(masks):
        size = sizes[index]
        # Two sets cannot share more than the smaller holds: most pairs are told apart by size alone.
        if not any(
            min(size, sizes[other]) >= threshold * max(size, sizes[other])
            and jaccard(mask, masks[other]) > threshold
            for other in kept
        ):
            kept.append(index)
    return kept


def maximal_marginal_relevance(
    relevance: Sequence[float], masks: Sequence[int], k: int, trade_off: float
) -> list[int]:
    """Up to `k` indices, each the best by `λ · relevance - (1 - λ) · similarity to those before it`.

    Carbonell and Goldstein, SIGIR 1998. `trade_off` is λ: 1 ranks by relevance alone, 0 by novelty
    alone. The first is always the most relevant; of equals, the one that comes first in the input.
    """
    remaining = list(range(len(relevance)))
    nearest = [0.0] * len(relevance)
    chosen: list[int] = []
    while remaining and len(chosen) < k:
        if chosen:
            best = max(remaining, key=lambda i: trade_off * relevance[i] - (1 - trade_off) * nearest[i])
        else:
            best = max(remaining, key=lambda i: relevance[i])
        remaining.remove(best)
        chosen.append(best)
        for index in remaining:
            nearest[index] = max(nearest[index], jaccard(masks[index], masks[best]))
    return chosen
