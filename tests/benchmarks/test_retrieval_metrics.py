"""Tests of the retrieval benchmark's metrics, against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from retrieval.metrics import METRICS, Scores, Span, covers, rank_of, score

SECOND = 1 / math.log2(3)
THIRD = 1 / math.log2(4)


def files(*paths: str) -> list[Span]:
    return [Span(path) for path in paths]


@pytest.mark.parametrize(
    ("result", "target", "covered"),
    [
        ("args.go", "args.go", True),
        ("sinatra/base.rb", "lib/sinatra/base.rb", True),
        ("lib/sinatra/base.rb", "sinatra/base.rb", True),
        ("bash_args.go", "args.go", False),
        ("args.go", "doc/bash_args.go", False),
        ("lib/base.rb", "sinatra/base.rb", False),
        ("args.go", "args.go.txt", False),
    ],
)
def test_paths_match_by_suffix_at_a_slash_in_both_directions(result: str, target: str, covered: bool) -> None:
    assert covers(Span(result), Span(target)) is covered


@pytest.mark.parametrize(
    ("result", "target", "covered"),
    [
        (Span("a", 1, 10), Span("a", 10, 20), True),
        (Span("a", 1, 9), Span("a", 10, 20), False),
        (Span("a", 20, 30), Span("a", 10, 20), True),
        (Span("a", 21, 30), Span("a", 10, 20), False),
        (Span("a", 12, 13), Span("a", 10, 20), True),
        (Span("a", 1, 99), Span("a", 10, 20), True),
        (Span("a", 30, 40), Span("a", 10), True),
        (Span("a", 1, 9), Span("a", 10), False),
        (Span("a", 1, 9), Span("a"), True),
        (Span("a"), Span("a", 10, 20), True),
        (Span("b", 10, 20), Span("a", 10, 20), False),
    ],
)
def test_lines_must_overlap_where_both_have_lines(result: Span, target: Span, covered: bool) -> None:
    assert covers(result, target) is covered


def test_target_has_the_rank_of_the_first_covering_result() -> None:
    results = [Span("a", 1, 5), Span("b", 1, 5), Span("a", 6, 9), Span("a", 8, 12)]
    assert rank_of(Span("a"), results) == 1
    assert rank_of(Span("a", 8, 8), results) == 3
    assert rank_of(Span("c"), results) is None


def test_all_targets_first_gives_the_best_scores() -> None:
    assert score(files("a", "b", "x"), files("a"), files("b")) == Scores(
        ndcg_at_10=1.0,
        precision_at_3=2 / 3,
        precision_at_10=0.2,
        attainable_precision_at_3=1.0,
        attainable_precision_at_10=1.0,
        recall_at_10=1.0,
        mrr=1.0,
        critical_at_3=1.0,
    )


def test_no_results_score_zero() -> None:
    for results in ([], files("x", "y")):
        scores = score(results, files("a"))
        assert {getattr(scores, name) for name in METRICS} == {0.0}


def test_secondary_targets_gain_the_same_but_are_not_critical() -> None:
    scores = score(files("b", "x", "y", "a"), relevant=files("a"), secondary=files("b"))
    assert scores.ndcg_at_10 == pytest.approx((1 + 1 / math.log2(5)) / (1 + SECOND))
    assert (scores.precision_at_3, scores.attainable_precision_at_3) == (pytest.approx(1 / 3), 0.5)
    assert (scores.mrr, scores.critical_at_3) == (0.25, 0.0)


def test_a_second_result_on_the_same_target_adds_nothing() -> None:
    once = score(files("a", "x", "y", "b"), files("a", "b", "c"))
    twice = score(files("a", "a", "a", "b"), files("a", "b", "c"))
    assert once == twice
    assert once.ndcg_at_10 == pytest.approx((1 + 1 / math.log2(5)) / (1 + SECOND + THIRD))
    assert (once.precision_at_10, once.recall_at_10) == (0.2, pytest.approx(2 / 3))


def test_result_may_cover_two_targets_and_gain_is_cut_at_the_ideal() -> None:
    both = [Span("a", 1, 3), Span("a", 8, 9)]
    assert score([Span("a", 1, 100)], both).ndcg_at_10 == 1.0
    later = score([Span("x"), Span("a", 1, 100)], both)
    assert later.ndcg_at_10 == pytest.approx(2 * SECOND / (1 + SECOND))
    assert (later.recall_at_10, later.mrr) == (1.0, 0.5)


def test_the_eleventh_result_does_not_count() -> None:
    others = files(*"bcdefghij")
    tenth, eleventh = score([*others, Span("a")], files("a")), score([*others, *files("k", "a")], files("a"))
    assert (tenth.ndcg_at_10, tenth.mrr) == (pytest.approx(1 / math.log2(11)), 0.1)
    assert (eleventh.ndcg_at_10, eleventh.recall_at_10, eleventh.mrr) == (0.0, 0.0, 0.0)


def test_of_more_targets_than_results_ten_are_attainable() -> None:
    targets = files(*"abcdefghijklmnop")
    scores = score(targets[:10], targets)
    assert (scores.ndcg_at_10, scores.precision_at_10, scores.attainable_precision_at_10) == (1.0, 1.0, 1.0)
    assert scores.recall_at_10 == 10 / 16


def test_the_third_result_is_the_last_critical_one() -> None:
    assert score(files("x", "y", "a"), files("a")).critical_at_3 == 1.0
    assert score(files("x", "y", "z", "a"), files("a")).critical_at_3 == 0.0


def test_question_without_a_relevant_target_is_refused() -> None:
    with pytest.raises(ValueError, match="relevant"):
        score(files("a"), (), files("a"))
