"""Counts are remembered by text and tokenizer."""

from __future__ import annotations

from cairn.context.counting import TokenCounts

LONG = "a passage of some length " * 20


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    counts = TokenCounts()
    assert [counts.by("m1", count)(text) for text in (LONG, "short", LONG, "short")] == [100, 1, 100, 1]
    assert asked == [LONG, "short"]
    assert counts.by("m2", lambda _: 7)(LONG) == 7


def test_the_count_used_longest_ago_is_forgotten() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    counted = TokenCounts(most=2).by("m", count)
    for text in ("a", "b", "a", "c", "a", "b"):
        counted(text)
    assert asked == ["a", "b", "c", "b"]
