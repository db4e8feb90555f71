"""Stage 1: which collections take part in a discovery."""

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
"""The last part of a found collection's name says its kind. A question like "how do I test a route"
uses these as ordinary words, so they choose collections only when it has no other word."""
MIN_SHARE = 0.2
"""Of all chunks. A collection with fewer is called by an ordinary word as often as meant by it: a question about log
transports looked at nothing but a fixture's package of that name."""


def filter_collections(
    query: str,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    all_collections: Sequence[CollectionRef],
    config: FilterConfig = FilterConfig(),  # noqa: B008 - frozen
) -> list[CollectionRef]:
    """The collections to search, in the order given (S1, stage 1).

    `include` and `exclude` are globs over collection names, case-insensitive. Without `include`,
    `config.default_include` counts; without that, the collections named in the query, by any word of their names; when
    it names none, as most questions do, or such as hold next to nothing, all of them. Without `exclude` (absent or empty),
    `config.default_exclude` counts. What is excluded is never returned.
    """
    excluded = exclude or config.default_exclude
    candidates = [ref for ref in all_collections if not _matches_any(ref.name, excluded)]
    included = include or config.default_include
    if included:
        return [ref for ref in candidates if _matches_any(ref.name, included)]
    terms = {part for word in content_words(query) for part in _PART.split(word.lower())}
    terms = terms - KIND_WORDS or terms
    named = [ref for ref in candidates if not terms.isdisjoint(_PART.split(ref.name.lower()))]
    held, possible = (sum(ref.vector_count for ref in refs) for refs in (named, candidates))
    return named if named and held >= MIN_SHARE * possible else candidates


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)
