"""The memory for contexts keeps the latest queries, and token counts by text and tokenizer."""

from __future__ import annotations

from cairn.engine.context_memory import ContextMemory, QueryHistory
from cairn.operations.answer_cache import AnswerCache

LONG = "a passage of some length " * 20


def after(*queries: str) -> tuple[str, ...]:
    recent = QueryHistory()
    for query in queries:
        recent.note(query)
    return recent.latest()


def test_the_last_five_queries_are_kept_latest_first() -> None:
    assert after("one", "two", "three", "four", "five", "six") == ("six", "five", "four", "three", "two")


def test_typing_letter_by_letter_makes_one_query() -> None:
    assert after("tides", "w", "wh", "where", "where are  ships") == ("where are ships", "tides")
    assert after("where are ships", "where are") == ("where are",)


def test_a_repeated_query_moves_to_the_front() -> None:
    assert after("berths", "tides", "Berths") == ("Berths", "tides")


def test_blank_queries_are_ignored() -> None:
    assert after("", "  ", "\n") == ()


def test_a_text_is_counted_once() -> None:
    texts: list[str] = []

    def count(text: str) -> int:
        texts.append(text)
        return len(text.split())

    counting = ContextMemory().counting
    assert [counting("m1", count)(text) for text in (LONG, "short", LONG, "short")] == [100, 1, 100, 1]
    assert texts == [LONG, "short"]
    assert counting("m2", lambda _: 7)(LONG) == 7


def test_the_least_recently_used_count_is_evicted() -> None:
    texts: list[str] = []
    counted = ContextMemory(counts=AnswerCache(2)).counting("m", lambda text: texts.append(text) or 1)
    for text in ("a", "b", "a", "c", "a", "b"):
        counted(text)
    assert texts == ["a", "b", "c", "b"]
