"""The words of a question that carry meaning, and how often a text holds them.

Words compare by their stem and identifiers by their parts, so that "routing" finds "routes" and "session
cookie" finds `SessionCookie`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from attrs import frozen

from cairn.chunking.identifiers import identifier_words
from cairn.words import LIGHT_WORDS, is_stopword, stem

_WORD = re.compile(r"\w+")
EDGE_PUNCTUATION = " \t\n\r.,;:!?¿¡…\"'`´“”‘’«»()[]{}<>*"
_PREFIX = 2
"""English stemming keeps a word's first two letters (all but "dying" and its like), so a word that starts
otherwise than every term need not be stemmed, which takes 30 µs."""


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
    """The distinct stems of a question's content words."""

    stems: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> QueryTerms:
        """The terms of `query`; none when it is empty or made of function words alone."""
        parts = [part for word in content_words(query) for part in _parts(word)]
        return cls(tuple(dict.fromkeys(stem(part) for part in parts if not is_stopword(part))))

    def counts(self, text: str) -> Counter[str]:
        """How often each term occurs in `text`; terms that do not occur are left out."""
        prefixes = {term[:_PREFIX] for term in self.stems}
        wanted = frozenset(self.stems)
        return Counter(
            found for part in _parts(text) if part[:_PREFIX] in prefixes and (found := stem(part)) in wanted
        )

    def coverage(self, text: str) -> float:
        """The share of the terms that `text` holds, 0 to 1; 0 when there are no terms."""
        return len(self.counts(text)) / len(self.stems) if self.stems else 0.0


def _parts(text: str) -> Iterable[str]:
    """The lower-case words of `text`, identifiers split."""
    for word in _WORD.findall(text):
        if word.islower() and "_" not in word:
            yield word
        else:
            yield from _identifier_parts(word)


@lru_cache(maxsize=65_536)
def _identifier_parts(word: str) -> tuple[str, ...]:
    return tuple(identifier_words(word))
