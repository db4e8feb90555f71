"""Learn from feedback: files that users chose for a query count more for similar queries. Only the stems of a
query are stored. A choice counts by the similarity of the two queries and by its age. The sum for a file is
bounded by the signal's weight."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from attrs import frozen

from cairn.protocol.feedback import FeedbackAction

STRENGTH: Mapping[FeedbackAction, float] = {
    FeedbackAction.OPEN: 0.5,
    FeedbackAction.COPY: 1.0,
    FeedbackAction.HELPFUL: 1.0,
    FeedbackAction.NOT_HELPFUL: -1.0,
}
"""The strength of an action. Opening a result may only be a check whether it is right, so it counts half."""

HALF_LIFE_DAYS = 30.0
"""A choice of a month ago counts half, as code changes. Ages are whole days for stable answers."""

DAY_S = 24 * 60 * 60
_LEAST_ALIKE = 0.5
"""Queries that share less than this of their stems are unrelated."""


@frozen
class Choice:
    stems: frozenset[str]
    path: str
    action: FeedbackAction
    at: int
    """Unix seconds."""


@frozen(eq=False)
class Learned:
    """All choices in one folder, as they count on one day."""

    version: tuple[int, int]
    """The generation of the choices and the day, which determine the contents."""
    _evidence: Mapping[frozenset[str], Mapping[str, float]]
    """The sum of choices for each file path, by the stems of an earlier query."""
    _by_stem: Mapping[str, Sequence[frozenset[str]]]

    def __bool__(self) -> bool:
        return bool(self._evidence)

    def values(self, stems: Set[str], idf: Mapping[str, float]) -> dict[str, float]:
        """Return the preference for each path, −1 to 1; a stem without `idf` gets the lowest."""
        lowest = min(idf.values(), default=1.0) or 1.0
        rarity = {stem: idf.get(stem, lowest) for stem in stems}
        whole = sum(rarity.values())
        common: defaultdict[frozenset[str], float] = defaultdict(float)
        for stem, weight in rarity.items():
            for query in self._by_stem.get(stem, ()):
                common[query] += weight
        evidence: defaultdict[str, float] = defaultdict(float)
        for query, shared in common.items():
            # The rarity of words that this query lacks is unknown; they get the average of its own.
            others = len(query - stems) * whole / len(rarity)
            alike = shared / (whole + others)
            if alike > _LEAST_ALIKE:
                counted = (alike - _LEAST_ALIKE) / (1 - _LEAST_ALIKE)
                for path, strength in self._evidence[query].items():
                    evidence[path] += counted * strength
        return {path: _bounded(strength) for path, strength in evidence.items() if strength}


def learn(choices: Iterable[Choice], generation: int, today: int) -> Learned:
    """Combine `choices` as of the day `today`, in days since 1970; later ones count like those of `today`."""
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
    """Return a value that approaches ±1 with more evidence: 0.39 for one opening, 0.63 for two."""
    return math.copysign(-math.expm1(-abs(evidence)), evidence)
