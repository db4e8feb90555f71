"""The cache keeps the latest answers within its bounds."""

from __future__ import annotations

import threading

from cairn.operations.answer_cache import AnswerCache


def test_only_the_same_key_finds_the_answer() -> None:
    cache: AnswerCache[str] = AnswerCache()
    assert cache.get(("q", 1)) is None
    cache.put(("q", 1), "answer", 6)
    assert cache.get(("q", 1)) == "answer"
    assert cache.get(("q", 2)) is None
    assert (cache.hits, cache.misses) == (1, 2)


def test_the_least_recently_used_answer_is_evicted() -> None:
    cache: AnswerCache[str] = AnswerCache(most_answers=2)
    cache.put("a", "A", 1)
    cache.put("b", "B", 1)
    assert cache.get("a") == "A"
    cache.put("c", "C", 1)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")


def test_all_answers_together_stay_within_the_size() -> None:
    cache: AnswerCache[str] = AnswerCache(most_characters=100)
    cache.put("a", "A", 60)
    cache.put("a", "A again", 50)  # replaces the first
    cache.put("b", "B", 50)
    assert (cache.get("a"), cache.get("b")) == ("A again", "B")
    cache.put("c", "C", 10)
    assert (cache.get("a"), cache.get("c")) == (None, "C")
    cache.put("d", "too large for all of it", 101)
    assert (cache.get("b"), cache.get("d")) == ("B", None)


def test_clearing_makes_room() -> None:
    cache: AnswerCache[str] = AnswerCache(most_characters=100)
    cache.put("a", "A", 100)
    cache.clear()
    cache.put("b", "B", 100)
    assert (cache.get("a"), cache.get("b")) == (None, "B")


def test_threads_may_share_the_cache() -> None:
    cache: AnswerCache[int] = AnswerCache(most_answers=10, most_characters=50)

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
