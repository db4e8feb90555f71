"""Word sets, near-duplicates and MMR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cairn.discovery.similarity import distinct, jaccard, maximal_marginal_relevance


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


def test_the_first_of_near_duplicates_is_kept():
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(words), " ".join([*words[:-1], "x"]), " ".join(words[:10]), " ".join([*words, "y"])]
    # Similarities to the first: 0.90, 0.50, 0.95.
    assert distinct(jaccard(texts), 0.85) == [0, 2]
    assert distinct(jaccard(texts), 0.92) == [0, 1, 2]
    assert distinct(jaccard(texts), 1.0) == [0, 1, 2, 3]


def test_similarity_must_exceed_the_threshold():
    assert distinct(jaccard(["a b", "a b"]), 1.0) == [0, 1]
    assert distinct(jaccard(["a b", "a b"]), 0.99) == [0]


def test_mmr_prefers_new_words_over_repetition():
    similarity = jaccard(["red apple pie", "red apple tart", "green pear cake"])
    assert maximal_marginal_relevance([0.9, 0.85, 0.7], similarity, 2, 0.5) == [0, 2]
    assert maximal_marginal_relevance([0.9, 0.85, 0.7], similarity, 2, 1.0) == [0, 1]


def test_mmr_takes_the_most_relevant_first_whatever_the_trade_off():
    similarity = jaccard(["a", "b", "c"])
    assert maximal_marginal_relevance([0.1, 0.9, 0.5], similarity, 3, 0.0) == [1, 0, 2]


def test_mmr_stops_at_k_or_when_nothing_is_left():
    similarity = jaccard(["a", "b"])
    assert maximal_marginal_relevance([0.5, 0.5], similarity, 1, 0.7) == [0]
    assert maximal_marginal_relevance([0.5, 0.5], similarity, 9, 0.7) == [0, 1]
    assert maximal_marginal_relevance([], jaccard([]), 9, 0.7) == []


def test_mmr_compares_by_vectors_as_well():
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert maximal_marginal_relevance([0.9, 0.85, 0.7], vectors @ vectors.T, 3, 0.5) == [0, 2, 1]


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
