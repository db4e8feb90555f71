"""Score files by signals, each a named object with a weight and a reason (docs/ranking.md). Scoring files and
showing their best chunk was worth +0.055 NDCG@10 over ranking chunks. A signal's values are divided by their
maximum over the candidates (normalising by rank cost 0.006), then weighted."""

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
from cairn.retrieval.feedback_values import Learned
from cairn.retrieval.packages import Packages
from cairn.retrieval.query import Query
from cairn.text.words import stem, text_stems


class Family(enum.StrEnum):
    """What `alpha` balances: 0 is keywords alone, 1 vectors alone."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    FILE = "file"
    """About the file, whatever the query; `alpha` does not change it."""


FIRST_FILES = 20
"""Files that are examined more closely. With 30 or 60, large trees and 21 repositories rank within 0.003."""


@frozen(eq=False)
class CloserScores:
    """The scores of candidate files from a closer look; 0 for files that were not examined."""

    nearness: Floats
    """float64[files], 0 to 1: how near the nearest words of the best chunk are to the query's words."""
    whole: Floats
    """float64[files]: how far the whole file's cosine is above the median of the examined files."""


@frozen(eq=False)
class SignalInputs:
    """A query and all its candidates, with values that several signals use."""

    query: Query
    candidates: Candidates
    learned: Mapping[int, Learned] = field(factory=dict)
    idf: Mapping[str, float] = field(factory=dict)
    """The inverse document frequency of the query's stems."""
    packages: Sequence[Packages] = ()
    """How much the query is about the packages of each folder; empty if unknown."""
    folders: Sequence[float] = ()
    """Each folder's log likelihood of the query minus the highest, ≤ 0; empty for a single folder."""
    look: Callable[[NDArray[np.intp]], CloserScores] | None = None
    """Examines the files at these places; None without vectors, or if the query is a name."""
    closer: CloserScores | None = None
    """The result of `look`; None before it has run."""

    @cached_property
    def own_stems(self) -> frozenset[str]:
        return frozenset(map(stem, self.query.terms))

    @cached_property
    def kind_stems(self) -> frozenset[str]:
        """The stems that may ask for a kind of file; of a report, those of its title."""
        query = self.query
        return frozenset(text_stems(query.report.title)) if query.report else query.stems

    def share_of_query(self, stems: Iterable[str]) -> float:
        """Return the share of the query that these of its stems make up, 0 to 1, by idf if known."""
        return self._weight(set(stems)) / (self._whole or 1.0)

    @cached_property
    def _whole(self) -> float:
        return self._weight(self.own_stems)

    def _weight(self, stems: Set[str]) -> float:
        return sum(self.idf.get(each, 0.0) for each in stems) if self.idf else float(len(stems))

    def each(self, value: Callable[[FileCandidate], float]) -> Floats:
        return np.array([value(file) for file in self.candidates.files], np.float64)

    def of_kind(self, kind: str) -> Floats:
        return np.asarray(self._kinds == kind, np.float64)

    def nothing(self) -> Floats:
        """Return float64[files] of zeros: the values of a signal that does not apply."""
        return np.zeros(len(self.candidates.files))

    @cached_property
    def _kinds(self) -> NDArray[np.str_]:
        return np.array([file.kind for file in self.candidates.files], np.str_)


Value = Callable[[SignalInputs], Floats]
"""Returns float64[files]: a signal's value of each candidate file."""


@frozen
class Signal:
    """One reason why a file should rank higher or lower."""

    name: str
    weight: float
    family: Family
    value: Value
    """At least 0, or above −1 if signed."""
    relative: bool = True
    """Whether values are divided by their maximum; false if 1 already means "fully"."""
    floor: float = 0.0
    """The least divisor, so that the best of poor values stays poor."""
    always: bool = True
    """Whether it counts towards the best possible score even if no file has a positive value."""
    signed: bool = False
    in_reports: float | None = None
    of_first: bool = False
    """Whether it comes from the closer look, and so applies only to the files ranked first by the others."""

    def weight_for(self, query: Query) -> float:
        return self.weight if self.in_reports is None or query.report is None else self.in_reports


def of_file(name: str) -> Value:
    """Return a signal value: the file's field of `FileCandidate`."""
    return lambda inputs: inputs.each(attrgetter(name))


def of_closer_look(name: str) -> Value:
    """Return a signal value: a field of `CloserScores`."""
    return lambda inputs: getattr(inputs.closer, name) if inputs.closer else inputs.nothing()


def best(column: str) -> Value:
    """Return a signal value: the best chunk's number in a column of `Candidates`."""
    return lambda inputs: inputs.candidates.best(getattr(inputs.candidates, column))


def top(column: str, decay: Sequence[float]) -> Value:
    """Return a signal value: the decayed sum of the best chunks' numbers in a column of `Candidates`."""
    return lambda inputs: inputs.candidates.decayed(getattr(inputs.candidates, column), decay)


@frozen
class Contribution:
    signal: str
    value: float
    weight: float

    def __str__(self) -> str:
        return f"{self.signal}: {self.value:.2f} × {self.weight:g} = {self.value * self.weight:+.2f}"


@frozen
class Ranked:
    """A result: a chunk, its file's score, and the reasons."""

    folder: int
    stored: StoredChunk
    score: float
    """0 to 1."""
    source: str
    """`exact`, `keyword`, `embedding` or `hybrid`."""
    reasons: tuple[Contribution, ...]
    lines: tuple[int, int] | None = None
    """The lines `[first, last)` of the file to point at; None for its definition or beginning."""

    def positive_signals(self) -> tuple[str, ...]:
        """Return the names of the signals that raise the score, strongest first."""
        return tuple(reason.signal for reason in self.reasons if reason.value * reason.weight > 0)


@frozen(eq=False)
class Scores:
    totals: Floats
    """float64[files], 0 to 1."""
    _signals: Mapping[str, tuple[float, Floats]]
    """The weight and values, float64[files], of each signal with values other than 0."""

    def penalties(self) -> Floats:
        """Return float64[files]: what signals of negative weight took from each file's sum, 0 or more."""
        taken = np.zeros(len(self.totals))
        for weight, values in self._signals.values():
            taken += np.maximum(-weight * values, 0.0)
        return taken

    def reasons(self, place: int) -> tuple[Contribution, ...]:
        parts = (
            Contribution(name, float(values[place]), weight)
            for name, (weight, values) in self._signals.items()
            if values[place]
        )
        return tuple(sorted(parts, key=lambda part: -abs(part.value * part.weight)))


def score_files(inputs: SignalInputs, signals: Sequence[Signal]) -> Scores:
    sums = _Sums(inputs)
    for signal in (signal for signal in signals if not signal.of_first):
        sums.add(signal, inputs)
    later = [signal for signal in signals if signal.of_first and signal.weight_for(inputs.query)]
    if inputs.look is not None and later and len(sums.totals):
        first = np.argsort(-sums.totals, kind="stable")[:FIRST_FILES]
        looked = evolve(inputs, closer=inputs.look(first))
        for signal in later:
            sums.add(signal, looked)
    return Scores(_positive(sums.totals / (sums.best_possible or 1.0)), sums.contributions)


class _Sums:
    """The running sums of signals, and the best possible sum."""

    def __init__(self, inputs: SignalInputs) -> None:
        self.totals = np.zeros(len(inputs.candidates.files))
        self.best_possible = 0.0
        self.contributions: dict[str, tuple[float, Floats]] = {}
        alpha = inputs.query.alpha
        # At alpha 0.5 all families count fully; towards either end, the other one fades out.
        self._balance = {
            Family.KEYWORD: min(1.0, 2 * (1 - alpha)),
            Family.VECTOR: min(1.0, 2 * alpha),
            Family.FILE: 1.0,
        }
        # Without vectors, their signals do not count towards the best possible score.
        self._compared = inputs.candidates.similarity.any()

    def add(self, signal: Signal, inputs: SignalInputs) -> None:
        weight = signal.weight_for(inputs.query) * self._balance[signal.family]
        if not weight:
            return
        values = np.maximum(signal.value(inputs), -1.0 if signal.signed else 0.0)
        highest = values.max(initial=0.0)
        is_positive = highest > 0
        counts_anyway = signal.always and (self._compared or signal.family is not Family.VECTOR)
        if weight > 0 and (is_positive or counts_anyway):
            self.best_possible += weight
        if not (is_positive or values.min(initial=0.0) < 0):
            return
        if signal.relative:
            values /= max(signal.floor, highest)
        self.contributions[signal.name] = weight, values
        self.totals += weight * values


_FLOOR = 0.05
"""Lower shares are squeezed; sums of files without penalties lie above."""


def _positive(shares: Floats) -> Floats:
    """Map shares below 0.05, also negative ones, into (0, 0.05), in the same order; leave others unchanged.
    Penalties can outweigh all else, and even a workspace of tests alone has a best test."""
    return np.where(shares >= _FLOOR, shares, _FLOOR * np.exp(np.minimum(shares, _FLOOR) / _FLOOR - 1))
