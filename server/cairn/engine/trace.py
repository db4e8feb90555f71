"""Traces: what runs from a definition on, in order, or what leads from one definition to another.

A trace is a tree of calls in the order of the code, below each call those of the called function. Its size is
limited, so the functions that say most are followed first: those with much code in them and in what they
call, near the start and surely meant. `ReferenceGraph.flow` also knows functions that are handed over, values
that contain functions, and overrides of abstract methods.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence, Set

from attrs import define, evolve, field, frozen
from tree_sitter import Tree

from cairn.chunking.branches import branches, parsed
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import CALLS, Edge, Place
from cairn.index.references.flow import Flow
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.languages.registry import language_of
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind

_SURE_ENOUGH = 0.4
"""Calls of lower confidence are left out: they mean one of several members of that name."""
_SURE_VALUE = 0.8
"""Names of functions that are only mentioned need this confidence, since a field may have the same name."""
_NAMED_BY_BRANCH = 0.8
_TRIVIAL = 3
"""A function of at most this many lines is shown only if the start calls it, or if it leads further."""
_DEEPEST = 10
_DECAY = 0.8
"""The factor by which a function's worth falls with each level."""
_LONGEST = 80
"""The number of lines from which a longer function is not worth more."""
_SHARE = 0.5
"""The share of the limit that the calls of the start may take from those further away."""
_FEWEST = 8
_MOST_OVERRIDES = 8
"""A method with more overrides is not followed."""
_MOST_SEARCHED = 1_000
"""The number of definitions at which the search for a way ends after the level, at 1 to 20 ms each."""
_CALLERS = 3
"""The number of levels of callers that are searched from the end of a way."""
_MOST_CALLERS = 100

_WORD = re.compile(r"\w+")
_LOGGERS = ("log", "logger", "logging", "console")
"""The ends of the names of types and modules that log, in lower case."""
_LOG_LEVELS = frozenset("trace debug info notice warn warning error fatal critical log exception".split())
_PRINTS = frozenset(
    """log print println printf eprint eprintln eprintf dbg log_debug log_info log_warn log_warning log_error
    printk pr_debug pr_info pr_warn pr_err""".split()
)


@frozen
class Step:
    """A call in a trace."""

    edge: Edge
    depth: int
    """The level, from 1."""
    parent: int | None
    """The index of the step to whose target the call belongs; None for those of the start."""
    within: tuple[str, ...]
    """The branches around the call, outermost first."""
    unfollowed: int
    """The number of calls in the target, if the trace shows none of them."""


@frozen
class Trace:
    steps: tuple[Step, ...] = ()
    complete: bool = True
    message: str = ""


@frozen(order=True)
class _Waiting:
    """A definition that a trace may follow. The one with the lowest first number is next."""

    worth: float
    """The worth, below 0."""
    number: int
    place: Place = field(order=False)
    depth: int = field(order=False)
    sure: float = field(order=False)
    """The confidence that the start reaches the definition."""


@define(eq=False)
class _Search:
    """A breadth-first search for the shortest ways.

    Once it meets functions that are `near` its end, it goes on only from these: all others are farther away.
    """

    near: Collection[Place] = ()
    levels: dict[Place, int] = field(factory=dict)
    """The number of calls from the start to each definition."""
    edges: dict[Place, list[Edge]] = field(factory=dict)
    """The calls of each definition from those one level above, with these as `enclosing`."""
    depth: int = 0
    is_complete: bool = True
    """Whether everything that the start reaches was searched."""
    is_narrow: bool = False

    def run(
        self, start: Place, wanted: Set[Place], flow: Callable[[Place], Sequence[Edge]], deepest: int
    ) -> None:
        self.levels[start] = 0
        level = [start]
        while level and not wanted & self.levels.keys():
            if self.depth == deepest or len(self.levels) > _MOST_SEARCHED:
                self.is_complete = False
                return
            self.depth += 1
            for place in level:
                check_end()
                for edge in flow(place):
                    self._add(place, edge)
            found = [place for place, depth in self.levels.items() if depth == self.depth]
            level = [place for place in found if place in self.near]
            self.is_narrow = self.is_narrow or bool(level)
            level = level or ([] if self.is_narrow else found)

    def _add(self, place: Place, edge: Edge) -> None:
        target = edge.target
        if target is not None and self.levels.setdefault(target, self.depth) == self.depth:
            self.edges.setdefault(target, []).append(evolve(edge, enclosing=place))


@define(eq=False)
class Tracer:
    """Traces in one folder."""

    graph: ReferenceGraph
    reader: IndexReader
    limit: int
    depth: int | None
    _flows: dict[Place, tuple[Edge, ...]] = field(factory=dict, init=False)
    _start: Place | None = field(default=None, init=False)
    flow: Flow = field(init=False)
    _trees: dict[str, tuple[Tree | None, Sequence[str]]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.flow = Flow(self.graph)

    def trace(self, start: Place) -> Trace:
        """Return what runs when `start` runs, at most `limit` calls."""
        self._start = start
        followed: dict[Place, list[Edge]] = {}
        waiting = [_Waiting(0.0, 0, start, 0, 1.0)]
        depths: dict[Place, int] = {}
        room, is_whole, number = self.limit, True, 0
        while waiting:
            check_end()
            each = heapq.heappop(waiting)
            if each.place in followed or not self._worth_showing(each.place, each.depth):
                continue
            share = max(_FEWEST, int(self.limit * _SHARE * _DECAY**each.depth))
            kept = self._kept(each.place, each.depth, min(share, self.limit))
            if each.depth >= (self.depth or _DEEPEST) or len(kept) > room:
                is_whole = False
                continue
            followed[each.place], depths[each.place] = kept, each.depth
            room -= len(kept)
            for edge in kept:
                assert edge.target is not None
                number += 1
                sure = each.sure * edge.confidence
                worth = self._worth(edge.target) * sure * _DECAY**each.depth
                heapq.heappush(waiting, _Waiting(-worth, number, edge.target, each.depth + 1, sure))
        for place, kept in followed.items():
            followed[place] = self._kept(place, depths[place], len(kept) + room)
            room -= len(followed[place]) - len(kept)
            is_whole = is_whole and len(followed[place]) == len(self._worth_showing(place, depths[place]))
        return Trace(self._in_order(start, followed), is_whole)

    def ways(self, start: Place, ends: Sequence[Place]) -> Trace:
        """Return the shortest ways of calls from `start` to one of `ends`."""
        self._start = start
        wanted = ({self.flow.constructor(each) for each in ends} | set(ends)) - {start}
        search = _Search(self._near(ends))
        search.run(start, wanted, self._flow, self.depth or _DEEPEST)
        if search.is_narrow and not wanted & search.levels.keys():  # The callers did not lead there.
            search = _Search()
            search.run(start, wanted, self._flow, self.depth or _DEEPEST)
        reached = [each for each in search.levels if each in wanted]
        if not reached:
            return Trace(message=self._nothing(start, ends, search))
        return self._on_the_way(start, reached, search.edges)

    def _on_the_way(self, start: Place, reached: Sequence[Place], edges: dict[Place, list[Edge]]) -> Trace:
        ways: dict[Place, int] = {}

        def count(place: Place) -> int:
            if place == start:
                return 1
            if place not in ways:
                froms = {each.enclosing for each in edges.get(place, ()) if each.enclosing}
                ways[place] = sum(count(each) for each in froms)
            return ways[place]

        total = sum(map(count, reached))
        followed: dict[Place, list[Edge]] = {}
        waiting, seen = list(reached), set(reached)
        while waiting:
            for edge in edges.get(waiting.pop(), ()):
                before = edge.enclosing
                assert before is not None
                followed.setdefault(before, []).append(edge)
                if before not in seen and before != start:
                    seen.add(before)
                    waiting.append(before)
        for found in followed.values():
            found.sort(key=lambda each: (each.line, each.character))
        steps = tuple(evolve(each, unfollowed=0) for each in self._in_order(start, followed))
        shown = steps[: self.limit]
        calls = max(each.depth for each in steps)
        message = (
            f"{total} ways of {counted(calls, 'call')} lead there; no way is shorter." if total > 1 else ""
        )
        return Trace(shown, len(shown) == len(steps), message)

    def _near(self, ends: Sequence[Place]) -> set[Place]:
        """Return the ends, and the functions from which they are at most `_CALLERS` calls away."""
        near, level = set(ends), list(ends)
        for _ in range(_CALLERS):
            found = self.graph.callers(level, _MOST_CALLERS).found if level else ()
            level = [each.enclosing for each in found if each.enclosing and each.enclosing not in near]
            near.update(level)
        return near

    def _nothing(self, start: Place, ends: Sequence[Place], search: _Search) -> str:
        """Return that no way was found, how far it was searched, and where it may be."""
        end = ends[0].qualified
        count = counted(len(search.levels) - 1, "definition")
        if search.is_complete:
            far = f"All {count} that it reaches were searched"
        else:
            far = f"{count} that it reaches were searched, up to {search.depth} calls away"
        callers = {
            each.enclosing.qualified: None
            for each in self.graph.callers(ends, 20).found
            if each.enclosing is not None and each.confidence >= _SURE_ENOUGH
            and file_kind(each.path) != FileKind.TESTS
        }  # fmt: skip
        near = [each.qualified for each in search.levels if each != start and each.path == ends[0].path]
        called = f"Callers of {end}: {', '.join(list(callers)[:5]) or 'none are known'}."
        beside = f" In its file are reached: {', '.join(near[:5])}." if near else ""
        return f"No calls lead from {start.qualified} to {end}. {far}. {called}{beside}"

    # --- calls ---------------------------------------------------------------------------------------

    def _flow(self, place: Place) -> tuple[Edge, ...]:
        """Return the calls of a definition that a trace can show: only the first of several calls of one
        function in a row and in the same branch."""
        if place not in self._flows:
            is_test = file_kind(place.path) == FileKind.TESTS
            kept: list[Edge] = []
            found = self.flow.of(place, whole=place == self._start)
            overrides = [each for each in found if each.kind is ReferenceKind.INHERIT]
            for edge in found if len(overrides) <= _MOST_OVERRIDES else ():
                is_override = edge.kind is ReferenceKind.INHERIT
                if edge.confidence < _SURE_ENOUGH and not is_override:
                    edge = self._by_branch(edge)
                target = edge.target
                is_guess = edge.kind is ReferenceKind.READ and edge.confidence < _SURE_VALUE
                if target is None or is_guess:
                    continue
                if _is_log(edge) or (not is_test and file_kind(target.path) == FileKind.TESTS):
                    continue
                if kept and kept[-1].target == target and self._are_together(kept[-1], edge):
                    continue
                kept.append(edge)
            self._flows[place] = tuple(kept)
        return self._flows[place]

    def _are_together(self, one: Edge, other: Edge) -> bool:
        branches = self._branches([one, other])
        return branches.get(one) == branches.get(other)

    def _by_branch(self, edge: Edge) -> Edge:
        """Return the call of one of several members, with the one whose type the branches around it name as
        target: `case Get(cmd)`, `if isinstance(ship, Ferry)`. If none or several do, it has no target."""
        named = set(_WORD.findall(" ".join(self._branches([edge]).get(edge, ()))))
        places = self.graph.candidates(edge) if named else []
        fitting = [each for each in places if _owner(each) in named]
        if len(fitting) != 1:
            return evolve(edge, target=None)
        via = f"its branch names `{_owner(fitting[0])}`"
        return evolve(edge, target=fitting[0], confidence=_NAMED_BY_BRANCH, via=via)

    def _kept(self, place: Place, depth: int, room: int) -> list[Edge]:
        """Return at most `room` calls of a definition, those worth most, in order."""
        edges = self._worth_showing(place, depth)
        best = set(sorted(edges, key=lambda each: -self._worth(each.target) * each.confidence)[:room])
        return [each for each in edges if each in best]

    def _worth_showing(self, place: Place, depth: int) -> list[Edge]:
        """Return the calls of a definition at that level of a trace, without those that say little."""
        return [each for each in self._flow(place) if not depth or not self._is_trivial(each)]

    def _is_trivial(self, edge: Edge) -> bool:
        """Whether a call is of a function so short, as are those that it calls, that it says little."""
        target = edge.target
        if target is None or edge.kind is ReferenceKind.INHERIT:
            return False
        called = [each.target for each in self._flow(target) if each.target is not None]
        is_short = all(_lines(each) <= _TRIVIAL for each in (target, *called))
        return is_short and not any(map(self._flow, called))

    def _worth(self, place: Place | None) -> float:
        """Return how much a definition says: by its lines, and by those of what it calls."""
        if place is None:
            return 0.0
        called = (each.target for each in self._flow(place))
        below = sum(_lines(each) for each in called if each is not None and each != self._start)
        return math.sqrt(_lines(place) + min(below, 3 * _LONGEST) / 2)

    # --- order ---------------------------------------------------------------------------------------

    def _in_order(self, start: Place, followed: dict[Place, list[Edge]]) -> tuple[Step, ...]:
        """Return the calls depth first. Those of a function stand below its first call."""
        steps: list[Step] = []
        within = self._branches([edge for edges in followed.values() for edge in edges])
        done = {start}
        open_ones: list[tuple[int | None, Iterable[Edge]]] = [(None, iter(followed.get(start, ())))]
        while open_ones:
            parent, edges = open_ones[-1]
            edge = next(iter(edges), None)
            if edge is None:
                open_ones.pop()
                continue
            assert edge.target is not None
            is_followed = edge.target in followed
            left = 0 if is_followed else len(self._worth_showing(edge.target, len(open_ones)))
            number = len(steps)
            steps.append(Step(edge, len(open_ones), parent, within.get(edge, ()), left))
            if is_followed and edge.target not in done:
                done.add(edge.target)
                open_ones.append((number, iter(followed[edge.target])))
        return tuple(steps)

    def _branches(self, edges: Sequence[Edge]) -> dict[Edge, tuple[str, ...]]:
        """Return the branches around each call, by the syntax tree of its file."""
        by_path: dict[str, list[Edge]] = {}
        for edge in edges:
            if edge.kind in CALLS or edge.kind is ReferenceKind.READ:
                by_path.setdefault(edge.path, []).append(edge)
        found: dict[Edge, tuple[str, ...]] = {}
        for path, here in by_path.items():
            tree, lines = self._parsed(path)
            if tree is None:
                continue
            places = [
                (
                    _position(lines, each.line, each.character),
                    _position(lines, each.enclosing.line, each.enclosing.character)
                    if each.enclosing
                    else (0, 0),
                )
                for each in here
            ]
            found.update(zip(here, branches(tree, places), strict=True))
        return found

    def _parsed(self, path: str) -> tuple[Tree | None, Sequence[str]]:
        """Return the syntax tree of the indexed text of a file, and its lines."""
        if path not in self._trees:
            check_end()
            text = "".join(stored.chunk.text for stored in self.reader.page(path))
            self._trees[path] = parsed(language_of(path, text), text), lines_of(text)
        return self._trees[path]


def _position(lines: Sequence[str], line: int, character: int) -> tuple[int, int]:
    """Return the position with a column in bytes. `character` counts UTF-16 code units."""
    before = lines[line].encode("utf-16-le")[: 2 * character] if line < len(lines) else b""
    return line, len(before.decode("utf-16-le", "replace").encode())


def _lines(place: Place) -> int:
    return min(place.end_line - place.start_line, _LONGEST)


def _owner(place: Place) -> str:
    return place.qualified.rpartition(".")[0].rpartition(".")[2]


def _is_log(edge: Edge) -> bool:
    """Whether a call only writes a log or prints."""
    name, target = edge.name.lower(), edge.target
    owner = _owner(target).lower() if target is not None else ""
    is_macro = target is not None and target.kind == "macro"
    return name.strip("_") in _PRINTS or (name in _LOG_LEVELS and (is_macro or owner.endswith(_LOGGERS)))
