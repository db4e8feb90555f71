"""Which of several folders a question is about, by how often its words stand in each.

Files of different folders compete by shares of their own folder's best. A word that one folder alone has, `rack` in a question about
middleware, says more than any of these: it is the query likelihood of language models, over folders instead of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cairn.retrieval.pools import Pool

_SMOOTHING = 100.0
"""Chunks of the usual folder that each folder is thought to have besides its own (Dirichlet smoothing). Of 100, 1,000 and 5,000 the
first found the right of ten and of eleven repositories most often."""


def folder_likelihoods(pools: Sequence[Pool], chunks: Sequence[int]) -> Sequence[float]:
    """For each folder the mean logarithm of how likely a chunk of it has a word of the question, as a
    difference to the likeliest folder; 0 for all where no word stands anywhere.

    `chunks` says how many each folder has.
    """
    total = np.zeros(len(pools))
    sizes = np.array(chunks, np.float64)
    every = sizes.sum()
    holding = [Counter({word.stems: len(word.held.ids) for word in pool.words}) for pool in pools]
    words = set[frozenset[str]]().union(*holding)
    for word in words:
        held = np.array([counts[word] for counts in holding], np.float64)
        if held.any():
            usual = (held.sum() + 0.5) / (every + 1.0)
            total += np.log((held + _SMOOTHING * usual) / (sizes + _SMOOTHING))
    total /= max(1, len(words))
    differences: list[float] = (total - total.max()).tolist()
    return differences
