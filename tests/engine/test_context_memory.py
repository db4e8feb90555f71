"""The memory for contexts keeps the latest queries."""

from __future__ import annotations

from cairn.engine.context_memory import QueryHistory


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
