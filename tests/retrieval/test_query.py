"""How a question is understood."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.index.schema import SCHEMA
from cairn.retrieval.query import MAX_QUERY_CHARS, MAX_TERMS, QueryType, understand


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("how does routing work", ("routing",)),
        ("Where are the SHIPS assigned to berths?", ("ships", "assigned", "berths")),
        ("add_url_rule", ("add", "url", "rule")),
        ("what calls HTTPServer.handleRequest", ("calls", "http", "server", "handle", "request")),
        ("O que é o vectorizer", ("vectorizer",)),
        ("flask's session", ("flask", "session")),
        ("the thing", ()),
        ("how do I do it", ()),
        ("with", ("with",)),
        ("", ()),
    ],
)
def test_content_words_are_kept_and_identifiers_split(text: str, terms: tuple[str, ...]) -> None:
    assert understand(text).terms == terms


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("JSONProvider", QueryType.SYMBOL),
        ("flask.sessions.open_session", QueryType.SYMBOL),
        ("fix the login timeout", QueryType.BUG_FIX),
        ("why does it raise an error on start", QueryType.BUG_FIX),
        ("add a retry to the client", QueryType.IMPLEMENTATION),
        ("how does routing work", QueryType.EXPLANATION),
        ("o que é um blueprint", QueryType.EXPLANATION),
        ("make parsing faster", QueryType.OPTIMISATION),
        ("where are cookies signed", QueryType.LOCATION),
        ("session cookie", QueryType.LOCATION),
    ],
)
def test_the_type_of_a_question(text: str, kind: QueryType) -> None:
    assert understand(text).type is kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("flask.Flask.route", ("route",)),
        ("Router::add_route()", ("add_route",)),
        ("open_session", ("open_session",)),
        ("where is open_session called", ("open_session",)),
        ("where are routes added", ()),
    ],
)
def test_names_to_look_up_as_definitions(text: str, names: tuple[str, ...]) -> None:
    assert understand(text).names == names


def test_adjacent_words_are_also_searched_as_one() -> None:
    match = understand("thread pool size").match()
    assert {'"threadpool"', '"thread_pool"', '"poolsize"'} <= set(match.split(" OR "))


def test_a_pasted_page_is_cut_and_says_so() -> None:
    query = understand("needle " + "w0rd " * 50_000)
    assert len(query.text) == MAX_QUERY_CHARS
    assert len(query.terms) <= MAX_TERMS
    assert "only the first" in query.corrections[0]


@given(st.text(max_size=80))
def test_any_text_makes_an_expression_that_the_index_accepts(text: str) -> None:
    match = understand(text).match()
    database = apsw.Connection(":memory:")
    database.execute(SCHEMA)
    if match:
        list(
            database.execute(
                "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?",
                (match.encode("utf-8", "replace").decode(),),
            )
        )
        list(
            database.execute(
                "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (f"{{symbol_words}} : ({match})",)
            )
        )
