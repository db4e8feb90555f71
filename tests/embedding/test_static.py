"""The static table gives each text its vector."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.embedding.conftest import ANY_TEXT, run_python

from cairn.embedding.static import BODY_TOKENS, StaticTable, entry_type, unit_int8
from cairn.embedding.word_pieces import WordPieces, words_of

WORDS = ["red", "green", "blue"]


@pytest.fixture
def colours() -> StaticTable:
    """Three words, each in its own direction; in a query, red weighs three times as much."""
    entries = np.zeros(len(WORDS), entry_type(3))
    entries["vector"] = 100 * np.eye(3)
    entries["scale"] = 0.01
    entries["query_scale"] = [0.03, 0.01, 0.01]
    return StaticTable("colours", entries, WordPieces(WORDS))


def test_vector_is_the_normalised_sum_of_token_vectors(colours: StaticTable) -> None:
    vectors = colours.embed(["red", "red green", "blue green blue"], 64)
    expected = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 2]]) / np.sqrt([[1], [2], [5]])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_query_tokens_have_their_own_weights(colours: StaticTable) -> None:
    (vector,) = colours.embed_queries(["red green"])
    np.testing.assert_allclose(vector, np.array([3, 1, 0]) / np.sqrt(10), atol=1e-6)
    np.testing.assert_array_equal(colours.embed_queries_int8(["red green"])[0], np.rint(vector * 127))


def test_body_tokens_count_a_fifth(colours: StaticTable) -> None:
    texts, bodies = ["red", "", "blue", ""], ["green green", "green", "", ""]
    vectors = colours.embed(texts, 64, bodies)
    expected = np.array([[1, 0.4, 0], [0, 1, 0], [0, 0, 1]]) / np.sqrt([[1.16], [1], [1]])
    np.testing.assert_allclose(vectors[:3], expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors[3]), 1, atol=1e-6)


def test_only_the_first_tokens_of_a_body_count(colours: StaticTable) -> None:
    body = "blue " * BODY_TOKENS
    most, more = colours.embed(["red"] * 2, 1, [body, body + "green " * 500])
    np.testing.assert_array_equal(most, more)
    assert colours.embed(["red"], 1, ["blue " * (BODY_TOKENS - 1) + "green"])[0, 1] > 0


def test_similar_meanings_are_closer(static_table: StaticTable) -> None:
    query = static_table.embed_queries(["how are cookies signed"])[0]
    texts = ["sessions stored in a signed cookie", "resize the window", "parse a date"]
    similarities = static_table.embed(texts, 64) @ query
    assert similarities[0] > max(similarities[1:]) + 0.2


def test_only_the_first_tokens_count(colours: StaticTable) -> None:
    red, both = colours.embed(["red red", "red red green"], 2)
    np.testing.assert_array_equal(red, both)
    assert colours.embed(["red red green"], 3)[0] @ red < 0.99


def test_vectors_do_not_depend_on_the_other_texts(static_table: StaticTable) -> None:
    # More texts than a batch, with texts without tokens at its start, in the middle and at its end.
    texts = ["", *(f"word {number} of many" for number in range(200)), "", "", "last", ""]
    together = static_table.embed(texts, 64)
    alone = np.concatenate([static_table.embed([text], 64) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert len({row.tobytes() for row in together[1:201]}) == 200


@settings(max_examples=60)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_any_texts_have_contiguous_unit_rows(static_table: StaticTable, texts: list[str]) -> None:
    vectors = static_table.embed(texts, 32)
    assert vectors.shape == (len(texts), static_table.dimension)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_int8_rows_have_the_same_angles(static_table: StaticTable) -> None:
    texts = ["open a file", "close the file", "window", "", "a"]
    rows = static_table.embed_int8(texts, 64)
    assert rows.dtype == np.int8
    exact = static_table.embed(texts, 64)
    scaled = rows / np.linalg.norm(rows.astype(np.float32), axis=1, keepdims=True)
    np.testing.assert_allclose(scaled @ scaled.T, exact @ exact.T, atol=0.02)
    assert np.abs(rows - exact * 127).max() < 0.501


def test_threads_do_not_disturb_each_other(static_table: StaticTable) -> None:
    texts = [f"text {number} about files" for number in range(300)]
    expected = static_table.embed(texts, 64)
    with ThreadPoolExecutor(3) as pool:
        results = pool.map(lambda _: static_table.embed(texts, 64), range(9))
        assert all(np.array_equal(vectors, expected) for vectors in results)


def test_table_needs_neither_model_libraries_nor_threads() -> None:
    code = (
        "import sys, time\n"
        "from cairn.embedding.packaged import FOLDER, load_packaged\n"
        "words = (FOLDER / 'vocabulary.txt').read_text('utf-8').split()\n"
        "texts = [' '.join(words[at : at + 60]) for at in range(0, 30_000, 10)]\n"
        "table = load_packaged()\n"
        "before = time.process_time() - time.thread_time()\n"
        "table.embed(texts, 64, texts)\n"
        "print(int((time.process_time() - time.thread_time() - before) / 0.1))\n"
        "print(sorted({'onnxruntime', 'tokenizers'} & set(sys.modules)))\n"
    )
    assert run_python(code).split() == ["0", "[]"]


def pieces_of(table: StaticTable, text: str) -> NDArray[np.int64]:
    return np.array(table.pieces(words_of(text)), np.int64)


def test_pieces_of_a_text_make_the_vector_of_the_text(static_table: StaticTable) -> None:
    texts = ["where a ship is moored", "def moor_ship(harbour): return None", "", "…"]
    pieces = [pieces_of(static_table, text) for text in texts]
    sums = static_table.sum_pieces(np.concatenate(pieces), np.array(list(map(len, pieces))))
    assert np.array_equal(unit_int8(sums), static_table.embed_int8(texts, 64))
    nothing = np.empty(0, np.int64)
    assert static_table.sum_pieces(nothing, nothing).shape == (0, static_table.dimension)


def test_nearest_token_counts_among_many_others(static_table: StaticTable) -> None:
    texts = ["moor the ship", "ledger entry column " * 20 + " moor the ship", "ledger entry column", ""]
    pieces = [pieces_of(static_table, text) for text in texts]
    near = static_table.nearness("moor a ship", pieces)
    assert near[0] == pytest.approx(near[1], abs=0.1)
    assert near[1] > near[2] + 0.2
    assert near[3] == 0
    assert near.max() <= 1.001


def test_nearness_does_not_depend_on_other_texts(static_table: StaticTable) -> None:
    texts = ("tide table", "", "crane hoist", "moor ship")
    pieces = [pieces_of(static_table, text) for text in texts]
    every = static_table.nearness("which crane lifts a ship", pieces)
    alone = [float(static_table.nearness("which crane lifts a ship", [each])[0]) for each in pieces]
    assert every == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize(("question", "texts"), [("", [[1]]), ("…", [[1]]), ("ship", []), ("ship", [[], []])])
def test_nearness_without_tokens_is_zero(
    static_table: StaticTable, question: str, texts: list[list[int]]
) -> None:
    pieces = [np.array(text, np.int64) for text in texts]
    assert static_table.nearness(question, pieces).tolist() == [0.0] * len(texts)
