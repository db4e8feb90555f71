"""Find the terms of a query in a text (in any inflection, inside identifiers, or by an alternative), and
compute how rare each term is in the searched indexes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from attrs import field, frozen

from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.bm25 import idf
from cairn.retrieval.query import Query
from cairn.text.unspaced import is_unspaced, spread
from cairn.text.words import stem, stems

_WORD = re.compile(r"\w+")
_SHORT_STEM = 3
"""The maximum number of letters of a stem whose inflections may share only the first two letters. Inflections
of a longer stem share all letters but the last."""
_CACHED_TEXTS = 200
"""The maximum number of cached texts. Each result is matched for its shown terms, then for the verdict."""


@frozen(eq=False)
class TermMatcher:
    """The terms of a query and their alternatives (`Query.groups`), prepared for matching. `matcher` returns
    the same object for equal terms, because results are cached by object. To take 0.5 ms for ten results,
    only words that contain the beginning of a term's stem are stemmed."""

    terms: tuple[tuple[tuple[str, ...], ...], ...]
    """The alternatives of each term. An alternative is a tuple of its words' stems."""
    _beginnings: tuple[str, ...] = field(init=False, repr=False)
    """The lower-case beginnings of all stems. A word with one of the stems contains one of these."""

    @_beginnings.default
    def _sorted_beginnings(self) -> tuple[str, ...]:
        wanted = {part for alternatives in self.terms for words in alternatives for part in words}
        return tuple(sorted(map(beginning_of, wanted)))

    def terms_in(self, text: str) -> frozenset[int]:
        """Return the positions of the terms that occur in the text. A phrase must occur word by word."""
        return _matches(self, text)

    def is_phrase_of(self, text: str) -> bool:
        """Return whether `text` contains all terms, or an alternative of each, adjacent and in order."""
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
    words = words_with(wanted._beginnings, text)
    if not words:
        return frozenset()
    found = set(chain.from_iterable(map(_parts, set(words))))

    def has(words: tuple[str, ...]) -> bool:
        if not words or any(part not in found for part in words):
            return False
        if len(words) == 1:
            return True
        spoken = tuple(_sequence(text))
        return any(spoken[place : place + len(words)] == words for place in range(len(spoken)))

    return frozenset(place for place, alternatives in enumerate(wanted.terms) if any(map(has, alternatives)))


def words_with(beginnings: Iterable[str], text: str) -> list[str]:
    """Return each word of a text that contains one of these beginnings in any case, as often as it occurs."""
    text = spread(text)
    lowered = text.lower()
    if len(lowered) != len(text):  # A letter such as `İ` has a lower case of several.
        return [word for word in _WORD.findall(text) if any(each in word.lower() for each in beginnings)]
    found: dict[int, str] = {}
    for beginning in beginnings:
        at = lowered.find(beginning)
        while at >= 0:
            first, rest = at, _WORD.match(text, at)
            last = rest.end() if rest else at + len(beginning)
            while first and (text[first - 1].isalnum() or text[first - 1] == "_"):
                first -= 1
            found[first] = text[first:last]
            at = lowered.find(beginning, last)
    return list(found.values())


@lru_cache(maxsize=64)
def matcher(groups: tuple[tuple[str, ...], ...]) -> TermMatcher:
    return TermMatcher(
        tuple(tuple(dict.fromkeys(each for text in group for each in _spellings(text))) for group in groups)
    )


def _spellings(text: str) -> Iterator[tuple[str, ...]]:
    yield tuple(_sequence(text))
    if _WORD.fullmatch(text) and not is_unspaced(text):
        yield (stem(text.lower()),)


def beginning_of(part: str) -> str:
    """Return the part of a stem that all inflections share: without "y" or "i" in category, categori."""
    return part[:-1] if len(part) > _SHORT_STEM else part[:2]


def _sequence(text: str) -> Iterator[str]:
    """Yield the stems of the words in a text, in order. An identifier yields each of its words."""
    for word in _WORD.findall(spread(text)):
        yield from stems(word)


@lru_cache(maxsize=30_000)
def _parts(word: str) -> tuple[str, ...]:
    return (*stems(word), stem(word.lower()))


def term_shares(query: Query, vocabulary: IndexVocabulary) -> tuple[float, ...]:
    """Return each term's share of the query's total inverse document frequency, as in BM25. The shares add up
    to 1.

    A term that occurs nowhere has the largest share. A chunk that contains an alternative contains the term.
    """
    chunks = vocabulary.chunks()
    words = {word for group in query.groups for text in group for word in _WORD.findall(spread(text))}
    documents = vocabulary.documents(words)

    def holding(text: str) -> int:
        return min((documents[word] for word in _WORD.findall(spread(text))), default=0)

    rarities = []
    for group in query.groups:
        found = min(chunks, sum(map(holding, group)))
        rarities.append(idf(found, chunks))
    whole = sum(rarities)
    return tuple(rarity / whole for rarity in rarities)
