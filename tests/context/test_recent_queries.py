"""The questions asked last, without every keystroke of them."""

from __future__ import annotations

from cairn.context.recent import RecentQueries


def after(*queries: str) -> tuple[str, ...]:
    recent = RecentQueries()
    for query in queries:
        recent.note(query)
    return recent.latest()


def test_the_last_five_are_kept_the_latest_first() -> None:
    assert after("one", "two", "three", "four", "five", "six") == ("six", "five", "four", "three", "two")


def test_what_is_typed_letter_by_letter_is_one_question() -> None:
    assert after("tides", "w", "wh", "where", "where are  ships") == ("where are ships", "tides")
    assert after("where are ships", "where are") == ("where are",)


def test_a_question_asked_again_moves_to_the_front() -> None:
    assert after("berths", "tides", "Berths") == ("Berths", "tides")


def test_nothing_is_no_question() -> None:
    assert after("", "  ", "\n") == ()
