"""What one engine keeps for the next context: the questions asked last, and counts by text and tokenizer."""

from __future__ import annotations

from cairn.engine.context_memory import ContextMemory, QueryHistory
from cairn.operations.answer_cache import AnswerCache

LONG = "a passage of some length " * 20


def after(*queries: str) -> tuple[str, ...]:
    recent = QueryHistory()
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


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    counting = ContextMemory().counting
    assert [counting("m1", count)(text) for text in (LONG, "short", LONG, "short")] == [100, 1, 100, 1]
    assert asked == [LONG, "short"]
    assert counting("m2", lambda _: 7)(LONG) == 7


def test_the_count_used_longest_ago_is_forgotten() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    counted = ContextMemory(counts=AnswerCache(2)).counting("m", count)
    for text in ("a", "b", "a", "c", "a", "b"):
        counted(text)
    assert asked == ["a", "b", "c", "b"]
