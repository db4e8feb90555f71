"""Stage 3: the variations of a question, and its main term."""

from __future__ import annotations

import attrs
import pytest

from cairn.discovery.preparation import expand_queries_baseline, main_term
from cairn.settings.discovery import ExpansionConfig

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
