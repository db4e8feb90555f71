"""The words that go into the keyword columns beside the text itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from cairn.text.identifiers import identifier_words

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_COMPOUND = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]")


@lru_cache(maxsize=10_000)
def split_words(name: str) -> tuple[str, ...]:
    """The names in a path or title, whole and split: `src/httpServer.py` → src, httpServer, http, server, py."""
    words: list[str] = []
    for identifier in _IDENTIFIER.findall(name):
        parts = identifier_words(identifier)
        words.append(identifier)
        if len(parts) > 1:
            words.extend(parts)
    return tuple(words)


@lru_cache(maxsize=20_000)
def _parts(identifier: str) -> str:
    return " ".join(identifier_words(identifier)) if _COMPOUND.search(identifier) else ""


def compound_parts(text: str) -> Iterable[str]:
    """The parts of each compound identifier, each time it occurs; simple words stand in the text itself."""
    return filter(None, map(_parts, _IDENTIFIER.findall(text)))
