"""The words of a query show which of several folders it is about."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.index.reader.postings import Postings
from cairn.retrieval.candidates import Pool, QueryWord
from cairn.retrieval.packages import folder_likelihoods


def pool(**words: int) -> Pool:
    """Return the pool of a folder with this number of chunks for each word."""
    made = Pool()
    for word, chunks in words.items():
        ids = np.arange(1, chunks + 1, dtype=np.int32)
        ones = np.ones(chunks, np.uint8)
        made.words.append(QueryWord(frozenset({word}), 1.0, Postings(ids, ones, ones)))
    return made


def test_a_word_of_a_single_folder_makes_it_likelier() -> None:
    likelihoods = folder_likelihoods(
        [pool(middleware=50, rack=0), pool(middleware=40, rack=30)], [1000, 1000]
    )
    assert likelihoods[1] == 0.0
    assert likelihoods[0] < -0.3


def test_a_large_folder_is_not_likelier() -> None:
    likelihoods = folder_likelihoods([pool(cookie=100), pool(cookie=10)], [10_000, 1_000])
    assert likelihoods == pytest.approx([0.0, 0.0], abs=0.1)


def test_unknown_words_make_no_folder_likelier() -> None:
    assert folder_likelihoods([pool(zebra=0), pool(zebra=0)], [10, 1_000]) == [0.0, 0.0]
