"""Learn from feedback: files that users chose for a query rank higher for similar queries. Only the stems of
a query are stored. A choice counts more the more similar and the more recent its query is. The signal's
weight bounds the effect on a file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from attrs import frozen

from cairn.protocol.status_messages import FeedbackAction

STRENGTH: Mapping[FeedbackAction, float] = {
    FeedbackAction.OPEN: 0.5,
    FeedbackAction.COPY: 1.0,
    FeedbackAction.HELPFUL: 1.0,
    FeedbackAction.NOT_HELPFUL: -1.0,
}
"""The strength of each action. Opening a result counts half, because the user may only check its content."""

HALF_LIFE_DAYS = 30.0
"""The age in days at which a choice counts half, because code changes. Whole days keep answers stable."""

DAY_S = 24 * 60 * 60
_LEAST_ALIKE = 0.5
"""The minimum similarity of related queries: the share of their stems that both have, weighted by rarity."""


@frozen
class Choice:
    stems: frozenset[str]
    path: str
    action: FeedbackAction
    at: int
    """The time of the choice in Unix seconds."""


@frozen(eq=False)
class Learned:
    """All choices in one folder, weighted by their age on a given day."""

    version: tuple[int, int]
    """The generation of the choices and the day. Together they determine the contents."""
    _evidence: Mapping[frozenset[str], Mapping[str, float]]
    """The sum of choices for each file path, by the stems of the query for which they were made."""
    _by_stem: Mapping[str, Sequence[frozenset[str]]]

    def __bool__(self) -> bool:
        return bool(self._evidence)

    def values(self, stems: Set[str], idf: Mapping[str, float]) -> dict[str, float]:
        """Return the preference for each path, −1 to 1. A stem without `idf` gets the lowest one in `idf`."""
        lowest = min(idf.values(), default=1.0) or 1.0
        rarity = {stem: idf.get(stem, lowest) for stem in stems}
        whole = sum(rarity.values())
        common: defaultdict[frozenset[str], float] = defaultdict(float)
        for stem, weight in rarity.items():
            for query in self._by_stem.get(stem, ()):
                common[query] += weight
        evidence: defaultdict[str, float] = defaultdict(float)
        for query, shared in common.items():
            # The rarity of the earlier query's other words is unknown; each counts like an average word.
            others = len(query - stems) * whole / len(rarity)
            alike = shared / (whole + others)
            if alike > _LEAST_ALIKE:
                counted = (alike - _LEAST_ALIKE) / (1 - _LEAST_ALIKE)
                for path, strength in self._evidence[query].items():
                    evidence[path] += counted * strength
        return {path: _bounded(strength) for path, strength in evidence.items() if strength}


def learn(choices: Iterable[Choice], generation: int, today: int) -> Learned:
    """Sum up `choices` by their age on the day `today`, in days since 1970. Later choices have age 0."""
    evidence: defaultdict[frozenset[str], defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for choice in choices:
        age = max(0, today - choice.at // DAY_S)
        evidence[choice.stems][choice.path] += STRENGTH[choice.action] * 0.5 ** (age / HALF_LIFE_DAYS)
    by_stem: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for query in evidence:
        for stem in query:
            by_stem[stem].append(query)
    return Learned((generation, today), evidence, by_stem)


def _bounded(evidence: float) -> float:
    """Map evidence to −1 to 1: one opening of a file gives 0.39, two give 0.63."""
    return math.copysign(-math.expm1(-abs(evidence)), evidence)
