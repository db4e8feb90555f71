"""Stage 2: score the collections, to choose one for the focused search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from cairn.protocol.evidence import CollectionRef
from cairn.settings.discovery import ScoringConfig

BOOST_TERMS = ("docs", "source", "api", "sdk", "core")
IMPORTANT_TAGS = ("documentation", "code", "api")
STARTS_WITH_BOOST = 1.5
FULL_SIZE = 1_000_000
"""The number of vectors from which on the size of a collection scores 1."""


def score_collections(
    query_terms: Sequence[str],
    collections: Sequence[CollectionRef],
    config: ScoringConfig,
    now: datetime | None = None,
    package_relevance: Mapping[str, float] = MappingProxyType({}),
) -> list[tuple[CollectionRef, float]]:
    """Return each collection with its score, best first, equal scores by name.

    The score is the weighted sum of three signals: the share of query terms that are in the name, the share
    of `BOOST_TERMS` that are in the name, and the mean of size, recency and tags. `config.evidence_weight`
    times `package_relevance` is added, which says, by a collection's name, how much the question is about its
    package, 0 to 1. Recency is relative to `now`, by default the current time. Times without a zone are UTC.
    """
    moment = now or datetime.now(UTC)
    terms = [term.lower() for term in query_terms if term]
    scored = [
        (
            ref,
            _score(ref, terms, config, moment)
            + config.evidence_weight * package_relevance.get(ref.name, 0.0),
        )
        for ref in collections
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].name))


def _score(ref: CollectionRef, terms: Sequence[str], config: ScoringConfig, now: datetime) -> float:
    name = ref.name.lower()
    term_boost = sum(term in name for term in BOOST_TERMS) / len(BOOST_TERMS)
    size = min(ref.vector_count / FULL_SIZE, 1.0)
    tags = sum(tag in ref.tags for tag in IMPORTANT_TAGS) / len(IMPORTANT_TAGS)
    signal_boost = (size + _recency(ref.updated_at, config.recency_decay_days, now) + tags) / 3
    return (
        _name_match(name, terms) * config.name_match_weight
        + term_boost * config.term_boost_weight
        + signal_boost * config.signal_boost_weight
    )


def _name_match(name: str, terms: Sequence[str]) -> float:
    """Return the share of the terms that are in the name, times 1.5 if the name starts with one of them."""
    if not terms:
        return 0.0
    share = sum(term in name for term in terms) / len(terms)
    return share * STARTS_WITH_BOOST if name.startswith(tuple(terms)) else share


def _recency(updated_at: str | None, decay_days: float, now: datetime) -> float:
    """Return `exp(-days / decay_days)`: 1 for today, 0 without a time. Whole days make answers repeatable."""
    if not updated_at:
        return 0.0
    days = days_since(updated_at, now)
    if decay_days == 0:
        return 0.0 if days else 1.0
    return math.exp(-days / decay_days)


def days_since(updated_at: str | None, now: datetime) -> int:
    """Return the number of whole days from a time to `now`; 0 for a later time or none."""
    return max(0, (_utc(now) - _utc(datetime.fromisoformat(updated_at))).days) if updated_at else 0


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
