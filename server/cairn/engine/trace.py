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
from collections.abc import Collection, Iterable, Sequence

from attrs import define, evolve, field, frozen
from tree_sitter import Tree

from cairn.chunking.branches import branches, parsed
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import CALLS, Edge, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.languages.registry import language_of
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind

_SURE_ENOUGH = 0.4
"""Calls of lower confidence are left out: they mean one of several members of that name."""
_SURE_VALUE = 0.8
"""Names of functions that are only mentioned need this confidence, since a field may have the same name."""
_NAMED_BY_BRANCH = 0.8
_TRIVIAL = 3
"""A function of at most this many lines that calls no longer one is shown only if the start calls it."""
_DEEPEST = 10
_DECAY = 0.8
"""The factor by which a function's worth falls with each level."""
_LONGEST = 80
"""The number of lines from which a longer function is not worth more."""
_SHARE = 0.5
"""The maximum share of the limit for the calls of one function; of more calls, those worth most are kept."""
_FEWEST = 8
_MOST_OVERRIDES = 8
"""A method with more overrides is not followed."""
_MOST_SEARCHED = 1_500
"""The maximum number of functions that are searched for a way, at 1 to 20 ms each."""

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
    """The number of calls in the target that the trace does not show, although it shows no other."""


@frozen
class Trace:
    steps: tuple[Step, ...] = ()
    complete: bool = True
    message: str = ""


@define(eq=False)
class Tracer:
    """Traces in one folder."""

    graph: ReferenceGraph
    reader: IndexReader
    limit: int
    depth: int | None
    _flows: dict[Place, tuple[Edge, ...]] = field(factory=dict, init=False)
    _trees: dict[str, tuple[Tree | None, Sequence[str]]] = field(factory=dict, init=False)

    def trace(self, start: Place) -> Trace:
        """Return what runs when `start` runs, at most `limit` calls."""
        followed = {start: self._kept(start, 1.0)}
        left = len(followed[start]) < len(self._flow(start))
        shown = len(followed[start])
        waiting: list[tuple[float, int, Place, int, float]] = []
        counted = 0

        def wait(edges: Iterable[Edge], depth: int, sure: float) -> None:
            nonlocal counted
            for edge in edges:
                assert edge.target is not None
                likely = sure * edge.confidence
                worth = self._worth(edge.target) * likely * _DECAY**depth
                counted += 1
                heapq.heappush(waiting, (-worth, counted, edge.target, depth, likely))

        wait(followed[start], 1, 1.0)
        while waiting:
            check_end()
            _, _, place, depth, sure = heapq.heappop(waiting)
            if place in followed or not self._flow(place):
                continue
            if depth >= (self.depth or _DEEPEST):
                left = True
                continue
            kept = self._kept(place, _DECAY**depth)
            if shown + len(kept) > self.limit:
                left = True
                continue
            left = left or len(kept) < len(self._flow(place))
            followed[place] = kept
            shown += len(kept)
            wait(kept, depth + 1, sure)
        return Trace(self._in_order(start, followed), not left)

    def ways(self, start: Place, ends: Sequence[Place]) -> Trace:
        """Return the shortest ways of calls from `start` to one of `ends`."""
        wanted = {self.graph.constructor(each) for each in ends} | set(ends)
        forward: dict[Place, int] = {start: 0}
        edges: dict[Place, list[Edge]] = {}
        """The edges that lead to a definition from those one level nearer to the start."""
        level, depth = [start], 0
        most = self.depth or _DEEPEST
        near = self._distances(ends, most)
        while level and depth < most and not (wanted & forward.keys() - {start}):
            depth += 1
            below: list[Place] = []
            for place in sorted(level, key=lambda each: near.get(each, _DEEPEST)):
                if len(forward) >= _MOST_SEARCHED:
                    break
                check_end()
                for edge in self._flow(place):
                    assert edge.target is not None
                    if edge.target not in forward:
                        forward[edge.target] = depth
                        below.append(edge.target)
                    if forward[edge.target] == depth:
                        edges.setdefault(edge.target, []).append(evolve(edge, enclosing=place))
            level = below
        reached = [each for each in forward if each in wanted and each != start]
        if not reached:
            is_all = not level or (depth < most and len(forward) < _MOST_SEARCHED)
            return Trace(message=self._nothing(start, ends, forward, depth, is_all))
        return self._on_the_way(start, reached, edges)

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
        steps = self._in_order(start, followed)
        shown = steps[: self.limit]
        calls = max(each.depth for each in steps)
        message = f"{total} ways of {calls} calls, the shortest ones." if total > 1 else ""
        return Trace(shown, len(shown) == len(steps), message)

    def _distances(self, ends: Sequence[Place], most: int) -> dict[Place, int]:
        """Return how many calls the direct and indirect callers of `ends` are away, the nearest ones."""
        distances = dict.fromkeys(ends, 0)
        level = list(ends)
        for depth in range(1, min(most, 3) + 1):
            found: list[Place] = []
            for edge in self.graph.callers(level, 50).found if level else ():
                if edge.enclosing is not None and edge.enclosing not in distances:
                    distances[edge.enclosing] = depth
                    found.append(edge.enclosing)
            level = found
        return distances

    def _nothing(
        self, start: Place, ends: Sequence[Place], searched: Collection[Place], depth: int, is_all: bool
    ) -> str:
        """Return that no way was found, how far it was searched, and where it may be."""
        end = ends[0].qualified
        far = "all" if is_all else f"up to {depth} calls away"
        callers = {
            each.enclosing.qualified: None
            for each in self.graph.callers(ends, 20).found
            if each.enclosing is not None and each.confidence >= _SURE_ENOUGH
            and file_kind(each.path) != FileKind.TESTS
        }  # fmt: skip
        near = [each.qualified for each in searched if each != start and each.path == ends[0].path]
        called = f" {end} is called by {', '.join(list(callers)[:5])}." if callers else ""
        beside = f" In its file, {start.qualified} reaches {', '.join(near[:5])}." if near else ""
        nobody = "" if callers else f" Nothing is known to call {end}."
        return (
            f"No calls lead from {start.qualified} to {end}: {len(searched)} functions were searched, {far}."
            f"{called}{nobody}{beside}"
        )

    # --- calls ---------------------------------------------------------------------------------------

    def _flow(self, place: Place) -> tuple[Edge, ...]:
        """Return the calls of a definition that a trace can show. Of equal ones in a row, only the first."""
        if place not in self._flows:
            is_test = file_kind(place.path) == FileKind.TESTS
            kept: list[Edge] = []
            found = self.graph.flow(place)
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
                if kept and kept[-1].target == target:
                    continue
                kept.append(edge)
            self._flows[place] = tuple(kept)
        return self._flows[place]

    def _by_branch(self, edge: Edge) -> Edge:
        """Return the call of one of several members with the target whose type the branches around it name, as
        in `case Get(cmd)` or `if isinstance(ship, Ferry)`. Without such a type it has no target."""
        named = set(_WORD.findall(" ".join(self._branches([edge]).get(edge, ()))))
        places = self.graph.candidates(edge) if named else []
        owners = [each.qualified.split(".")[-2:-1] for each in places]
        fitting = [
            place for place, owner in zip(places, owners, strict=True) if named.issuperset(owner) and owner
        ]
        if len(fitting) != 1:
            return evolve(edge, target=None)
        via = f"its branch names `{fitting[0].qualified.split('.')[-2]}`"
        return evolve(edge, target=fitting[0], confidence=_NAMED_BY_BRANCH, via=via)

    def _kept(self, place: Place, share: float) -> list[Edge]:
        """Return the calls of a definition that its share of the limit has room for, in order."""
        edges = self._flow(place)
        room = min(self.limit, max(_FEWEST, int(self.limit * _SHARE * share)))
        if share < 1:
            edges = tuple(each for each in edges if not self._is_trivial(each))
        if len(edges) <= room:
            return list(edges)
        best = sorted(edges, key=lambda each: -self._worth(each.target) * each.confidence)[:room]
        return [each for each in edges if each in best]

    def _is_trivial(self, edge: Edge) -> bool:
        target = edge.target
        if target is None or edge.kind is ReferenceKind.INHERIT:
            return False
        places = [target, *(each.target for each in self._flow(target) if each.target is not None)]
        return all(_lines(each) <= _TRIVIAL for each in places)

    def _worth(self, place: Place | None) -> float:
        """Return how much a definition says: by its lines, and by those of what it calls."""
        if place is None:
            return 0.0
        below = sum(_lines(each.target) for each in self._flow(place) if each.target is not None)
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
            left = 0 if is_followed else len(self._flow(edge.target))
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


def _is_log(edge: Edge) -> bool:
    """Whether a call only writes a log or prints."""
    name, target = edge.name.lower(), edge.target
    owner = target.qualified.rpartition(".")[0].rpartition(".")[2].lower() if target is not None else ""
    is_macro = target is not None and target.kind == "macro"
    return name.strip("_") in _PRINTS or (name in _LOG_LEVELS and (is_macro or owner.endswith(_LOGGERS)))
