"""Stage 2: which collections deserve the deeper search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from cairn.protocol.evidence import CollectionRef
from cairn.settings.discovery import ScoringConfig

# All numbers and words below are S1's (stage 2).
BOOST_TERMS = ("docs", "source", "api", "sdk", "core")
IMPORTANT_TAGS = ("documentation", "code", "api")
STARTS_WITH_BOOST = 1.5
FULL_SIZE = 1_000_000
"""Vectors at which a collection's size counts in full."""


def score_collections(
    query_terms: Sequence[str],
    collections: Sequence[CollectionRef],
    config: ScoringConfig,
    now: datetime | None = None,
    asked_about: Mapping[str, float] = MappingProxyType({}),
) -> list[tuple[CollectionRef, float]]:
    """Each collection with its score, best first, equals by name (S1, stage 2).

    The score is the weighted sum of three signals: how many query terms the name holds, how many of
    `BOOST_TERMS` it holds, and the mean of size, recency and tags. `now` is the moment recency is
    measured from, the current time when absent. Times without a zone are taken as UTC. To this `config.evidence_weight`
    times `asked_about` is added: by name, how much the question is about the collection's package, 0 to 1.
    """
    moment = now or datetime.now(UTC)
    terms = [term.lower() for term in query_terms if term]
    scored = [
        (ref, _score(ref, terms, config, moment) + config.evidence_weight * asked_about.get(ref.name, 0.0))
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
    """Share of the terms within the name, times 1.5 when the name starts with one of them."""
    if not terms:
        return 0.0
    share = sum(term in name for term in terms) / len(terms)
    return share * STARTS_WITH_BOOST if name.startswith(tuple(terms)) else share


def _recency(updated_at: str | None, decay_days: float, now: datetime) -> float:
    """`exp(-days / decay_days)` of whole days, as in S1, so that the same question has the same answer twice: 1 for today or
    later, 0 for a collection without a time."""
    if not updated_at:
        return 0.0
    days = days_since(updated_at, now)
    if decay_days == 0:
        return 0.0 if days else 1.0
    return math.exp(-days / decay_days)


def days_since(updated_at: str | None, now: datetime) -> int:
    """Whole days from then to `now`; 0 for a later time, and for none."""
    return max(0, (_utc(now) - _utc(datetime.fromisoformat(updated_at))).days) if updated_at else 0


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
