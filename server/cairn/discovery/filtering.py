"""Stage 1: which collections take part in a discovery."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from cairn.config import FilterConfig
from cairn.discovery.model import CollectionRef
from cairn.discovery.terms import content_words

KIND_WORDS = frozenset(
    {"source", "doc", "docs", "documentation", "test", "tests", "config", "example", "examples"}
)
"""The last part of a found collection's name says its kind. A question like "how do I test a route"
uses these as ordinary words, so they choose collections only when it has no other word."""
MIN_TERM_LENGTH = 3
"""Shorter terms ("go", "c") stand inside too many names to say anything."""


def filter_collections(
    query: str,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    all_collections: Sequence[CollectionRef],
    config: FilterConfig = FilterConfig(),  # noqa: B008 - frozen
) -> list[CollectionRef]:
    """The collections to search, in the order given (S1, stage 1).

    `include` and `exclude` are globs over collection names, case-insensitive. Without `include`,
    `config.default_include` counts; without that, the collections named in the query; when it names
    none, as most questions do, all of them. Without `exclude` (absent or empty),
    `config.default_exclude` counts. What is excluded is never returned.
    """
    excluded = exclude or config.default_exclude
    candidates = [ref for ref in all_collections if not _matches_any(ref.name, excluded)]
    included = include or config.default_include
    if included:
        return [ref for ref in candidates if _matches_any(ref.name, included)]
    terms = _naming_terms(query)
    named = [ref for ref in candidates if any(term in ref.name.lower() for term in terms)]
    return named or candidates


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _naming_terms(query: str) -> list[str]:
    terms = [word.lower() for word in content_words(query) if len(word) >= MIN_TERM_LENGTH]
    return [term for term in terms if term not in KIND_WORDS] or terms
