"""Queries are understood: terms, types, names and spellings."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.index.queries.known_words import KnownWord
from cairn.index.reader.records import KeywordCounts
from cairn.index.store.schema import SCHEMA
from cairn.retrieval.keyword_plan import plan_keywords
from cairn.retrieval.query import MAX_QUERY_CHARS, MAX_TERMS, understand
from cairn.retrieval.question_kinds import QueryType
from cairn.settings.tree import SearchSettings


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
def test_terms_are_content_words_and_parts_of_identifiers(text: str, terms: tuple[str, ...]) -> None:
    assert understand(text).terms == terms


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("s3 bucket", (("s3",), ("bucket",))),
        ("http2 server", (("http2", "http"), ("server",))),
        ("2fa for x86", (("2fa",), ("x86",))),
        ("OAuth2Form login", (("auth",), ("form",), ("login",))),
    ],
)
def test_a_word_with_a_number_is_one_word(text: str, groups: tuple[tuple[str, ...], ...]) -> None:
    assert understand(text).groups == groups


TYPES = {
    QueryType.SYMBOL: ("JSONProvider", "flask.sessions.open_session", "render()", "Foo#bar", "empty?", "add-url-rule"),  # noqa: E501
    QueryType.BUG_FIX: ("fix the login timeout", "why does it raise an error on start", "login doesn't work",
                        "NullPointerException: name", "corrigir o tempo limite"),
    QueryType.IMPLEMENTATION: ("add a retry to the client", "criar uma rota"),
    QueryType.EXPLANATION: ("how does routing work", "o que é um blueprint", "explique as rotas"),
    QueryType.OPTIMISATION: ("make parsing faster", "otimizar consultas"),
    QueryType.LOCATION: ("where are cookies signed", "session cookie", "foo(bar)", "get_user set_user",
                         "where is the slow path", "onde a sessão é criada"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TYPES.items() for text in texts])
def test_wording_decides_the_type(kind: QueryType, text: str) -> None:
    assert understand(text).type is kind


def test_meaning_counts_less_for_a_name_by_default() -> None:
    name, sentence = understand("open_session"), understand("where are sessions opened")
    assert 0 < name.alpha < sentence.alpha == 0.5
    assert understand("open_session", alpha=0.7).alpha == 0.7


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("flask.Flask.route", ("route",)),
        ("Router::add_route()", ("add_route",)),
        ("open_session", ("open_session",)),
        ("where is open_session called", ("open_session",)),
        ("where are routes added", ()),
        ("Foo::bar", ("bar",)),
        ("foo.bar()", ("bar",)),
        ("Foo#bar", ("bar",)),
        ("pkg/foo.Bar", ("Bar",)),
        ("empty?", ("empty",)),
        ("Vec<T>", ("Vec",)),
    ],
)
def test_definitions_are_looked_up_by_name(text: str, names: tuple[str, ...]) -> None:
    assert understand(text).names == names


SPELLINGS = ("addUrlRule", "add_url_rule", "add-url-rule", "AddURLRule", "add url rule", "addURLRule()")


@pytest.mark.parametrize("typed", SPELLINGS)
@pytest.mark.parametrize(
    "defined", ["add_url_rule", "addUrlRule", "AddURLRule", "addurlrule", "add-url-rule"]
)
def test_a_name_is_looked_up_in_any_convention(typed: str, defined: str) -> None:
    query = understand(typed)
    looked_up = {name.lower() for name in (*query.names, *query.respelled)}
    assert defined.lower() in looked_up
    assert {"add", "url", "rule"} <= set(query.terms)


@pytest.mark.parametrize(
    ("text", "respelled"),
    [
        ("OAuth2Form", ("oauth2_form", "oauth2-form")),
        ("background tasks", ("background_tasks", "backgroundtasks", "background-tasks")),
        ("where are background tasks", ()),  # a sentence
        ("one two three four five", ()),
        ("E0308", ()),
    ],
)
def test_names_have_other_spellings(text: str, respelled: tuple[str, ...]) -> None:
    assert understand(text).respelled == respelled


def test_adjacent_words_are_also_searched_as_one() -> None:
    query = understand("thread pool size")
    assert {"threadpool", "thread_pool", "poolsize"} <= set(query.spellings)


def test_a_pasted_page_is_cut_with_a_note() -> None:
    query = understand("needle " + "w0rd " * 50_000)
    assert len(query.text) == MAX_QUERY_CHARS
    assert len(query.terms) <= MAX_TERMS
    assert "only the first" in query.corrections[0]


class AllUnknown:
    """A vocabulary that knows no word and suggests a hostile one."""

    readers = ()

    def unknown(self, words: Sequence[str]) -> Collection[str]:
        return words

    def begun_by(self, prefix: str) -> Sequence[str]:
        return [f"{prefix}e", f'{prefix}"']

    def near(self, word: str, errors: int) -> Sequence[KnownWord]:
        return [KnownWord(word[:-1] + 'e"', 3, named=True)]


PIECES = st.sampled_from(
    [
        "a.py:9", "x/", "*.go", "E0308", "HTTP 404", "=>", "`", "'", '"', "at f (a.js:1:2)", "\n", "função", "fn(",  # noqa: E501
        'File "x.py", line 3, in f', "log in", "\\", ":999999999999", "wrkspace", "[", "{", "OR", "NEAR(", "^", "-",  # noqa: E501
    ]
)  # fmt: skip
HOSTILE = st.one_of(
    st.text(max_size=80), st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=12).map(" ".join)
)


@pytest.fixture(scope="module")
def database() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    return connection


@given(text=HOSTILE)
def test_any_text_becomes_a_valid_expression(database: apsw.Connection, text: str) -> None:
    settings = SearchSettings(
        synonyms={"log in": 'sign "in', "x": "(", "f": ""}, core_concepts=("wrkspaces",)
    )
    query = understand(text, None, AllUnknown(), settings)
    if match := plan_keywords(query, lambda _: KeywordCounts(), 1).match:
        for expression in (match, f"{{symbol_words}} : ({match})"):
            sendable = expression.encode("utf-8", "replace").decode()
            list(database.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (sendable,)))
    assert set(query.alternatives) <= set(query.terms)
    assert isinstance(hash(query), int)


@pytest.mark.parametrize(
    "piece", ["(", "a(", "a.", "/", "a/", "`", "'a", "at ", "a:1 ", "<a", "{", "E_A", "--", "a-"]
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    text = piece * (MAX_QUERY_CHARS // len(piece))
    started = time.thread_time()
    understand(text)
    assert time.thread_time() - started < 2
