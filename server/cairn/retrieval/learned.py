"""What earlier choices say of files: those that were opened for a question count more when one like it is asked again.

Of each question only its stems are known. A choice speaks for its file by how alike the two questions are and by how long
ago it was; what all choices say together is bounded, so that no file gains more than the signal's weight.
"""

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
"""How much an action says. Who opens a result may only look whether it is the right one, so that says half."""

HALF_LIFE_DAYS = 30.0
"""Code moves on: a choice of a month ago says half of what one of today says. Days are counted whole, so that an answer
is the same for all of a day."""

DAY_S = 24 * 60 * 60
_LEAST_ALIKE = 0.5
"""Questions that have less than this of their stems in common have nothing to do with each other."""


@frozen
class Choice:
    """One action on one file."""

    stems: frozenset[str]
    """Of the question's own words."""
    path: str
    action: FeedbackAction
    at: int
    """Unix seconds."""


@frozen(eq=False)
class Learned:
    """All choices in one folder, as they count on one day."""

    version: tuple[int, int]
    """The generation of the choices, and the day: what is learned is the same while it is."""
    _evidence: Mapping[frozenset[str], Mapping[str, float]]
    """For each question that was asked before, by its stems, what its choices say of files by now, by path."""
    _by_stem: Mapping[str, Sequence[frozenset[str]]]
    """For each stem the questions that have it."""

    def __bool__(self) -> bool:
        """Whether there are any choices."""
        return bool(self._evidence)

    def values(self, asked: Set[str], idf: Mapping[str, float]) -> dict[str, float]:
        """What is learned of files for a question of the stems `asked`, by path: −1 to 1, and nothing of most files.

        `idf` is the inverse document frequency of stems; one that is not in there counts as the most frequent of them.
        """
        lowest = min(idf.values(), default=1.0) or 1.0
        rarity = {stem: idf.get(stem, lowest) for stem in asked}
        whole = sum(rarity.values())
        common: defaultdict[frozenset[str], float] = defaultdict(float)
        for stem, weight in rarity.items():
            for question in self._by_stem.get(stem, ()):
                common[question] += weight
        evidence: defaultdict[str, float] = defaultdict(float)
        for question, shared in common.items():
            # How rare words are that are not asked about now is not known: as rare as the others on average.
            others = len(question - asked) * whole / len(rarity)
            alike = shared / (whole + others)
            if alike > _LEAST_ALIKE:
                counted = (alike - _LEAST_ALIKE) / (1 - _LEAST_ALIKE)
                for path, said in self._evidence[question].items():
                    evidence[path] += counted * said
        return {path: _bounded(said) for path, said in evidence.items() if said}


def learn(choices: Iterable[Choice], generation: int, today: int) -> Learned:
    """What `choices` say on the day `today`, in days since 1970. One of the future says what one of today says."""
    evidence: defaultdict[frozenset[str], defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for choice in choices:
        age = max(0, today - choice.at // DAY_S)
        evidence[choice.stems][choice.path] += STRENGTH[choice.action] * 0.5 ** (age / HALF_LIFE_DAYS)
    by_stem: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for question in evidence:
        for stem in question:
            by_stem[stem].append(question)
    return Learned((generation, today), evidence, by_stem)


def _bounded(evidence: float) -> float:
    """Ever closer to 1, or −1, the more was said: 0.39 opened once, 0.63 twice."""
    return math.copysign(-math.expm1(-abs(evidence)), evidence)
