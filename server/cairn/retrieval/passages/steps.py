"""Find steps: the functions that a flow passes through, found by following calls. Functions that call each
other answer a question about what happens in order. Some of these contain few words of the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field, frozen

from cairn.chunking.outline import CALLABLE
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import Edge, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Cancelled
from cairn.retrieval.candidates import Floats
from cairn.workspace.collections import FileKind, file_kind

_BESIDE = frozenset({FileKind.TESTS, FileKind.EXAMPLES})

# Halving or doubling any of these changes the share of facts found for 22 questions by less than 0.02.
_STARTS = 6
"""The number of best functions from which the walk starts."""
_STEPS = 7
_LINK = 0.5
"""The share of a function's worth that it passes on to its callees and callers."""
_BY_NAME = 0.7
"""The part of this share that depends on how near a neighbour's name is to the question."""
_BY_THREE = 0.6
"""The weight of the mean of a function's three best windows in its worth. The best alone has the rest."""

_LEAST_CONFIDENCE = 0.5
_MOST_CALLS, _MOST_CALLERS = 200, 20
_MOST_CHUNKS = 40
_NAMES_SHOWN = 3


@frozen
class ScoredLines:
    """Lines `[first, last)` of a file with their score."""

    folder: int
    path: str
    first: int
    last: int
    score: float


@frozen
class Step:
    folder: int
    place: Place
    worth: float
    """The likelihood that the function belongs to the flow, 0 to 1."""
    calls: frozenset[int]
    """The lines of the file that call definitions of the workspace."""
    reason: str

    def overlaps(self, folder: int, path: str, first: int, last: int) -> bool:
        is_its_file = folder == self.folder and path == self.place.path
        return is_its_file and first < self.place.end_line and self.place.start_line < last


_Function = tuple[int, Place]


@define(eq=False)
class Walk:
    """Walks from the functions that best match a question to their callees and callers."""

    readers: Sequence[IndexReader]
    cancelled: Cancelled
    nearness: Callable[[Sequence[str]], Floats]
    """Returns float64[texts], 0 to 1: the similarity of each text to the question."""
    goes_to: Callable[[int, str], bool]
    """Returns whether the walk may enter a file, given by folder and path."""
    _graphs: list[ReferenceGraph] = field(init=False)
    _worth: defaultdict[_Function, float] = field(factory=lambda: defaultdict(float), init=False)
    _calls: dict[_Function, Sequence[Edge]] = field(factory=dict, init=False)
    _reasons: dict[_Function, tuple[float, str]] = field(factory=dict, init=False)
    """The highest worth that a neighbour passed on to each function, and a reason that names it."""

    def __attrs_post_init__(self) -> None:
        self._graphs = [ReferenceGraph(reader, self.cancelled) for reader in self.readers]

    def steps(self, found: Iterable[ScoredLines]) -> tuple[Step, ...]:
        """Return the functions of the flow, the likeliest first. `found` are lines of code, best first."""
        fitting = self._functions(found)
        self._worth.update(fitting)
        starts = sorted(fitting, key=fitting.__getitem__, reverse=True)[:_STARTS]
        for function in starts:
            self._follow(function, fitting[function])
        for function in starts:
            self._enter(function, fitting[function])
        taken: dict[_Function, float] = {}
        while len(taken) < _STEPS and (left := [each for each in self._worth if each not in taken]):
            best = max(left, key=self._worth.__getitem__)
            taken[best] = self._worth[best]
            if best not in self._calls:
                self._follow(best, taken[best])
        most = max(taken.values(), default=0.0) or 1.0
        return tuple(self._step(function, worth / most) for function, worth in taken.items())

    def _functions(self, found: Iterable[ScoredLines]) -> dict[_Function, float]:
        """Return the worth, 0 to 1, of each function that contains found lines, by the scores of these."""
        scores: defaultdict[_Function, list[float]] = defaultdict(list)
        for each in found:
            graph = self._graphs[each.folder]
            for place in {graph.around(each.path, line) for line in range(each.first, each.last)}:
                if place is not None and place.kind in CALLABLE:
                    scores[each.folder, place].append(max(0.0, each.score))
        best = max((values[0] for values in scores.values()), default=0.0) or 1.0
        return {
            function: ((1 - _BY_THREE) * values[0] + _BY_THREE * sum(values[:3]) / 3) / best
            for function, values in scores.items()
        }

    def _follow(self, function: _Function, worth: float) -> None:
        folder, place = function
        edges = self._graphs[folder].callees(place, _MOST_CALLS).found
        sure = [each for each in edges if each.target is not None and _counts(each, each.target)]
        self._calls[function] = sure
        called = {each.target: each.confidence for each in sure if each.target is not None}
        self._spread(function, worth, called, f"called by `{place.name}`")

    def _enter(self, function: _Function, worth: float) -> None:
        folder, place = function
        edges = self._graphs[folder].callers([place], _MOST_CALLERS).found
        calling = {
            each.enclosing: each.confidence
            for each in edges
            if each.enclosing is not None and _counts(each, each.enclosing)
        }
        self._spread(function, worth, calling, f"calls `{place.name}`")

    def _spread(self, source: _Function, worth: float, to: dict[Place, float], reason: str) -> None:
        functions = [
            place
            for place in to
            if place.kind in CALLABLE and place != source[1] and self.goes_to(source[0], place.path)
        ]
        if not functions:
            return
        near = self.nearness([_described(place) for place in functions]).tolist()
        for place, by_name in zip(functions, near, strict=True):
            function = source[0], place
            given = _LINK * worth * to[place] * (1 - _BY_NAME + _BY_NAME * by_name)
            self._worth[function] += given
            if given > self._reasons.get(function, (0.0, ""))[0]:
                self._reasons[function] = given, reason

    def _step(self, function: _Function, worth: float) -> Step:
        calls = self._calls.get(function, ())
        names = list(dict.fromkeys(f"`{each.name}`" for each in calls))[:_NAMES_SHOWN]
        _, reason = self._reasons.get(function, (0.0, f"calls {', '.join(names)}" if names else ""))
        return Step(*function, worth, frozenset(each.line for each in calls), reason)


def _counts(edge: Edge, neighbour: Place) -> bool:
    return edge.confidence >= _LEAST_CONFIDENCE and file_kind(neighbour.path) not in _BESIDE


def _described(place: Place) -> str:
    return f"{place.path.rpartition('/')[2].partition('.')[0]} {place.qualified}"


def chunks_of(steps: Iterable[Step], folder: int, reader: IndexReader) -> list[int]:
    found: dict[int, None] = {}
    for step in steps:
        if step.folder == folder:
            stored = reader.between(step.place.path, step.place.start_line, step.place.end_line)
            found.update(dict.fromkeys(each.id for each in stored[:_MOST_CHUNKS]))
    return list(found)
