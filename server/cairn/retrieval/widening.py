"""Find further code for two kinds of questions. For a flow, these are its steps: functions that call each
other answer a question about what happens in order, and some contain few words of the question. For a change,
these are also families: names that a program lists one by one, such as the formats that it reads. A user who
wants to add another member needs to see such lists, and code that mentions several members."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from attrs import define, field, frozen

from cairn.chunking.outline import CALLABLE
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.references.edges import Edge, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.candidates import Floats
from cairn.retrieval.windows import Passage, definition_worth
from cairn.text.identifiers import words_in
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

_LEAST_CONFIDENCE = 0.5
_MOST_CALLS, _MOST_CALLERS = 200, 20
MOST_FILES = 20
"""The number of files with a name up to which its definitions and uses are followed. A name in more files
tells little: with 40, as much is shown or named. With 400, a discovery in 113,547 chunks takes 1.6 times the
processor time, for the symbol tables of these files."""
_MOST_CHUNKS = 40
_NAMES_SHOWN = 3


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
        self._graphs = [ReferenceGraph(reader, MOST_FILES) for reader in self.readers]

    def steps(self, found: Iterable[Passage]) -> tuple[Step, ...]:
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

    def _functions(self, found: Iterable[Passage]) -> dict[_Function, float]:
        """Return the worth, 0 to 1, of each function that contains found lines, by the scores of these."""
        scores: defaultdict[_Function, list[float]] = defaultdict(list)
        for each in found:
            graph = self._graphs[each.folder]
            for place in {graph.around(each.stored.path, line) for line in range(each.first, each.last)}:
                if place is not None and place.kind in CALLABLE:
                    scores[each.folder, place].append(max(0.0, each.score))
        best = max((values[0] for values in scores.values()), default=0.0) or 1.0
        return {function: definition_worth(values) / best for function, values in scores.items()}

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


Family = tuple[str, ...]

_FEWEST_MEMBERS, _MOST_MEMBERS = 3, 12
_MOST_FAMILIES = 2
_LEAST_LETTERS = 2
_SHORT_LINE = 8
_MOST_MENTIONING = 40
"""The maximum number of chunks added for each family because they mention its members."""
_ALL_COLUMNS = ColumnWeights()

_NAME = re.compile(r"[A-Za-z0-9_$]+")
_SHAPE = re.compile(r"[A-Za-z0-9_$]+|\s+")


def families(texts: Sequence[Sequence[str]]) -> tuple[Family, ...]:
    """Return the first families listed in `texts`, sequences of lines, the most promising text first."""
    found: list[Family] = []
    for lines in texts:
        for run in lists(lines):
            members = _members(run)
            if len(members) >= _FEWEST_MEMBERS and not any(set(members) & set(other) for other in found):
                found.append(members)
                if len(found) == _MOST_FAMILIES:
                    return tuple(found)
    return tuple(found)


def lists(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield each run of similar lines, such as registrations."""
    bare = [line.strip() for line in lines]
    shapes = [_SHAPE.sub("x", line) if len(line) > _SHORT_LINE else "" for line in bare]
    run = bare[:1]
    for (before, shape), line in zip(pairwise(shapes), bare[1:], strict=False):
        if shape and shape == before:
            run.append(line)
            continue
        if len(run) >= _FEWEST_MEMBERS:
            yield run
        run = [line]
    if len(run) >= _FEWEST_MEMBERS:
        yield run


def _members(run: Sequence[str]) -> Family:
    """Return the names at the first position where all lines differ, without words common to all."""
    rows = [_NAME.findall(line) for line in run]
    for names in zip(*rows, strict=False):
        if len({name.lower() for name in names}) < len(names):
            continue
        words = [words_in(name) for name in names]
        common = set(words[0]).intersection(*words[1:])
        members = dict.fromkeys("".join(word for word in each if word not in common) for each in words)
        known = [each for each in members if len(each) >= _LEAST_LETTERS and not each.isdigit()]
        if len(known) >= _FEWEST_MEMBERS:
            return tuple(known[:_MOST_MEMBERS])
    return ()


def mentioning(reader: IndexReader, found: Sequence[Family], only: ChunkFilter) -> list[int]:
    """Return the ids of chunks that mention members of the families, the best matches of each first."""
    ids: dict[int, None] = {}
    for family in found:
        hits = reader.keywords(family, _ALL_COLUMNS, _MOST_MENTIONING, only)
        ids.update(dict.fromkeys(hit.chunk_id for hit in hits))
    return list(ids)


def most_members_in(found: Sequence[Family], text: str) -> int:
    names = set(_NAME.findall(text))
    known = {name.lower().replace("_", "") for name in names}
    known.update(word for name in names for word in words_in(name))
    return max((len(known.intersection(family)) for family in found), default=0)
