"""The words of a question that carry meaning, and how much of them a text holds.

Words compare by their stem and identifiers by their parts, so that "routing" finds "routes" and "session
cookie" finds `SessionCookie`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from attrs import field, frozen

from cairn.retrieval.introductions import Introduced
from cairn.retrieval.languages.translation import in_english
from cairn.retrieval.matching import matcher
from cairn.text.identifiers import identifier_words
from cairn.text.words import LIGHT_WORDS, is_stopword, stem, stems

_WORD = re.compile(r"\w+")
EDGE_PUNCTUATION = " \t\n\r.,;:!?¿¡…\"'`´“”‘’«»()[]{}<>*"
_PREFIX = 3
"""Letters that English stemming keeps of a word, fewer where its stem has fewer; words that hold no term's beginning
need not be split and stemmed."""


def bare_words(text: str) -> list[str]:
    """The whitespace-separated words of `text` without the punctuation around them; case is kept."""
    words = (word.strip(EDGE_PUNCTUATION) for word in text.split())
    return [word for word in words if word]


def content_words(text: str) -> list[str]:
    """The words of `text` that say what it is about, in order and as written.

    Light words count only where there is nothing else: "explain show" is about "show".
    """
    words = [word for word in bare_words(text) if not is_stopword(word)]
    return [word for word in words if word.lower() not in LIGHT_WORDS] or words


@frozen
class QueryTerms:
    """The distinct terms of a question, each with what counts as it, and its weight."""

    groups: tuple[tuple[str, ...], ...]
    """For each term the term and its alternatives: other words or phrases (`Query.groups`)."""
    shares: tuple[float, ...] = field()
    """Each term's share of the question, by inverse document frequency; they add up to 1. All are alike where none is given."""

    about: Introduced | None = None
    """What the question asks for an overview of; None where it asks something else."""

    @shares.default
    def _all_alike(self) -> tuple[float, ...]:
        return (1 / len(self.groups),) * len(self.groups) if self.groups else ()

    @cached_property
    def _term_of(self) -> dict[str, int]:
        """The place of the term that a stem belongs to: of several terms the first."""
        words = ((text, place) for place, group in enumerate(self.groups) for text in group)
        return dict(reversed([(stem(text), place) for text, place in words if _WORD.fullmatch(text)]))

    @cached_property
    def _likely(self) -> re.Pattern[str]:
        """Words that may hold a term."""
        beginnings = sorted({re.escape(each[: min(_PREFIX, len(each) - 1) or 1]) for each in self._term_of})
        return re.compile(rf"\b\w*(?:{'|'.join(beginnings)})\w*" if beginnings else r"\Z\w", re.IGNORECASE)

    @classmethod
    def of(cls, query: str) -> QueryTerms:
        """The terms of `query`, in English, without alternatives; none when it is empty or made of function words alone."""
        english = in_english(query).text
        parts = (part for word in content_words(english) for part in _parts(word) if not is_stopword(part))
        by_stem = {stem(part): part for part in reversed([*parts])}
        return cls(tuple((part,) for part in reversed(by_stem.values())), about=Introduced.by(english))

    def counts(self, text: str) -> Counter[int]:
        """How often each term, by its place, occurs in `text`; terms that do not occur are left out."""
        return Counter(
            place
            for word in self._likely.findall(text)
            for each in ((stem(word),) if _is_plain(word) else stems(word))
            if (place := self._term_of.get(each)) is not None
        )

    def coverage(self, text: str) -> float:
        """The share of the question that `text` holds, 0 to 1; 0 when there are no terms."""
        return (
            sum(self.shares[place] for place in matcher(self.groups).terms_in(text)) if self.groups else 0.0
        )


def _parts(text: str) -> Iterator[str]:
    """The lower-case words of `text`, identifiers split."""
    for word in _WORD.findall(text):
        yield from (word,) if _is_plain(word) else identifier_words(word)


def _is_plain(word: str) -> bool:
    return word.islower() and "_" not in word
