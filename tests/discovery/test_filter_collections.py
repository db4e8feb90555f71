"""Stage 1: globs, defaults, and collections that the question names."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import collection

from cairn.discovery import FilterConfig, filter_collections

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


def names(query, include=(), exclude=(), config=None):
    return [ref.name for ref in filter_collections(query, include, exclude, ALL, config or FilterConfig())]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["vectorizer*"], ["*-test"], ["vectorizer-docs", "vectorizer-source", "vectorizer-sdk-python"]),
        (["VECTORIZER-D*"], [], ["vectorizer-docs"]),
        (["*-docs"], ["cmmv*"], ["vectorizer-docs"]),
        # A given exclude replaces the default one, so that `*-test` may come back.
        (["*-test", "*-backup"], ["cmmv*"], ["vectorizer-test"]),
        (["*-test", "*-backup"], [], []),
        (["*-test", "*-backup"], None, []),
        (["nothing*"], [], []),
        (["vectorizer-[ds]*"], ["*python"], ["vectorizer-docs", "vectorizer-source"]),
    ],
)
def test_globs_choose_collections(include, exclude, expected):
    assert names("anything", include, exclude) == expected


def test_the_worked_example_of_s1():
    assert names("O que é o vectorizer", ["vectorizer*", "*-docs"], ["*-test", "*-backup"]) == [
        "vectorizer-docs",
        "vectorizer-source",
        "vectorizer-sdk-python",
        "cmmv-docs",
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is cmmv", ["cmmv-docs"]),
        ("what is the Vectorizer?", ["vectorizer-docs", "vectorizer-source", "vectorizer-sdk-python"]),
        ("python bindings", ["vectorizer-sdk-python"]),
        # A kind is an ordinary word in a question; alone, it names collections.
        ("where is the vectorizer test", ["vectorizer-docs", "vectorizer-source", "vectorizer-sdk-python"]),
        ("the docs", ["vectorizer-docs", "cmmv-docs"]),
    ],
)
def test_without_include_the_question_may_name_collections(query, expected):
    assert names(query) == expected


@pytest.mark.parametrize("query", ["how does routing work", "", "o que é", "de source of it all"])
def test_a_question_that_names_no_collection_searches_all_but_the_excluded(query):
    config = FilterConfig(default_exclude=("*-test", "*-backup", "*source", "*docs", "test-*"))
    assert names(query, config=config) == ["vectorizer-sdk-python"]


def test_a_word_names_a_collection_only_as_a_whole_and_where_it_holds_something():
    large, fixture = collection("pino-docs", vector_count=900), collection("transport-tests", vector_count=3)

    def chosen(query):
        return [ref.name for ref in filter_collections(query, (), (), [large, fixture])]

    assert chosen("how does a transport log to a file") == ["pino-docs", "transport-tests"]
    assert chosen("what is pino") == ["pino-docs"]
    assert chosen("pinot noir") == ["pino-docs", "transport-tests"]


def test_default_include_stands_in_for_a_missing_include():
    config = FilterConfig(default_include=("*-sdk-*",))
    assert names("cmmv", config=config) == ["vectorizer-sdk-python"]
    assert names("cmmv", ["cmmv*"], config=config) == ["cmmv-docs"]


def test_no_default_exclude_keeps_everything():
    assert names("", config=FilterConfig(default_exclude=())) == list(NAMES)


def test_no_collections_give_none():
    assert filter_collections("what is cairn", ["*"], [], []) == []
