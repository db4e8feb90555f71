from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.embedding.packaged import load_packaged
from cairn.embedding.word_pieces import words_of
from cairn.retrieval import known_runs as module
from cairn.retrieval.known_runs import KnownRuns, known_runs, word_key
from cairn.text.unspaced import spread

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["def moorShip(berth_2):", "HTTPServer URLs", "", "Größe des Ankers"]), st.text()
    )
)


@given(TEXTS)
def test_keys_of_texts_are_those_of_their_words(texts: list[str]) -> None:
    runs = KnownRuns(None)
    keys, counts = runs.keys.of(list(map(runs.numbers, texts)))
    expected = [[word_key(word) for word in words_of(spread(text))] for text in texts]
    assert counts.tolist() == list(map(len, expected))
    assert keys.tolist() == [key for of_text in expected for key in of_text]


@pytest.mark.parametrize("most", [1, 4, 100])
def test_tokens_of_each_text_end_at_the_limit(most: int) -> None:
    runs = known_runs(load_packaged())
    texts = ["moor the ship at a berth", "", "berth", "the tide turns " * 30]
    every, counts = runs.pieces.of(list(map(runs.numbers, texts)))
    few, kept = runs.pieces.of(list(map(runs.numbers, texts)), most)
    assert kept.tolist() == np.minimum(counts, most).tolist()
    of_text = np.split(every, np.cumsum(counts)[:-1])
    assert few.tolist() == [number for each in of_text for number in each[:most].tolist()]


def test_too_many_runs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_RUNS", 3)
    first = known_runs(None)
    first.numbers("a b c d")
    assert known_runs(None) is not first
    assert known_runs(None) is known_runs(None)


def test_threads_agree_on_the_runs() -> None:
    runs = KnownRuns(None)
    texts = [
        " ".join(f"word{number % 97}x{number % 89}" for number in range(start, start + 500))
        for start in range(20)
    ]
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(runs.numbers, texts * 5))
    assert numbers[:20] == numbers[20:40] == list(map(runs.numbers, texts))
    keys, _ = runs.keys.of(numbers[:1])
    assert keys.tolist() == [word_key(word) for word in words_of(texts[0])]
