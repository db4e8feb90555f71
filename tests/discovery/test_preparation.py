"""Stages 1 to 3: which collections are searched, their scores, and the variations of a question."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import attrs
import pytest
from tests.discovery.discovery_builders import collection

from cairn.discovery.preparation import (
    QueryTerms,
    content_words,
    expand_queries_baseline,
    filter_collections,
    main_term,
    score_collections,
)
from cairn.settings.discovery import ExpansionConfig, FilterConfig, ScoringConfig

NAMES = (
    "vectorizer-docs",
    "vectorizer-source",
    "vectorizer-sdk-python",
    "vectorizer-test",
    "cmmv-docs",
    "cmmv-backup",
    "test-collection",
)
ALL = [collection(name) for name in NAMES]
VECTORIZER = ["vectorizer-docs", "vectorizer-source", "vectorizer-sdk-python"]


def names(query, include=(), exclude=(), config=None):
    return [ref.name for ref in filter_collections(query, include, exclude, ALL, config or FilterConfig())]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["vectorizer*"], ["*-test"], VECTORIZER),
        (["VECTORIZER-D*"], [], ["vectorizer-docs"]),
        (["*-docs"], ["cmmv*"], ["vectorizer-docs"]),
        # A given exclude replaces the default one, so `*-test` may come back.
        (["*-test", "*-backup"], ["cmmv*"], ["vectorizer-test"]),
        (["*-test", "*-backup"], [], []),
        (["*-test", "*-backup"], None, []),
        (["nothing*"], [], []),
        (["vectorizer-[ds]*"], ["*python"], ["vectorizer-docs", "vectorizer-source"]),
        (["vectorizer*", "*-docs"], ["*-test", "*-backup"], [*VECTORIZER, "cmmv-docs"]),
    ],
)
def test_globs_choose_collections(include, exclude, expected):
    assert names("anything", include, exclude) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is cmmv", ["cmmv-docs"]),
        ("what is the Vectorizer?", VECTORIZER),
        ("python bindings", ["vectorizer-sdk-python"]),
        # A kind such as `test` names collections only in a query without other words.
        ("where is the vectorizer test", VECTORIZER),
        ("the docs", ["vectorizer-docs", "cmmv-docs"]),
    ],
)
def test_question_may_name_collections(query, expected):
    assert names(query) == expected


@pytest.mark.parametrize("query", ["how does routing work", "", "o que é", "de source of it all"])
def test_question_without_a_collections_name_searches_all(query):
    config = FilterConfig(default_exclude=("*-test", "*-backup", "*source", "*docs", "test-*"))
    assert names(query, config=config) == ["vectorizer-sdk-python"]


def test_only_whole_words_name_collections_and_only_large_ones():
    large, fixture = collection("pino-docs", vector_count=900), collection("transport-tests", vector_count=3)

    def chosen(query):
        return [ref.name for ref in filter_collections(query, (), (), [large, fixture])]

    assert chosen("how does a transport log to a file") == ["pino-docs", "transport-tests"]
    assert chosen("what is pino") == ["pino-docs"]
    assert chosen("pinot noir") == ["pino-docs", "transport-tests"]


def test_default_include_replaces_a_missing_include():
    config = FilterConfig(default_include=("*-sdk-*",))
    assert names("cmmv", config=config) == ["vectorizer-sdk-python"]
    assert names("cmmv", ["cmmv*"], config=config) == ["cmmv-docs"]


def test_without_exclusions_all_collections_are_kept():
    assert names("", config=FilterConfig(default_exclude=())) == list(NAMES)
    assert filter_collections("what is cairn", ["*"], [], []) == []


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


NOTHING = ExpansionConfig(
    **{name: False for name in attrs.fields_dict(ExpansionConfig) if name.startswith("include")}
)
ALL_VARIATIONS = (
    "x definition|what is x|x features|x capabilities|x main functionality|x architecture|x components"
    "|x system design|x API|x usage|x performance|x benchmarks|x use cases|x examples"
).split("|")


def test_default_variations_are_ordered():
    assert expand_queries_baseline("O que é o vectorizer", ExpansionConfig()) == [
        "O que é o vectorizer",
        "vectorizer definition",
        "what is vectorizer",
        "vectorizer features",
        "vectorizer capabilities",
        "vectorizer architecture",
        "vectorizer API",
        "vectorizer performance",
    ]


def test_all_variations_are_ordered():
    assert expand_queries_baseline("x", ExpansionConfig(max_expansions=99)) == ["x", *ALL_VARIATIONS]


@pytest.mark.parametrize("limit", range(16))
def test_limit_counts_the_question_itself(limit):
    queries = expand_queries_baseline("x", ExpansionConfig(max_expansions=limit))
    assert len(queries) == min(limit, 15)
    assert queries[:1] == ["x"][:limit]


@pytest.mark.parametrize(
    ("toggle", "expected"),
    [
        ("include_definition", ["x definition", "what is x"]),
        ("include_features", ["x features", "x capabilities", "x main functionality"]),
        ("include_architecture", ["x architecture", "x components", "x system design"]),
        ("include_api", ["x API", "x usage"]),
        ("include_performance", ["x performance", "x benchmarks"]),
        ("include_use_cases", ["x use cases", "x examples"]),
    ],
)
def test_each_toggle_adds_its_family(toggle, expected):
    assert expand_queries_baseline("x", attrs.evolve(NOTHING, **{toggle: True})) == ["x", *expected]


def test_without_toggles_there_are_no_variations():
    assert expand_queries_baseline("what is x", NOTHING) == ["what is x"]


@pytest.mark.parametrize("query", ["What is Vectorizer", "what is vectorizer?", "WHAT  is vectorizer ?"])
def test_variation_equal_to_the_question_is_not_repeated(query):
    queries = expand_queries_baseline(query, ExpansionConfig())
    assert len(queries) == 8
    assert [q for q in queries if "what is" in q.lower().replace("  ", " ")] == [query]


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_empty_question_has_no_variations(query):
    assert expand_queries_baseline(query, ExpansionConfig()) == []


@pytest.mark.parametrize(
    ("query", "term"),
    [
        ("what is vectorizer", "vectorizer"),
        ("What is Vectorizer?", "Vectorizer"),
        ("how does request routing work", "request routing"),
        ("How does request routing work?", "request routing"),
        ("vectorizer", "vectorizer"),
        ("where is the session cookie signed", "session cookie signed"),
        ("explain flask.Flask to me", "flask.Flask"),
        ("what's the life cycle of requests", "life cycle of requests"),
        ("difference between app context, and request context", "app context"),
        ("one two three four five", "two three four"),
        ("what is it", "what is it"),
        ("what is it?", "what is it"),
        ("overview", "overview"),
        ("???", "???"),
    ],
)
def test_main_term_is_the_first_noun_phrase(query, term):
    assert main_term(query) == term


@pytest.mark.parametrize(
    "query",
    [
        "how are redirects followed and where are cookies stored",
        "my request fails. Why does the session context vanish?",
        "how are ships moored and unloaded quickly",
        "where is HTTPServer started",
        "who reads FLASK_ENV in the tests",
        "where is flask installed",
        "como funciona o flask",
        "onde o flask é instalado",
        "why does flask restart",
        "template rendering performance",
        "what is the session cookie signed with",
    ],
)
def test_specific_question_has_no_variations(query):
    assert expand_queries_baseline(query, ExpansionConfig()) == [query]


@pytest.mark.parametrize("name", ["HTTPServer", "add_url_rule", "app.run()", "getElementById"])
def test_name_in_code_has_its_own_variations(name):
    own = name.removesuffix("()")
    variations = ("definition", "API", "usage", "use cases", "examples")
    first, *others = (f"{own} {variation}" for variation in variations)
    assert expand_queries_baseline(name, ExpansionConfig()) == [name, first, f"what is {own}", *others]


@pytest.mark.parametrize(
    "query",
    [
        "flask architecture",
        "flask API",
        "flask use cases",
        "flask system design",
        "what is the flask architecture",
        "explain flask",
        "overview of flask",
        "introduction to flask",
        "define flask",
        "tell me about flask",
        "o que é o flask",
        "explique o flask",
        "fale sobre o flask",
        "visão geral do flask",
        "resumo do flask",
        "resumir flask",
    ],
)
def test_overview_has_variations_however_it_is_worded(query):
    every = expand_queries_baseline(query, ExpansionConfig(max_expansions=99))
    assert every[0] == query
    expected = [f"flask {variation.removeprefix('x ')}" for variation in ALL_VARIATIONS]
    expected[1] = "what is flask"
    assert every[1:] == [variation for variation in expected if variation != query]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how does request routing work", ["request", "routing"]),
        ("explain (the) `Flask` app", ["Flask", "app"]),
        ("explain show", ["explain", "show"]),
        ("what is it", []),
        ("", []),
    ],
)
def test_function_words_and_light_words_do_not_count(query, expected):
    assert content_words(query) == expected


@pytest.mark.parametrize(
    ("query", "text", "coverage"),
    [
        ("request routing", "Routes answer requests.", 1.0),
        ("request routing", "A request arrives.", 0.5),
        ("session cookie", "class SecureCookieSessionInterface", 1.0),
        ("session cookie", "session_cookie_name", 1.0),
        ("SessionCookie", "the cookie of a session", 1.0),
        ("max_file_bytes", "the maximum file size", 1 / 3),
        ("roteamento", "o roteamento de requisições", 1.0),
        ("o que e\u0301 o vectorizer", "the vectorizer", 1.0),
        ("routing", "nothing of the kind", 0.0),
        ("what is it", "it is what it is", 0.0),
    ],
)
def test_coverage_is_the_share_of_terms_in_a_text(query, text, coverage):
    assert QueryTerms.of(query).coverage(text) == pytest.approx(coverage)


def test_occurrences_are_counted_by_stem():
    counts = QueryTerms.of("route cookies").counts("Route, routes, ROUTING; getCookie and cookie_jar")
    assert sorted(counts.values()) == [2, 3]
