"""The cache keeps the latest answers within its bounds, and the history the latest queries."""

from __future__ import annotations

import threading

import pytest

from cairn.engine.answer_cache import AnswerCache
from cairn.engine.caller import QueryHistory


def test_only_the_same_key_finds_the_answer() -> None:
    cache: AnswerCache[str] = AnswerCache()
    assert cache.get(("q", 1)) is None
    cache.put(("q", 1), "answer", 6)
    assert cache.get(("q", 1)) == "answer"
    assert cache.get(("q", 1), lambda _: False) is None
    assert (cache.hits, cache.misses) == (1, 2)


def test_the_least_recently_used_answer_is_evicted() -> None:
    cache: AnswerCache[str] = AnswerCache(most_characters=100, fewest_characters=50)
    cache.put("a", "A", 1)
    cache.put("b", "B", 1)
    assert cache.get("a") == "A"
    cache.put("c", "C", 1)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")


def test_all_answers_together_stay_within_the_size() -> None:
    cache: AnswerCache[str] = AnswerCache(most_characters=100, fewest_characters=1)
    cache.put("a", "A", 60)
    cache.put("a", "A again", 50)  # replaces the first
    cache.put("b", "B", 50)
    assert (cache.get("a"), cache.get("b")) == ("A again", "B")
    cache.put("c", "C", 10)
    assert (cache.get("a"), cache.get("c")) == (None, "C")
    cache.put("d", "too large for all of it", 101)
    assert (cache.get("b"), cache.get("d")) == ("B", None)
    cache.clear()
    cache.put("e", "E", 100)
    assert (cache.get("b"), cache.get("e")) == (None, "E")


def test_the_latest_of_similar_answers_is_found() -> None:
    cache: AnswerCache[str] = AnswerCache()
    for number in range(3):
        cache.put(("q", number), f"answer {number}", 6)
    assert cache.latest(lambda key: key[0] == "q") == "answer 2"
    assert cache.latest(lambda key: key[0] == "x") is None


def test_threads_may_share_the_cache() -> None:
    cache: AnswerCache[int] = AnswerCache(most_characters=50, fewest_characters=5)

    def use(seed: int) -> None:
        for step in range(2_000):
            key = (seed * step) % 17
            assert cache.get(key) in (None, key)
            cache.put(key, key, key)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.hits + cache.misses == 8_000


@pytest.mark.parametrize(
    ("queries", "latest"),
    [
        ("one two three four five six", "six five four three two"),  # the last five
        ("tides w wh where where-are", "where-are tides"),  # typed letter by letter
        ("where-are-ships where-are", "where-are"),
        ("berths tides Berths", "Berths tides"),
        ("", ""),
    ],
)
def test_history_has_the_last_different_queries(queries: str, latest: str) -> None:
    history = QueryHistory()
    for query in ("  ", *queries.split(" ")):
        history.note(query.replace("-", "  "))
    assert " ".join(query.replace(" ", "-") for query in history.latest()) == latest
