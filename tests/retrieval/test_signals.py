"""A score is a share of the best possible sum of signals, balanced between words and meaning."""

from __future__ import annotations

import pytest
from tests.retrieval.ranking_builders import file, order, scores

from cairn.retrieval.query import understand
from cairn.retrieval.scores import Family
from cairn.retrieval.signals import SIGNALS


def test_alpha_moves_the_balance_between_words_and_meaning() -> None:
    words, meaning = file("src/a.py", keyword=1.0), file("src/b.py", keyword=0.0, similarity=0.5)
    assert order("x y", words, meaning, alpha=0.0)[0] == "src/a.py"
    assert order("x y", words, meaning, alpha=1.0)[0] == "src/b.py"


def test_a_score_from_0_to_1_is_the_sum_of_its_reasons() -> None:
    files = [file("src/session.py", keyword=3, similarity=0.4), file("tests/a.py", keyword=0.1)]
    best_possible = sum(signal.weight for signal in SIGNALS if signal.weight > 0 and signal.always)
    for scored in scores(understand("session cookie"), files):
        assert 0 < scored.score <= 1
        if scored.score >= 0.05:
            total = sum(r.value * r.weight for r in scored.reasons)
            assert scored.score == pytest.approx(total / best_possible)


def test_without_vectors_the_words_make_up_the_whole_score() -> None:
    (scored,) = scores(understand("x", alpha=0.5), [file("src/a.py", keyword=3)])
    possible = sum(
        signal.weight
        for signal in SIGNALS
        if signal.weight > 0 and signal.always and signal.family is not Family.VECTOR
    )
    assert scored.score == pytest.approx(sum(r.value * r.weight for r in scored.reasons) / possible)


def test_a_literal_without_matches_changes_no_score() -> None:
    files = [file("src/a.py", keyword=3), file("src/b.py", keyword=2, similarity=0.5)]
    others = [signal for signal in SIGNALS if signal.title != "contains the literal text"]
    query = understand("x y")
    assert scores(query, files) == scores(query, files, others)


def test_a_literal_match_outweighs_keywords() -> None:
    files = [file("src/a.py", keyword=3), file("src/b.py", keyword=1, exact=0.8)]
    assert order("x y", *files) == ["src/b.py", "src/a.py"]


def test_files_that_are_all_penalised_keep_their_order() -> None:
    tests = [file(f"tests/test_{name}.py", keyword=weight) for name, weight in (("a", 1), ("b", 3), ("c", 2))]
    assert order("where is it parsed", *tests) == ["tests/test_b.py", "tests/test_c.py", "tests/test_a.py"]


def test_no_files_have_no_scores() -> None:
    assert scores(understand("x"), []) == []
