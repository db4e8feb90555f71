"""Words become whole pieces of the vocabulary where possible, and split as keywords do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.embedding.word_pieces import WordPieces, words_of
from cairn.text.identifiers import identifier_words

PIECES = ["server", "http", "un", "##load", "##er", "##loader", "load", "é", "##é", "2", "straße"]


def pieces_of(text: str, limit: int = 100) -> list[str]:
    return [PIECES[number] for number in WordPieces(PIECES).ids(text, limit)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("server", ["server"]),
        ("parse HTTPServer2", ["http", "server", "2"]),
        ("http_server.load(x)", ["http", "server", "load"]),
        ("unload", ["un", "##load"]),
        ("unloader", ["un", "##loader"]),
        ("unloading", ["un", "##load"]),
        ("zzload", ["##load"]),
        ("loadé", ["load", "##é"]),
        ("Straße — É", ["straße", "é"]),
        ("qqq", []),
    ],
)
def test_word_is_itself_or_its_longest_pieces_from_the_left(text: str, pieces: list[str]) -> None:
    assert pieces_of(text) == pieces


def test_ids_end_at_the_limit_and_unknown_words_do_not_count() -> None:
    assert pieces_of("server http server", 2) == ["server", "http"]
    assert pieces_of("unload", 1) == ["un"]
    assert pieces_of("qqq www server http", 2) == ["server", "http"]


def test_long_words_and_long_texts_are_cut() -> None:
    assert len(pieces_of("un" + "load" * 1000)) == 1 + (40 - 2) // 4
    vocabulary = WordPieces(PIECES)
    assert vocabulary.ids("q " * 10_000 + "server", 5) == []


def test_cached_words_are_bounded() -> None:
    vocabulary = WordPieces(PIECES, most_remembered=3)
    texts = [f"unload{letter}" for letter in "abcdefghij"]
    assert [vocabulary.ids(text, 10) for text in texts * 2] == [[2, 3]] * 20
    vocabulary.ids("un" + "load" * 1000, 10)
    assert vocabulary._pieces_of.cache_info().currsize <= 3


def test_threads_get_the_same_answers() -> None:
    texts = [f"un{'load' * (number % 7)}er HTTPServer{number}" for number in range(300)]
    expected = [WordPieces(PIECES).ids(text, 20) for text in texts]
    vocabulary = WordPieces(PIECES, most_remembered=5)
    with ThreadPoolExecutor(3) as pool:
        results = pool.map(lambda _: [vocabulary.ids(text, 20) for text in texts], range(9))
        assert all(ids == expected for ids in results)


def test_words_beside_non_ascii_letters_are_split_alike() -> None:
    ascii_words = identifier_words("the URLs of parseHTTPServer2")
    assert words_of("the URLs of parseHTTPServer2 — naïve") == [*ascii_words, "naïve"]
    assert words_of("日本語 URLs") == ["日本語", *identifier_words("URLs")]


@given(st.text(st.characters() | st.sampled_from("unload_ serHTTP")), st.integers(1, 20))
def test_any_text_has_known_ids_up_to_the_limit(text: str, limit: int) -> None:
    ids = WordPieces(PIECES).ids(text, limit)
    assert len(ids) <= limit
    assert all(0 <= number < len(PIECES) for number in ids)


@given(st.text(st.characters(max_codepoint=127)), st.integers(1, 20))
def test_ids_of_a_text_are_those_of_its_words(text: str, limit: int) -> None:
    pieces = WordPieces(PIECES)
    assert pieces.ids(text, limit) == pieces.ids_of_words(words_of(text[: limit * 16]))[:limit]
