"""Stage 2: the formula of the score, term by term."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from tests.discovery.discovery_builders import collection

from cairn.discovery.preparation import score_collections
from cairn.settings.discovery import ScoringConfig

NOW = datetime(2025, 10, 7, tzinfo=UTC)
TODAY = NOW.isoformat()
NAME_ONLY = ScoringConfig(name_match_weight=1, term_boost_weight=0, signal_boost_weight=0)
TERMS_ONLY = ScoringConfig(name_match_weight=0, term_boost_weight=1, signal_boost_weight=0)
SIGNALS_ONLY = ScoringConfig(name_match_weight=0, term_boost_weight=0, signal_boost_weight=1)


def score(ref, terms=(), config=None):
    [(_, value)] = score_collections(list(terms), [ref], config or ScoringConfig(), now=NOW)
    return value


@pytest.mark.parametrize(
    ("name", "terms", "expected"),
    [
        ("vectorizer-docs", ["vectorizer"], 1.5),
        ("vectorizer-docs", ["Vectorizer", "speed"], 0.75),
        ("the-vectorizer", ["vectorizer"], 1.0),
        ("VECTORIZER", ["vectorizer"], 1.5),
        ("cmmv-docs", ["vectorizer"], 0.0),
        ("cmmv-docs", [], 0.0),
        ("cmmv-docs", [""], 0.0),
    ],
)
def test_names_score_by_the_share_of_terms_in_them(name, terms, expected):
    assert score(collection(name), terms, NAME_ONLY) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("vectorizer-docs", 0.2), ("core-api-sdk", 0.6), ("Core-Source", 0.4), ("tests", 0.0)],
)
def test_boost_terms_in_the_name_count_a_fifth_each(name, expected):
    assert score(collection(name), config=TERMS_ONLY) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 0.0),
        ({"vector_count": 500_000}, 0.5 / 3),
        ({"vector_count": 5_000_000}, 1 / 3),
        ({"updated_at": TODAY}, 1 / 3),
        ({"updated_at": str(NOW - timedelta(days=90))}, math.exp(-1) / 3),
        ({"updated_at": str(NOW + timedelta(days=1))}, 1 / 3),
        ({"updated_at": "2025-10-07"}, 1 / 3),
        ({"tags": ("code", "documentation", "other")}, 2 / 9),
        ({"tags": ("code",), "vector_count": 1_000_000, "updated_at": TODAY}, (1 + 1 + 1 / 3) / 3),
    ],
)
def test_size_recency_and_tags_are_averaged(fields, expected):
    assert score(collection("x", **fields), config=SIGNALS_ONLY) == pytest.approx(expected)


def test_default_weights_combine_the_signals():
    ref = collection(
        "vectorizer-docs", vector_count=1_000_000, updated_at=TODAY, tags=("documentation", "code", "api")
    )
    assert score(ref, ["vectorizer"]) == pytest.approx(0.4 * 1.5 + 0.3 * 0.2 + 0.3 * 1.0)


def test_without_decay_time_only_today_is_recent():
    config = ScoringConfig(0, 0, 1, recency_decay_days=0)
    assert score(collection("x", updated_at=TODAY), config=config) == pytest.approx(1 / 3)
    assert score(collection("x", updated_at=str(NOW - timedelta(days=1))), config=config) == 0.0


def test_best_collections_come_first_and_equal_ones_by_name():
    refs = [collection(name) for name in ("b", "a", "vectorizer", "c")]
    ranked = score_collections(["vectorizer"], refs, ScoringConfig(), now=NOW)
    assert [ref.name for ref, _ in ranked] == ["vectorizer", "a", "b", "c"]
    assert score_collections(["vectorizer"], [], ScoringConfig()) == []


def test_recency_is_measured_from_the_current_time_by_default():
    now = collection("x", updated_at=datetime.now(UTC).isoformat())
    [(_, value)] = score_collections([], [now], SIGNALS_ONLY)
    assert value == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize(("weight", "first"), [(None, "crane-source"), (0, "port-source")])
def test_package_in_question_comes_first(weight, first):
    refs = [collection("port-source", updated_at=TODAY), collection("crane-source")]
    config = ScoringConfig() if weight is None else ScoringConfig(evidence_weight=weight)
    [(best, _), _] = score_collections([], refs, config, now=NOW, package_relevance={"crane-source": 0.4})
    assert best.name == first
