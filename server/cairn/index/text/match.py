"""Writes FTS5 expressions."""

from __future__ import annotations

from collections.abc import Iterable


def quoted_word(text: str) -> str:
    """As an FTS5 string: whatever stands in it is text, never syntax."""
    escaped = text.replace('"', '""').replace("\0", "")
    return f'"{escaped}"'


def any_of(words: Iterable[str]) -> str:
    """What matches any of the words or phrases."""
    return " OR ".join(map(quoted_word, words))
