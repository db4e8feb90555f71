"""Score files by signals, objects with a weight and a name that explains results (docs/ranking.md). Scoring
files and showing the best chunk of each raised NDCG@10 by 0.055 over ranking chunks. A signal's values are
divided by their maximum over the candidates, then weighted. Normalising by rank lowered NDCG@10 by 0.006.
Near-duplicates among the results are demoted, and further results of a file are damped."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Generic, TypeVar

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from cairn.index.reader.records import StoredChunk
from cairn.index.store.deadline import check_end
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.feedback_values import Learned
from cairn.retrieval.packages import Packages
from cairn.retrieval.query import Query
from cairn.settings.tree import DiversitySettings
from cairn.text.words import stem, text_stems


class Family(enum.StrEnum):
    """The families of signals that `alpha` balances: 0 means keywords alone, 1 means vectors alone."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    FILE = "file"
    """Signals of the file itself, whatever the query. `alpha` does not change them."""


FIRST_FILES = 20
"""The number of best files that get a closer look. With 30 or 60, NDCG@10 differs by less than 0.003."""


@frozen(eq=False)
class CloserScores:
    """The scores from a closer look at candidate files; 0 for files that were not examined."""

    nearness: Floats
    """float64[files], 0 to 1: how near the best chunk's words are to the query's words by meaning."""
    whole: Floats
    """float64[files]: the cosine of the whole file minus the median of the examined files, at least 0."""


@frozen(eq=False)
class SignalInputs:
    """A query, its candidates, and values that several signals use."""

    query: Query
    candidates: Candidates
    learned: Mapping[int, Learned] = field(factory=dict)
    idf: Mapping[str, float] = field(factory=dict)
    """The inverse document frequency of the query's stems."""
    packages: Sequence[Packages] = ()
    """The relevance of the packages of each folder to the query; empty if unknown."""
    folders: Sequence[float] = ()
    """The log likelihood of the query in each folder minus the highest; empty for a single folder."""
    look: Callable[[NDArray[np.intp]], CloserScores] | None = None
    """Examines the files at these indexes; None without vectors, or if the query is a name."""
    closer: CloserScores | None = None
    """The result of `look`; None before the closer look."""

    @cached_property
    def own_stems(self) -> frozenset[str]:
        return frozenset(map(stem, self.query.terms))

    @cached_property
    def kind_stems(self) -> frozenset[str]:
        """The stems that may ask for a kind of file; for a report, those of its title."""
        query = self.query
        return frozenset(text_stems(query.report.title)) if query.report else query.stems

    def share_of_query(self, stems: Iterable[str]) -> float:
        """Return the share of the query that these of its stems have, 0 to 1, weighted by idf if known."""
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
        """Return float64[files] of zeros, for a signal that does not apply."""
        return np.zeros(len(self.candidates.files))

    @cached_property
    def _kinds(self) -> NDArray[np.str_]:
        return np.array([file.kind for file in self.candidates.files], np.str_)


Inputs = TypeVar("Inputs")


@frozen
class Signal(Generic[Inputs]):
    """A property by which files, windows of lines, or passages for evidence rank higher or lower. A score is
    the sum of all signals, each times its weight."""

    key: str
    title: str
    """The name that users see in explanations and use in settings."""
    weight: float
    value: Callable[[Inputs], Floats]
    """Returns float64: a value for each file, window or passage. The values are at least 0; those of a signed
    signal are at least −1."""
    family: Family = Family.FILE
    relative: bool = True
    """Whether values of files are divided by their maximum. This is false if 1 has a fixed meaning."""
    floor: float = 0.0
    """The minimum divisor, so that low values stay low even if they are the highest."""
    always: bool = True
    """Whether the signal counts towards the best possible score even if no file has a positive value."""
    signed: bool = False
    in_reports: float | None = None
    of_first: bool = False
    """Whether the signal needs the closer look, so that it applies only to the files ranked first."""
    reason: str = ""
    """What a window shows as its reason; "" if it would say little to users."""

    def weight_for(self, query: Query) -> float:
        return self.weight if self.in_reports is None or query.report is None else self.in_reports


def by_key(signals: Sequence[Signal[Inputs]], *keys: str) -> list[int]:
    """Return the places of the signals with these keys."""
    return [place for place, signal in enumerate(signals) if signal.key in keys]


FileSignal = Signal[SignalInputs]
Value = Callable[[SignalInputs], Floats]
"""Returns float64[files]: the signal's value for each candidate file."""


def of_file(name: str) -> Value:
    """Return the signal value that is this field of `FileCandidate`."""
    return lambda inputs: inputs.each(attrgetter(name))


def of_closer_look(name: str) -> Value:
    """Return the signal value that is this field of `CloserScores`."""
    return lambda inputs: getattr(inputs.closer, name) if inputs.closer else inputs.nothing()


def best(column: str) -> Value:
    """Return the signal value that is the highest value of a file's chunks in this column of `Candidates`."""
    return lambda inputs: inputs.candidates.best(getattr(inputs.candidates, column))


def top(column: str, decay: Sequence[float]) -> Value:
    """Return the signal value that is the decayed sum of a file's best values in a column of `Candidates`."""
    return lambda inputs: inputs.candidates.decayed(getattr(inputs.candidates, column), decay)


@frozen
class Contribution:
    signal: str
    """The signal's title, or the name of a relation."""
    value: float
    weight: float

    def __str__(self) -> str:
        return f"{self.signal}: {self.value:.2f} × {self.weight:g} = {self.value * self.weight:+.2f}"


@frozen
class Ranked:
    """A result: a chunk, its file's score, and the reasons for the score."""

    folder: int
    stored: StoredChunk
    score: float
    """The score, 0 to 1."""
    source: str
    """The kind of search that found it: `exact`, `keyword`, `embedding` or `hybrid`."""
    reasons: tuple[Contribution, ...]
    lines: tuple[int, int] | None = None
    """The lines `[first, last)` of the file to select; None for the chunk's definition or beginning."""

    def with_score(self, score: float) -> Ranked:
        return self if score == self.score else evolve(self, score=score)

    def positive_signals(self) -> tuple[str, ...]:
        """Return the names of the signals that raised the score, strongest first."""
        return tuple(reason.signal for reason in self.reasons if reason.value * reason.weight > 0)


@frozen(eq=False)
class Scores:
    totals: Floats
    """float64[files]: the scores of the files, 0 to 1."""
    _signals: Mapping[str, tuple[float, Floats]]
    """The weight and values, float64[files], of each signal that has values other than 0."""
    _reasons: dict[int, tuple[Contribution, ...]] = field(factory=dict, init=False)

    def penalties(self) -> Floats:
        """Return float64[files]: how much signals of negative weight reduced each file's sum, at least 0."""
        taken = np.zeros(len(self.totals))
        for weight, values in self._signals.values():
            taken += np.maximum(-weight * values, 0.0)
        return taken

    def reasons(self, place: int) -> tuple[Contribution, ...]:
        """Return what each signal adds to the score of a file, the strongest first."""
        if place not in self._reasons:
            parts = (
                Contribution(name, float(values[place]), weight)
                for name, (weight, values) in self._signals.items()
                if values[place]
            )
            self._reasons[place] = tuple(sorted(parts, key=lambda part: -abs(part.value * part.weight)))
        return self._reasons[place]


def score_files(inputs: SignalInputs, signals: Sequence[FileSignal]) -> Scores:
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
    """The sums of signals so far, and the best possible sum."""

    def __init__(self, inputs: SignalInputs) -> None:
        self.totals = np.zeros(len(inputs.candidates.files))
        self.best_possible = 0.0
        self.contributions: dict[str, tuple[float, Floats]] = {}
        alpha = inputs.query.alpha
        # At alpha 0.5, both families have their full weight. Towards either end, the other family fades out.
        self._balance = {
            Family.KEYWORD: min(1.0, 2 * (1 - alpha)),
            Family.VECTOR: min(1.0, 2 * alpha),
            Family.FILE: 1.0,
        }
        # Without vectors, the signals by vectors do not count towards the best possible score.
        self._compared = inputs.candidates.similarity.any()

    def add(self, signal: FileSignal, inputs: SignalInputs) -> None:
        check_end()
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
        self.contributions[signal.title] = weight, values
        self.totals += weight * values


_FLOOR = 0.05
"""The minimum share that stays as it is. Files without penalties are above; lower shares are compressed."""


def _positive(shares: Floats) -> Floats:
    """Map shares below 0.05, including negative ones, into (0, 0.05) in the same order. Other shares stay
    unchanged. Penalties can outweigh all else, yet even a workspace of tests alone has a best test."""
    return np.where(shares >= _FLOOR, shares, _FLOOR * np.exp(np.minimum(shares, _FLOOR) / _FLOOR - 1))


# --- diversity of results ----------------------------------------------------------------------------

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 8
"""Texts of fewer words are similar by chance: they are copies only if they are equal."""
_COMPARED_WORDS = 2_000


def diversify(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    """Damp the scores of repeated files in `ranked`, which is best first. Return the results, best first,
    near-duplicates last. A file's tenth result is damped like its second. Equal scores keep their order."""
    copies = _copies(ranked, settings)
    distinct = _damped([result for place, result in enumerate(ranked) if place not in copies], settings)
    lowest = distinct[-1].score if distinct else 0.0
    behind = [
        evolve(result, score=min(lowest, result.score * settings.near_duplicate))
        for place, result in enumerate(ranked)
        if place in copies
    ]
    return distinct + sorted(behind, key=lambda result: -result.score)


def first_of_files(ranked: Iterable[Ranked]) -> list[Ranked]:
    files: dict[tuple[int, str], Ranked] = {}
    for result in ranked:
        files.setdefault((result.folder, result.stored.path), result)
    return list(files.values())


def is_diverse(ranked: Sequence[Ranked], settings: DiversitySettings) -> bool:
    """Return whether `diversify` would leave `ranked` unchanged, whatever results follow."""
    files = {(result.folder, result.stored.path) for result in ranked}
    if settings.file < 1 and len(files) < len(ranked):
        return False
    return not _copies(ranked, settings)


def _copies(ranked: Sequence[Ranked], settings: DiversitySettings) -> set[int]:
    return near_duplicates(ranked, settings.similarity) if settings.near_duplicate < 1 else set()


def _damped(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    files: set[tuple[int, str]] = set()
    damped = []
    for result in ranked:
        file = (result.folder, result.stored.path)
        damped.append(evolve(result, score=result.score * settings.file) if file in files else result)
        files.add(file)
    return sorted(damped, key=lambda result: -result.score)


def near_duplicates(ranked: Sequence[Ranked], similarity: float, enough: int | None = None) -> set[int]:
    """Return the positions of the results whose text nearly equals that of a better result. `similarity` is
    the minimum Jaccard similarity, 0 to 1, of the word pairs of two duplicates. After `enough` distinct
    results, the rest is not examined."""
    copies: set[int] = set()
    texts: set[str] = set()
    known: list[frozenset[tuple[str, str]]] = []
    for place, result in enumerate(ranked):
        if len(known) == enough:
            break
        text = result.stored.chunk.text
        pairs = _pairs(text)
        if text.strip() in texts or (pairs and any(_alike(pairs, other, similarity) for other in known)):
            copies.add(place)
        else:
            texts.add(text.strip())
            known.append(pairs)
    return copies


def _alike(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]], similarity: float) -> bool:
    # Sets of too different sizes cannot reach the similarity. This check settles most comparisons.
    smaller, larger = sorted((len(one), len(other)))
    if smaller < similarity * larger:
        return False
    shared = len(one & other)
    return shared >= similarity * (len(one) + len(other) - shared)


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of adjacent words in a text; none if the text is too short to compare. Single words
    would not do: the code of one project repeats the same words in another order."""
    words = _WORD.findall(text.lower())[:_COMPARED_WORDS]
    return frozenset(pairwise(words)) if len(words) >= _FEWEST_WORDS else frozenset()
