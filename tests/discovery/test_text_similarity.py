"""Word sets, near-duplicates, and maximal marginal relevance (MMR)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cairn.discovery.searching import distinct, jaccard, maximal_marginal_relevance

PIES = ["red apple pie", "red apple tart", "green pear cake"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "A, b. C d!", 1.0),
        ("a b c d", "a b", 0.5),
        ("a b", "c d", 0.0),
        ("a a a b", "a b", 1.0),
        ("", "", 1.0),
        ("", "a", 0.0),
    ],
)
def test_similarity_is_shared_words_over_all_words(one, other, expected):
    similarity = jaccard([one, other])
    assert similarity[0, 1] == similarity[1, 0] == pytest.approx(expected)
    assert similarity[0, 0] == similarity[1, 1] == 1.0


def test_first_of_near_duplicates_is_kept():
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(words), " ".join([*words[:-1], "x"]), " ".join(words[:10]), " ".join([*words, "y"])]
    # Similarities to the first: 0.90, 0.50, 0.95.
    assert distinct(jaccard(texts), 0.85) == [0, 2]
    assert distinct(jaccard(texts), 0.92) == [0, 1, 2]
    assert distinct(jaccard(texts), 1.0) == [0, 1, 2, 3]
    # The similarity must exceed the threshold.
    assert distinct(jaccard(["a b", "a b"]), 1.0) == [0, 1]
    assert distinct(jaccard(["a b", "a b"]), 0.99) == [0]


VECTORS = np.array([[1, 0], [1, 0], [0, 1]], np.float32)


@pytest.mark.parametrize(
    ("relevance", "similarity", "k", "trade_off", "expected"),
    [
        pytest.param([0.9, 0.85, 0.7], jaccard(PIES), 2, 0.5, [0, 2], id="new words"),
        pytest.param([0.9, 0.85, 0.7], jaccard(PIES), 2, 1.0, [0, 1], id="relevance alone"),
        pytest.param([0.1, 0.9, 0.5], jaccard(["a", "b", "c"]), 3, 0.0, [1, 0, 2], id="most relevant first"),
        pytest.param([0.5, 0.5], jaccard(["a", "b"]), 1, 0.7, [0], id="k"),
        pytest.param([0.5, 0.5], jaccard(["a", "b"]), 9, 0.7, [0, 1], id="fewer than k"),
        pytest.param([], jaccard([]), 9, 0.7, [], id="nothing"),
        pytest.param([0.9, 0.85, 0.7], VECTORS @ VECTORS.T, 3, 0.5, [0, 2, 1], id="by vectors"),
    ],
)
def test_mmr_prefers_relevant_and_different_texts(relevance, similarity, k, trade_off, expected):
    assert maximal_marginal_relevance(relevance, similarity, k, trade_off) == expected


@given(st.lists(st.text(alphabet="abcdef ", max_size=40), max_size=12))
def test_words_are_compared_as_sets(texts):
    sets = [set(text.split()) for text in texts]
    words = sorted(set().union(*sets))
    alike = jaccard(words)
    assume((alike == np.eye(len(words))).all())  # two words may share a bucket
    similarity = jaccard(texts)
    for one, first in enumerate(sets):
        for other, second in enumerate(sets):
            union = first | second
            expected = len(first & second) / len(union) if union else 1.0
            assert similarity[one, other] == pytest.approx(expected, abs=1e-6)
