"""From what was typed to what is searched for."""

from __future__ import annotations

import enum
import re

from attrs import frozen

from cairn.chunking.identifiers import identifier_words
from cairn.words import LIGHT_WORDS, STOPWORDS

MAX_QUERY_CHARS = 4_000
"""Longer questions are cut here, and the answer says so: a paste must not hang a search."""

MAX_TERMS = 32
"""FTS5 scores every match of every term; a pasted page is searched by its first words."""

DEFAULT_ALPHA = 0.5
"""Keywords and vectors at the weights of `signals`, whatever the type of the question."""


class QueryType(enum.StrEnum):
    """What is wanted (S5, priority 7)."""

    SYMBOL = "symbol"
    BUG_FIX = "bugFix"
    IMPLEMENTATION = "implementation"
    EXPLANATION = "explanation"
    LOCATION = "location"
    OPTIMISATION = "optimisation"


@frozen
class Query:
    """A question, understood."""

    text: str
    normalized: str
    terms: tuple[str, ...]
    """Lower-case content words in order of first use, those inside identifiers included."""
    compounds: tuple[str, ...]
    """Identifiers of several words, as typed: `add_url_rule`, `HTTPServer`."""
    phrases: tuple[str, ...]
    """What stood in double quotes."""
    type: QueryType
    alpha: float
    corrections: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Spellings under which a definition that is asked for by name may stand in the index."""
        last = re.split(r"[.:#/>-]+", self.text.strip().removesuffix("()"))[-1]
        return (
            tuple(dict.fromkeys(filter(None, (*self.compounds, last)))) if self.is_symbol else self.compounds
        )

    @property
    def is_symbol(self) -> bool:
        return self.type is QueryType.SYMBOL

    @property
    def joined(self) -> tuple[str, ...]:
        """Adjacent terms as one word: "thread pool" may be defined as `threadpool` or `ThreadPool`."""
        return tuple(a + b for a, b in zip(self.terms, self.terms[1:], strict=False))

    def match(self) -> str:
        """The FTS5 expression: any term, compound, joined pair or phrase; "" when there is nothing to find."""
        pairs = zip(self.terms, self.terms[1:], strict=False)
        words = [*self.terms, *self.compounds, *self.joined, *(f"{a}_{b}" for a, b in pairs), *self.phrases]
        return " OR ".join(_quoted(word) for word in dict.fromkeys(words))


_WORD = re.compile(r"\w+(?:'\w+)?")
_PHRASE = re.compile(r'"([^"]+)"')
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w")

# S5's classifier. The first that matches decides; a single word without spaces is a symbol.
_TYPES = (
    (QueryType.BUG_FIX, re.compile(r"^fix\b|\bbugs?\b|\berrors?\b|\bcrash\w*|\bexception when\b|\bfails?\b")),
    (QueryType.IMPLEMENTATION, re.compile(r"^(implement\w*|add|create)\b")),
    (QueryType.OPTIMISATION, re.compile(r"\boptimi[sz]\w*|\bimprove\b|\bfaster\b|\bslow\b")),
    (
        QueryType.EXPLANATION,
        re.compile(r"^(how|what|why|explain|describe|overview|o que|como|por ?qu[eê])\b"),
    ),
)


def understand(text: str, alpha: float | None = None) -> Query:
    """Understand `text`. Text beyond MAX_QUERY_CHARS is left out, and `corrections` says so."""
    corrections = []
    if len(text) > MAX_QUERY_CHARS:
        corrections.append(f"only the first {MAX_QUERY_CHARS} of {len(text)} characters were used")
        text = text[:MAX_QUERY_CHARS]
    words = [word.removesuffix("'s") for word in _WORD.findall(text)]
    kind = _query_type(text.strip())
    lonely = len(words) == 1
    compounds: dict[str, None] = {}
    terms: dict[str, None] = {}
    for word in words:
        if _COMPOUND.search(word):
            compounds[word] = None
        for part in identifier_words(word):
            if lonely or kind is QueryType.SYMBOL or (part not in STOPWORDS and len(part) > 1):
                terms[part] = None
    telling = [term for term in terms if term not in LIGHT_WORDS] if kind is not QueryType.SYMBOL else ()
    kept = tuple(telling or terms)[:MAX_TERMS]
    return Query(
        text=text,
        normalized=" ".join(kept),
        terms=kept,
        compounds=tuple(compounds)[:MAX_TERMS],
        phrases=tuple(phrase for phrase in _PHRASE.findall(text) if _WORD.search(phrase)),
        type=kind,
        alpha=DEFAULT_ALPHA if alpha is None else alpha,
        corrections=tuple(corrections),
    )


def _query_type(text: str) -> QueryType:
    if text and not re.search(r"\s", text):
        return QueryType.SYMBOL
    lowered = text.lower()
    return next((kind for kind, pattern in _TYPES if pattern.search(lowered)), QueryType.LOCATION)


def _quoted(word: str) -> str:
    """As an FTS5 string: whatever stands in it is text, never syntax."""
    escaped = word.replace('"', '""').replace("\0", "")
    return f'"{escaped}"'
