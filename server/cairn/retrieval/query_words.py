"""Compare the words of a query with names and lines, faster and more freely than the keyword index does.

A beginning stands for a word (`lang` for `language`), and a word may be in another (`ignore` in `gitignore`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from cairn.retrieval.query import Query
from cairn.text.nearest import letters_of
from cairn.text.unicode import utf16_length
from cairn.text.unspaced import is_unspaced, places_of, spread
from cairn.text.words import stem, stems

_ABBREVIATION = 0.8
"""The share of a word that its beginning stands for."""
_SHORTEST = 3
"""The minimum number of letters of a beginning, and of a word that is found inside a longer one."""
_LOWER, _UPPER = re.compile(r"[a-zß-ÿ]*"), re.compile(r"[A-ZÀ-Þ]*")
"""The rest of a word, in the case of its last letter."""


@frozen(eq=False)
class QueryWords:
    """The words of a query."""

    query: Query
    shares: Sequence[float]
    """The share of each term in the query's total inverse document frequency."""
    _in_words: dict[tuple[str, ...], Mapping[int, float]] = field(factory=dict, init=False)
    """What `in_words` returned. Places of one file share many words."""

    @cached_property
    def letters(self) -> str:
        return letters_of(self.query.text)

    @cached_property
    def _terms(self) -> list[list[tuple[str, ...]]]:
        """The stems of each alternative of each term."""
        return [
            [tuple(part for word in text.split() for part in stems(word)) for text in group]
            for group in self.query.groups
        ]

    @cached_property
    def _beginnings(self) -> list[tuple[str, ...]]:
        return [tuple({_beginning(each[0]) for each in term if each}) for term in self._terms]

    @cached_property
    def _pairs(self) -> frozenset[str]:
        """The pairs of letters of scripts without spaces, which begin and end anywhere in a run."""
        parts = (part for term in self._terms for each in term for part in each)
        return frozenset(filter(is_unspaced, parts))

    @cached_property
    def openings(self) -> re.Pattern[str]:
        """A pattern of the first letters of all terms. A name without any of these has no word of the
        query."""
        letters = {each[:_SHORTEST] for term in self._beginnings for each in term}
        return re.compile("|".join(map(re.escape, sorted(letters))) or r"(?!)")

    def share(self, terms: Iterable[int]) -> float:
        """Return the share of the query that these terms are, 0 to 1."""
        return float(sum(self.shares[place] for place in terms))

    def in_lines(self, lines: Sequence[str]) -> list[set[int]]:
        """Return for each line the terms of which it contains a beginning."""
        text, found = "\n".join(map(spread, lines)).lower(), [set[int]() for _ in lines]
        for place, term in enumerate(self._beginnings):
            for each in term:
                at, line, counted = text.find(each), 0, 0
                while at >= 0:
                    line += text.count("\n", counted, at)
                    found[line].add(place)
                    counted = text.find("\n", at)
                    at = text.find(each, counted + 1) if counted >= 0 else -1
        return found

    def in_words(self, words: tuple[str, ...]) -> Mapping[int, float]:
        """Return how well each term is among these words in lower case: 1, or less for a beginning."""
        found = self._in_words.get(words)
        if found is None:
            found = self._in_words[words] = self._found_in(words)
        return found

    def _found_in(self, words: tuple[str, ...]) -> dict[int, float]:
        joined = "".join(words)
        known = {
            stem(each)
            for word in words
            for each in (word.split() if joined.isascii() else spread(word).split())
        }
        found: dict[int, float] = {}
        for place, (term, single, several) in enumerate(self._wanted):
            if not known.isdisjoint(single) or any(map(known.issuperset, several)):
                found[place] = 1.0
            elif len(term) >= _SHORTEST and (
                (len(term) > _SHORTEST and term in joined) or _is_begun(term, words)
            ):
                found[place] = _ABBREVIATION
        return found

    @cached_property
    def _wanted(self) -> list[tuple[str, frozenset[str], list[tuple[str, ...]]]]:
        """Each term, the stems of its alternatives of one word, and those of alternatives of several."""
        return [
            (
                self.query.terms[place],
                frozenset(each[0] for each in term if len(each) == 1),
                [each for each in term if len(each) > 1],
            )
            for place, term in enumerate(self._terms)
        ]

    def further(self, words: Sequence[str], found: Mapping[int, float]) -> int:
        """Return how many of the words belong to none of the terms that were found in them."""
        if not found:
            return len(words)
        known = {part for place in found for each in self._terms[place] for part in each}
        texts = [self.query.terms[place] for place in found]

        def belongs(word: str) -> bool:
            return stem(word) in known or any(
                word.startswith(text) or text.startswith(word) or word in text for text in texts
            )

        return sum(not belongs(word) for word in words)

    def marks(self, text: str) -> list[tuple[int, int]]:
        """Return the places `[start, end)` in a text of words of the query, in UTF-16 code units."""
        lowered = text.lower()
        found: list[tuple[int, int]] = []
        if len(lowered) != len(text):
            return found
        beginnings = {each for term in self._beginnings for each in term}
        found += places_of(beginnings | self._pairs, text)
        for beginning in beginnings - self._pairs:
            at = lowered.find(beginning)
            while at >= 0:
                end = at + len(beginning)
                if _begins_word(text, at):
                    rest = (_UPPER if text[end - 1].isupper() else _LOWER).match(text, end)
                    found.append((at, rest.end() if rest else end))
                at = lowered.find(beginning, end)
        marks: list[tuple[int, int]] = []
        for start, end in sorted(found, key=lambda mark: (mark[0], -mark[1])):
            if not marks or start >= marks[-1][1]:
                marks.append((start, end))
        return [(utf16_length(text[:start]), utf16_length(text[:end])) for start, end in marks]


def _is_begun(term: str, words: Sequence[str]) -> bool:
    """Return whether a word begins with the term, or is a beginning of it."""
    for word in words:  # noqa: SIM110 - without a generator, since this runs for every name
        if word.startswith(term) or (len(word) >= _SHORTEST and term.startswith(word)):
            return True
    return False


def _beginning(part: str) -> str:
    """Return the part of a stem that all inflections share: without "y" or "i" in category, categori."""
    return part[:-1] if len(part) > _SHORTEST else part


def _begins_word(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return not before.isalpha() or (before.islower() and text[at].isupper())
