"""Ranking signals: each a named object with a weight and the reason for it (docs/ranking.md has the measurements).

Files are scored, then their best chunk is shown: one result a file was worth +0.055 NDCG@10 over ranking chunks. A signal's
values are divided by their maximum over the candidates of the query (rank-normalising instead cost 0.006) and added with
its weight.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from operator import attrgetter

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from cairn.index.reader.records import StoredChunk
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.learned import Learned
from cairn.retrieval.packages import Packages
from cairn.retrieval.query import Query
from cairn.text.words import stem, text_stems


class Family(enum.StrEnum):
    """What `alpha` balances: 0 is keywords alone, 1 vectors alone."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    FILE = "file"
    """About the file whatever was asked; `alpha` leaves it alone."""


FIRST_FILES = 20
"""Files that are looked at more closely. With 30 or 60 the large trees' questions and those of 21 repositories rank within 0.003."""


@frozen(eq=False)
class Closer:
    """What a closer look at the first files says of each candidate file, 0 for the others."""

    nearness: Floats
    """float64[files], 0 to 1: how near the nearest words of its best chunk come to the words of the question."""
    whole: Floats
    """float64[files]: how far the cosine of the whole file lies above that of the usual one of the first files."""


@frozen(eq=False)
class Asked:
    """A question and all its candidates, with what several signals ask of them."""

    query: Query
    candidates: Candidates
    learned: Mapping[int, Learned] = field(factory=dict)
    """What earlier choices say, by folder."""
    idf: Mapping[str, float] = field(factory=dict)
    """The inverse document frequency of stems of the question."""
    packages: Sequence[Packages] = ()
    """How much the question is about the packages of each folder; empty where that is not known."""
    folders: Sequence[float] = ()
    """By folder, 0 at most: how much less likely than in the likeliest one the question's words are; empty where one is searched."""
    look: Callable[[NDArray[np.intp]], Closer] | None = None
    """Looks closer at the files at these places; None where vectors cannot be compared, or a name is asked for."""
    closer: Closer | None = None
    """What `look` said of the first files; None until they are known."""

    @cached_property
    def own_stems(self) -> frozenset[str]:
        """The stems of the question's own words."""
        return frozenset(map(stem, self.query.terms))

    @cached_property
    def asked_for_stems(self) -> frozenset[str]:
        """The stems by which kinds of files may be asked for: of a report those of its title."""
        query = self.query
        return frozenset(text_stems(query.report.title)) if query.report else query.stems

    def held_by(self, stems: Iterable[str]) -> float:
        """Share of the question that these of its stems make up, 0 to 1: rare ones count more, where that is known."""
        return self._weight(set(stems)) / (self._whole or 1.0)

    @cached_property
    def _whole(self) -> float:
        return self._weight(self.own_stems)

    def _weight(self, stems: Set[str]) -> float:
        return sum(self.idf.get(each, 0.0) for each in stems) if self.idf else float(len(stems))

    def each(self, value: Callable[[FileCandidate], float]) -> Floats:
        """float64[files]: what `value` says of each."""
        return np.array([value(file) for file in self.candidates.files], np.float64)

    def of_kind(self, kind: str) -> Floats:
        """float64[files]: 1 for those of the kind."""
        return np.asarray(self._kinds == kind, np.float64)

    def nothing(self) -> Floats:
        """float64[files]: what a signal says that does not speak."""
        return np.zeros(len(self.candidates.files))

    @cached_property
    def _kinds(self) -> NDArray[np.str_]:
        return np.array([file.kind for file in self.candidates.files], np.str_)


Value = Callable[[Asked], Floats]
"""float64[files]: what a signal says of each file that is asked about."""


@frozen
class Signal:
    """One reason why a file should stand higher or lower."""

    name: str
    weight: float
    family: Family
    value: Value
    """At least 0, or above −1 where it is signed; divided by the maximum over the candidates unless that is below 1 by
    nature."""
    relative: bool = True
    """Whether values are divided by their maximum; false where 1 already means "fully"."""
    floor: float = 0.0
    """Where no file has a higher value, values are divided by this: the best of poor ones is poor, too."""
    always: bool = True
    """Whether it may speak for any question; otherwise it counts towards the best possible score only where it does."""
    signed: bool = False
    """Whether it may speak against a file as well as for it."""
    in_reports: float | None = None
    """Its weight for reports, where that is another one."""
    of_first: bool = False
    """Whether it comes of the closer look, and so speaks for the files alone that the other signals rank first."""

    def weight_for(self, query: Query) -> float:
        """Its weight for a question or a report."""
        return self.weight if self.in_reports is None or query.report is None else self.in_reports


def of_file(name: str) -> Value:
    """What the file has in a field of `FileCandidate`."""
    return lambda asked: asked.each(attrgetter(name))


def of_closer_look(name: str) -> Value:
    """What is in a field of `Closer`."""
    return lambda asked: getattr(asked.closer, name) if asked.closer else asked.nothing()


def best(column: str) -> Value:
    """What the file's best chunk has in a column of `Candidates`."""
    return lambda asked: asked.candidates.best(getattr(asked.candidates, column))


def top(column: str, decay: Sequence[float]) -> Value:
    """What the file's best chunks have in a column of `Candidates`, each counting less."""
    return lambda asked: asked.candidates.decayed(getattr(asked.candidates, column), decay)


@frozen
class Contribution:
    """What one signal added to a file's score."""

    signal: str
    value: float
    weight: float

    def __str__(self) -> str:
        return f"{self.signal}: {self.value:.2f} × {self.weight:g} = {self.value * self.weight:+.2f}"


@frozen
class Ranked:
    """A result: a chunk, its file's score, and why."""

    folder: int
    stored: StoredChunk
    score: float
    """0 to 1."""
    source: str
    """`exact`, `keyword`, `embedding` or `hybrid`."""
    reasons: tuple[Contribution, ...]
    lines: tuple[int, int] | None = None
    """The lines `[first, last)` of the file for which it is shown; None where that is its definition or its beginning."""

    def spoken_for_by(self) -> tuple[str, ...]:
        """Names of the signals that speak for it, the strongest first."""
        return tuple(reason.signal for reason in self.reasons if reason.value * reason.weight > 0)


@frozen(eq=False)
class Scores:
    """The scores of some files, in their order, 0 to 1."""

    totals: Floats
    """float64[files]."""
    _spoken: Mapping[str, tuple[float, Floats]]
    """For each signal that speaks for or against a file its weight, and what it says of each."""

    def held_back(self) -> Floats:
        """float64[files]: what signals of negative weight took from each file's sum, 0 or more."""
        taken = np.zeros(len(self.totals))
        for weight, values in self._spoken.values():
            taken += np.maximum(-weight * values, 0.0)
        return taken

    def reasons(self, place: int) -> tuple[Contribution, ...]:
        """What made one file's score, strongest first."""
        parts = (
            Contribution(name, float(values[place]), weight)
            for name, (weight, values) in self._spoken.items()
            if values[place]
        )
        return tuple(sorted(parts, key=lambda part: -abs(part.value * part.weight)))


def score_files(asked: Asked, signals: Sequence[Signal]) -> Scores:
    """The scores of the files that are asked about."""
    sums = _Sums(asked)
    for signal in (signal for signal in signals if not signal.of_first):
        sums.add(signal, asked)
    later = [signal for signal in signals if signal.of_first and signal.weight_for(asked.query)]
    if asked.look is not None and later and len(sums.totals):
        first = np.argsort(-sums.totals, kind="stable")[:FIRST_FILES]
        looked = evolve(asked, closer=asked.look(first))
        for signal in later:
            sums.add(signal, looked)
    return Scores(_positive(sums.totals / (sums.best_possible or 1.0)), sums.spoken)


class _Sums:
    """What signals add up to, and what they could at best."""

    def __init__(self, asked: Asked) -> None:
        self.totals = np.zeros(len(asked.candidates.files))
        self.best_possible = 0.0
        self.spoken: dict[str, tuple[float, Floats]] = {}
        alpha = asked.query.alpha
        # At alpha 0.5 all families count in full; towards either end, the other one fades.
        self._balance = {
            Family.KEYWORD: min(1.0, 2 * (1 - alpha)),
            Family.VECTOR: min(1.0, 2 * alpha),
            Family.FILE: 1.0,
        }
        # Without vectors nothing can score by them: then the words alone make up the whole.
        self._compared = asked.candidates.similarity.any()

    def add(self, signal: Signal, asked: Asked) -> None:
        """Add what a signal says of each file."""
        weight = signal.weight_for(asked.query) * self._balance[signal.family]
        if not weight:
            return
        values = np.maximum(signal.value(asked), -1.0 if signal.signed else 0.0)
        highest = values.max(initial=0.0)
        speaks = highest > 0
        may_speak = signal.always and (self._compared or signal.family is not Family.VECTOR)
        if weight > 0 and (speaks or may_speak):
            self.best_possible += weight
        if not (speaks or values.min(initial=0.0) < 0):
            return
        if signal.relative:
            values /= max(signal.floor, highest)
        self.spoken[signal.name] = weight, values
        self.totals += weight * values


_FLOOR = 0.05
"""Shares below this are squeezed; sums of files that no penalty holds back lie above."""


def _positive(shares: Floats) -> Floats:
    """`shares` themselves above 0.05; below, and below 0, ever closer to 0 but in the same order.

    Penalties can outweigh everything a file has, and a workspace of tests alone still has a best test.
    """
    return np.where(shares >= _FLOOR, shares, _FLOOR * np.exp(np.minimum(shares, _FLOOR) / _FLOOR - 1))
