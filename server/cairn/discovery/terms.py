"""Finds the content words of a question, and measures how much of the question a text covers.

Words are compared by stem and identifiers by parts: "routing" matches "routes", and "session cookie" matches
`SessionCookie`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from attrs import field, frozen

from cairn.retrieval.introductions import OverviewSubject
from cairn.retrieval.languages.translation import in_english
from cairn.retrieval.matching import matcher
from cairn.text.identifiers import identifier_words
from cairn.text.words import LIGHT_WORDS, is_stopword, stem, stems

_WORD = re.compile(r"\w+")
EDGE_PUNCTUATION = " \t\n\r.,;:!?¿¡…\"'`´“”‘’«»()[]{}<>*"


def bare_words(text: str) -> list[str]:
    """Return the words of `text`, separated by whitespace, without punctuation around them, in their case."""
    words = (word.strip(EDGE_PUNCTUATION) for word in text.split())
    return [word for word in words if word]


def content_words(text: str) -> list[str]:
    """Return the words that say what `text` is about, in order and as written.

    Light words, such as "show", are returned only if there are no others: "explain show" is about "show".
    """
    words = [word for word in bare_words(text) if not is_stopword(word)]
    return [word for word in words if word.lower() not in LIGHT_WORDS] or words


@frozen
class QueryTerms:
    """The distinct terms of a question, with their alternatives and weights."""

    groups: tuple[tuple[str, ...], ...]
    """Each term with its alternatives, which are other words or phrases (`Query.groups`)."""
    shares: tuple[float, ...] = field()
    """Each term's share of the question, by inverse document frequency. The sum is 1; equal by default."""

    about: OverviewSubject | None = None
    """The subject of a question that asks for an overview; None for other questions."""

    @shares.default
    def _equal_shares(self) -> tuple[float, ...]:
        return (1 / len(self.groups),) * len(self.groups) if self.groups else ()

    @cached_property
    def _term_of(self) -> dict[str, int]:
        """For each stem, the index of the first term with it."""
        words = ((text, place) for place, group in enumerate(self.groups) for text in group)
        return dict(reversed([(stem(text), place) for text, place in words if _WORD.fullmatch(text)]))

    @classmethod
    def of(cls, query: str) -> QueryTerms:
        """Return the terms of `query` by the rules of English, without alternatives and function words."""
        english = in_english(query).text
        parts = (part for word in content_words(english) for part in _parts(word) if not is_stopword(part))
        by_stem = {stem(part): part for part in reversed([*parts])}
        return cls(tuple((part,) for part in reversed(by_stem.values())), about=OverviewSubject.by(english))

    def counts(self, text: str) -> Counter[int]:
        """Return the number of occurrences in `text` of each term that occurs, by the term's index."""
        return Counter(
            place
            for word in _WORD.findall(text)
            for each in ((stem(word),) if _is_plain(word) else stems(word))
            if (place := self._term_of.get(each)) is not None
        )

    def coverage(self, text: str) -> float:
        """Return the share of the question that `text` covers, 0 to 1; 0 without terms."""
        return (
            sum(self.shares[place] for place in matcher(self.groups).terms_in(text)) if self.groups else 0.0
        )


def _parts(text: str) -> Iterator[str]:
    """Yield the lower-case words of `text`, with identifiers split."""
    for word in _WORD.findall(text):
        yield from (word,) if _is_plain(word) else identifier_words(word)


def _is_plain(word: str) -> bool:
    return word.islower() and "_" not in word
