"""Stage 1: globs, defaults, and collections named in the question."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import collection

from cairn.discovery.preparation import filter_collections
from cairn.settings.discovery import FilterConfig

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
