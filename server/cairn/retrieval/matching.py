"""Find the terms of a query in a text: in any inflection, inside identifiers, or as an alternative."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from attrs import field, frozen

from cairn.text.words import stem, stems

_WORD = re.compile(r"\w+")
_SHORT_STEM = 3
"""Letters of a stem of which words need only share the first two; of a longer one, all but the last."""
_CACHED_TEXTS = 200
"""Cached texts: each result is matched for its shown terms and for the verdict."""


@frozen(eq=False)
class TermMatcher:
    """The terms of a query with their alternatives (`Query.groups`), prepared for matching. `matcher` returns
    the same object for the same query, so results are cached by object. Words of a text are stemmed only if
    they contain the beginning of a term's stem: for ten results this takes 0.5 ms."""

    terms: tuple[tuple[tuple[str, ...], ...], ...]
    """The alternatives of each term, each as the stems of its words."""
    _beginnings: tuple[str, ...] = field(init=False, repr=False)
    """Lower-case text that every word with one of the stems contains."""

    @_beginnings.default
    def _sorted_beginnings(self) -> tuple[str, ...]:
        wanted = {part for alternatives in self.terms for words in alternatives for part in words}
        return tuple(sorted(map(_beginning, wanted)))

    def terms_in(self, text: str) -> frozenset[int]:
        """Return the places of the terms in the text; a phrase must occur word by word."""
        return _matches(self, text)

    def is_phrase_of(self, text: str) -> bool:
        """Return whether the terms, or an alternative of each, are adjacent and in order in `text`."""
        spoken = tuple(_sequence(text))
        return any(self._starts(spoken[place:]) for place in range(len(spoken)))

    def words_beside(self, text: str) -> int:
        wanted = {part for alternatives in self.terms for words in alternatives for part in words}
        return len({part for part in _sequence(text) if part not in wanted})

    def _starts(self, spoken: tuple[str, ...], first: int = 0) -> bool:
        if first == len(self.terms):
            return bool(self.terms)
        return any(
            words and spoken[: len(words)] == words and self._starts(spoken[len(words) :], first + 1)
            for words in self.terms[first]
        )


@lru_cache(maxsize=_CACHED_TEXTS)
def _matches(wanted: TermMatcher, text: str) -> frozenset[int]:
    lowered = text.lower()
    beginnings = [each for each in wanted._beginnings if each in lowered]
    if not beginnings:
        return frozenset()
    words = list(set(_WORD.findall(text)))
    lowered_words = "\n".join(words).lower().split("\n")
    found: set[str] = set()
    for beginning in beginnings:
        for place in [place for place, word in enumerate(lowered_words) if beginning in word]:
            found.update(_parts(words[place]))

    def has(words: tuple[str, ...]) -> bool:
        if not words or any(part not in found for part in words):
            return False
        if len(words) == 1:
            return True
        spoken = tuple(_sequence(text))
        return any(spoken[place : place + len(words)] == words for place in range(len(spoken)))

    return frozenset(place for place, alternatives in enumerate(wanted.terms) if any(map(has, alternatives)))


@lru_cache(maxsize=64)
def matcher(groups: tuple[tuple[str, ...], ...]) -> TermMatcher:
    return TermMatcher(
        tuple(tuple(dict.fromkeys(each for text in group for each in _spellings(text))) for group in groups)
    )


def _spellings(text: str) -> Iterator[tuple[str, ...]]:
    yield tuple(_sequence(text))
    if _WORD.fullmatch(text):
        yield (stem(text.lower()),)


def _beginning(part: str) -> str:
    """Return the part that all inflections share: a stem's last letter may differ (category, categori)."""
    return part[:-1] if len(part) > _SHORT_STEM else part[:2]


def _sequence(text: str) -> Iterator[str]:
    """Yield the stems of a text's words in order, each word of an identifier separately."""
    for word in _WORD.findall(text):
        yield from stems(word)


@lru_cache(maxsize=30_000)
def _parts(word: str) -> tuple[str, ...]:
    return (*stems(word), stem(word.lower()))
