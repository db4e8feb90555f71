"""Builds FTS5 expressions."""

from __future__ import annotations

from collections.abc import Iterable


def quoted_word(text: str) -> str:
    """Return the text as an FTS5 string, in which nothing is syntax."""
    escaped = text.replace('"', '""').replace("\0", "")
    return f'"{escaped}"'


def any_of(words: Iterable[str]) -> str:
    return " OR ".join(map(quoted_word, words))
