"""Which terms of a question a text holds: in any inflection, inside identifiers, or by an alternative."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from attrs import field, frozen

from cairn.text.words import stem, stems

_WORD = re.compile(r"\w+")
_SHORT_STEM = 3
"""Letters of a stem of which words need only share the first two; of a longer one, all but the last."""
_MAX_KEPT = 200
"""Texts: a result is looked at for the terms that it is shown with, and for the verdict."""


@frozen(eq=False)
class TermMatcher:
    """The terms of a question, each with its alternatives (`Query.groups`), ready to be looked for. There is one for each question
    (`matcher`), so what it found in a text is remembered for the object, without a look at its terms.

    A text's words are stemmed only where they have the beginning of a term's stem in them: for ten results this
    takes 0.5 ms.
    """

    terms: tuple[tuple[tuple[str, ...], ...], ...]
    """For each term its alternatives, each as the stems of its words."""
    _beginnings: tuple[str, ...] = field(init=False, repr=False)
    """What every word begins with, in lower case, or a part of it, that has one of the stems."""

    @_beginnings.default
    def _of_all_stems(self) -> tuple[str, ...]:
        wanted = {part for alternatives in self.terms for words in alternatives for part in words}
        return tuple(sorted(map(_beginning, wanted)))

    def held(self, text: str) -> frozenset[int]:
        """The places of the terms that the text holds; a phrase must stand in it word by word."""
        return _held(self, text)

    def is_phrase_of(self, text: str) -> bool:
        """Whether the terms, or an alternative of each, stand in `text` next to each other and in order."""
        spoken = tuple(_sequence(text))
        return any(self._starts(spoken[place:]) for place in range(len(spoken)))

    def words_beside(self, text: str) -> int:
        """Number of different words of `text` that belong to no term."""
        wanted = {part for alternatives in self.terms for words in alternatives for part in words}
        return len({part for part in _sequence(text) if part not in wanted})

    def _starts(self, spoken: tuple[str, ...], first: int = 0) -> bool:
        if first == len(self.terms):
            return bool(self.terms)
        return any(
            words and spoken[: len(words)] == words and self._starts(spoken[len(words) :], first + 1)
            for words in self.terms[first]
        )


@lru_cache(maxsize=_MAX_KEPT)
def _held(wanted: TermMatcher, text: str) -> frozenset[int]:
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
    """The matcher of `Query.groups`."""
    return TermMatcher(
        tuple(tuple(dict.fromkeys(each for text in group for each in _spellings(text))) for group in groups)
    )


def _spellings(text: str) -> Iterator[tuple[str, ...]]:
    """The stems of a word or phrase; of a word like `oauth2` also its own, whole."""
    yield tuple(_sequence(text))
    if _WORD.fullmatch(text):
        yield (stem(text.lower()),)


def _beginning(part: str) -> str:
    """What all inflections begin with: a stem's last letter may be another one (category, categori)."""
    return part[:-1] if len(part) > _SHORT_STEM else part[:2]


def _sequence(text: str) -> Iterator[str]:
    """The stems of a text's words in order, those inside identifiers one by one."""
    for word in _WORD.findall(text):
        yield from stems(word)


@lru_cache(maxsize=30_000)
def _parts(word: str) -> tuple[str, ...]:
    """The stems of a word: of its parts, and whole."""
    return (*stems(word), stem(word.lower()))
