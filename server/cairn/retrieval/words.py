"""Words as ranking compares them: split, lower-cased, stemmed."""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

from cairn.chunking.identifiers import identifier_words

_WORD = re.compile(r"[^\W_](?:\w*[^\W_])?")
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The Snowball stem of a lower-case word."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=100_000)
def stems(identifier: str) -> tuple[str, ...]:
    """The stems of an identifier's words: `addUrlRules` → add, url, rule."""
    return tuple(stem(word) for word in identifier_words(identifier))


def text_stems(text: str) -> set[str]:
    """The stems of all words of a text, those inside identifiers included."""
    found: set[str] = set()
    for word in set(_WORD.findall(text)):
        found.update(stems(word))
        found.add(stem(word.lower()))
    return found
