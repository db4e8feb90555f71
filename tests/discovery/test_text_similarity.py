"""Word sets, near-duplicates and MMR."""

from __future__ import annotations

import pytest

from cairn.discovery.similarity import distinct, jaccard, maximal_marginal_relevance, word_masks


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
    first, second = word_masks([one, other])
    assert jaccard(first, second) == expected
    assert jaccard(second, first) == expected


def test_the_first_of_near_duplicates_is_kept():
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(words), " ".join([*words[:-1], "x"]), " ".join(words[:10]), " ".join([*words, "y"])]
    # Similarities to the first: 0.90, 0.50, 0.95.
    assert distinct(word_masks(texts), 0.85) == [0, 2]
    assert distinct(word_masks(texts), 0.92) == [0, 1, 2]
    assert distinct(word_masks(texts), 1.0) == [0, 1, 2, 3]


def test_similarity_must_exceed_the_threshold():
    assert distinct(word_masks(["a b", "a b"]), 1.0) == [0, 1]
    assert distinct(word_masks(["a b", "a b"]), 0.99) == [0]


def test_mmr_prefers_new_words_over_repetition():
    masks = word_masks(["red apple pie", "red apple tart", "green pear cake"])
    assert maximal_marginal_relevance([0.9, 0.85, 0.7], masks, 2, 0.5) == [0, 2]
    assert maximal_marginal_relevance([0.9, 0.85, 0.7], masks, 2, 1.0) == [0, 1]


def test_mmr_takes_the_most_relevant_first_whatever_the_trade_off():
    masks = word_masks(["a", "b", "c"])
    assert maximal_marginal_relevance([0.1, 0.9, 0.5], masks, 3, 0.0) == [1, 0, 2]


def test_mmr_stops_at_k_or_when_nothing_is_left():
    masks = word_masks(["a", "b"])
    assert maximal_marginal_relevance([0.5, 0.5], masks, 1, 0.7) == [0]
    assert maximal_marginal_relevance([0.5, 0.5], masks, 9, 0.7) == [0, 1]
    assert maximal_marginal_relevance([], [], 9, 0.7) == []
