"""Stage 1: choose the collections to search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from cairn.discovery.terms import content_words
from cairn.protocol.evidence import CollectionRef
from cairn.settings.discovery import FilterConfig

_PART = re.compile(r"[\W_]+")
KIND_WORDS = frozenset(
    {"source", "doc", "docs", "documentation", "test", "tests", "config", "example", "examples"}
)
"""The kinds of collections, which are the last parts of their names. Questions such as "how do I test a
route" use them as ordinary words, so they choose collections only if the question has no other word."""
MIN_SHARE = 0.2
"""The minimum share of all chunks for a collection that is chosen by its name. A smaller one's name is often
an ordinary word: a question about log transports searched only a test fixture named so."""


def filter_collections(
    query: str,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    all_collections: Sequence[CollectionRef],
    config: FilterConfig = FilterConfig(),  # noqa: B008 - frozen
) -> list[CollectionRef]:
    """Return the collections to search, in the given order.

    `include` and `exclude` are globs over collection names, case-insensitive; `exclude` always wins. If they
    are absent or empty, `config.default_include` and `config.default_exclude` are used. Without globs to
    include, collections with a word of their name in the query are returned, unless they have few chunks; if
    there are none, all are.
    """
    excluded = exclude or config.default_exclude
    candidates = [ref for ref in all_collections if not _matches_any(ref.name, excluded)]
    included = include or config.default_include
    if included:
        return [ref for ref in candidates if _matches_any(ref.name, included)]
    terms = {part for word in content_words(query) for part in _PART.split(word.lower())}
    terms = terms - KIND_WORDS or terms
    named = [ref for ref in candidates if not terms.isdisjoint(_PART.split(ref.name.lower()))]
    in_named, in_all = (sum(ref.vector_count for ref in refs) for refs in (named, candidates))
    return named if named and in_named >= MIN_SHARE * in_all else candidates


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)
