"""Rank the chunks related to a passage: callers, callees, implementations and tests first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cairn.retrieval.diversity import near_duplicates
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, SURE, TEST
from cairn.retrieval.related import DEFINES, FILE_WEIGHTS, SIMILAR, USES, Related
from cairn.retrieval.scores import Contribution, Ranked
from cairn.settings.tree import DiversitySettings

WEIGHTS: Mapping[str, float] = {
    CALLER: 10.0,
    CALLEE: 8.0,
    IMPLEMENTATION: 7.0,
    TEST: 6.0,
    SIMILAR: 2.0,
    DEFINES: 1.5,
    USES: 1.5,
    **FILE_WEIGHTS,
}
"""The weight of each relation, whose values are 0 to 1. The weights were chosen by hand, without relevance
judgements. The passage's own file has a negative weight, because it is in view. Sure references come first.
"""
SHARES: Mapping[str, float] = {CALLER: 0.4, CALLEE: 0.3, IMPLEMENTATION: 0.2, TEST: 0.2}
"""The maximum share of the results for each relation by reference, so that callers do not take all."""

_BEST_POSSIBLE = WEIGHTS[CALLER] + sum(
    weight for name, weight in WEIGHTS.items() if weight > 0 and name not in SHARES
)

_SIMILARITY = DiversitySettings().similarity
"""The minimum similarity of near-duplicates. The settings of searches do not change it."""


def rank_related(found: Iterable[Related], limit: int) -> list[Ranked]:
    """Rank by the weighted sum of relations. Further chunks of a file and near-duplicates come last. Chunks
    with a sure reference precede all, and each kind of reference has its share of the results."""
    scored = sorted(((score, related) for related in found if (score := _score(related))), key=_best_first)
    referred = _within_shares([each for each in scored if _is_sure(each[1])], limit)
    first: dict[tuple[int, str], tuple[float, Related]] = {}
    for each in scored:
        if not _is_sure(each[1]):
            first.setdefault((each[1].folder, each[1].stored.path), each)
    chosen = {*map(id, referred), *map(id, first.values())}
    ordered = [*referred, *first.values(), *(each for each in scored if id(each) not in chosen)]
    ranked = [_ranked(*each) for each in ordered[: 2 * limit]]
    copies = near_duplicates(ranked, _SIMILARITY, limit) - set(range(len(referred)))
    distinct = [result for place, result in enumerate(ranked) if place not in copies]
    return [*distinct, *(ranked[place] for place in sorted(copies))][:limit]


def _within_shares(referred: Sequence[tuple[float, Related]], limit: int) -> list[tuple[float, Related]]:
    room = {relation: max(1, round(share * limit)) for relation, share in SHARES.items()}
    chosen = []
    for each in referred:
        relation = reference_of(each[1])
        room[relation] -= 1
        if room[relation] >= 0:
            chosen.append(each)
    return chosen


def _best_first(scored: tuple[float, Related]) -> tuple[float, int, str, int]:
    score, related = scored
    return -score, related.folder, related.stored.path, related.stored.chunk.position


def _score(related: Related) -> float:
    parts = (value * WEIGHTS[name] for name, value in related.values.items())
    return min(1.0, max(0.0, sum(sorted(parts, key=lambda part: -abs(part)))) / _BEST_POSSIBLE)


def _ranked(score: float, related: Related) -> Ranked:
    parts = [Contribution(name, value, WEIGHTS[name]) for name, value in related.values.items() if value]
    parts.sort(key=lambda part: -abs(part.value * part.weight))
    return Ranked(related.folder, related.stored, score, _source(related.values), tuple(parts))


def _source(values: Mapping[str, float]) -> str:
    if values.get(DEFINES) or not SHARES.keys().isdisjoint(values):
        return "exact"
    if values.get(USES):
        return "hybrid" if values.get(SIMILAR) else "keyword"
    return "embedding" if values.get(SIMILAR) else "relation"


def _is_sure(related: Related) -> bool:
    return related.values.get(reference_of(related), 0.0) >= SURE


def reference_of(related: Related) -> str:
    """Return the relation by reference that has the highest weighted value; "" if there is none."""
    values = related.values
    return max(SHARES.keys() & values.keys(), key=lambda name: WEIGHTS[name] * values[name], default="")
