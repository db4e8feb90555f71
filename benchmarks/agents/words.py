"""Turns the words of a question into patterns for grep: names first, without inflections."""

from __future__ import annotations

import re
from itertools import takewhile

from attrs import frozen

from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

_QUOTED = re.compile(r"[\"'`“]([^\"'`”]{3,60})[\"'`”]")
_WORD = re.compile(r"[^\W\d_]\w*(?:[-:.]{1,2}\w+)*|\d+(?:\.\d+)*")
_SHORTEST = 3


@frozen
class Term:
    """A string to search for, in any case, also inside words."""

    pattern: str
    """A fixed string."""
    is_name: bool
    """Whether it is an identifier or quoted, not a word of a sentence."""


def terms_of(question: str) -> list[Term]:
    """Return the content words of a question in its order, each once, with the parts of compound words."""
    found: dict[str, bool] = {}
    quoted = {part for text in _QUOTED.findall(question) for part in _WORD.findall(text)}
    for word in _WORD.findall(question):
        name = _is_identifier(word) or (word in quoted and len(quoted) <= 3)
        parts = [word] if name else [word, *re.split(r"[-:.]+", word)]
        for part in dict.fromkeys(parts):
            lower = part.lower()
            if len(lower) < _SHORTEST or lower in STOPWORDS or lower in LIGHT_WORDS:
                continue
            pattern = lower if name else _without_inflection(lower)
            if len(pattern) >= _SHORTEST:
                found[pattern] = found.get(pattern, False) or name
    return [Term(pattern, name) for pattern, name in found.items()]


def _is_identifier(word: str) -> bool:
    """Return whether a word has an underscore, an inner capital, an inner digit, or `::`."""
    return "_" in word or "::" in word or bool(re.search(r"[a-z][A-Z]|[A-Z]{2}\w*[a-z]|[A-Za-z]\d", word))


def _without_inflection(word: str) -> str:
    """Return the common prefix of a word and its stem, which matches other forms of the word as well."""
    common = takewhile(lambda pair: pair[0] == pair[1], zip(word, stem(word), strict=False))
    return "".join(letter for letter, _ in common) if word.isascii() else word
