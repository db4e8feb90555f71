"""Find the chunks that call, implement or test a passage's functions and types, and those that these call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.model import Edge, Place
from cairn.index.store.deadline import Cancelled
from cairn.workspace.collections import FileKind, file_kind

CALLER = "calls it"
CALLEE = "called by it"
IMPLEMENTATION = "implements it"
TEST = "tests it"

_MOST_EDGES = 60
"""References of one relation; a panel shows far fewer."""
_MOST_FILES = 40
"""Files with a function's name, above which its tests are not searched: `parse` took 0.4 s."""
_MOST_MEANINGS = 3
"""A name at the cursor with more possible definitions is ignored for the function around it."""
SURE = 0.5
"""Below this confidence a reason says "may", and a reference ranks among the other relations."""
_AROUND = 2
"""Lines shown around a call beside the passage's own functions that is not in a function."""
_MOST_DEFINITIONS = 8
"""Definitions of a passage; one with more is a list of small ones."""
_NAMED = 3


@frozen
class Referral:
    """How references relate a chunk to a passage."""

    line: int
    """The 0-based line of the call, or of the called definition."""
    confidence: float
    reason: str
    shown: tuple[int, int] | None = None
    """The lines `[first, last)` of the file to show; None for the whole chunk."""
    scope: Place | None = None
    """The function or type that these lines are, if they are a single one."""

    @property
    def value(self) -> float:
        """0 to 1: among sure references the relation counts more than the confidence."""
        return 0.8 + 0.2 * self.confidence if self.confidence >= SURE else self.confidence


Referrals = Mapping[int, Mapping[str, Referral]]


def definitions_around(
    graph: ReferenceGraph,
    path: str,
    lines: tuple[int, int],
    focus: range,
    cursor: tuple[int, int] | None = None,
) -> list[Place]:
    """Return the functions and types that the lines `[first, last)` of a file are about. The name at the
    cursor (line, character) decides if it has few definitions; else the definitions around the lines of
    `focus`; else those in the passage."""
    if cursor is not None:
        named = [each for each in graph.at(path, *cursor) if each.kind in CALLABLE | CONTAINERS]
        if 1 <= len(named) <= _MOST_MEANINGS:
            return named[:1]
    found = _around(graph, path, focus) or _around(graph, path, range(*lines))
    return list(found)[:_MOST_DEFINITIONS]


def _around(graph: ReferenceGraph, path: str, lines: range) -> dict[Place, None]:
    around = (graph.around(path, line) for line in lines)
    return dict.fromkeys(place for place in around if place is not None)


def referrals(
    reader: IndexReader, graph: ReferenceGraph, definitions: Sequence[Place], cancelled: Cancelled
) -> tuple[Referrals, Mapping[int, StoredChunk]]:
    """Return the chunks that refer to the definitions or that these refer to, with their texts."""
    found = _Referrals(reader, definitions)
    if not definitions:
        return found.by_chunk, found.chunks
    for edge in graph.callers(definitions, _MOST_EDGES).found:
        found.add(TEST if _is_test(edge.path) else CALLER, edge, edge.path, edge.line)
    for place in definitions:
        if not cancelled():
            for edge in graph.callees(place, _MOST_EDGES).found:
                if edge.target is not None and edge.target not in definitions:
                    found.add(CALLEE, edge, edge.target.path, edge.target.line)
    for edge in graph.implementations(definitions, _MOST_EDGES).found:
        found.add(IMPLEMENTATION, edge, edge.path, edge.line)
    if not cancelled() and not found.has(TEST):
        for edge in graph.tests(definitions, _MOST_EDGES, _MOST_FILES).found:
            found.add(TEST, edge, edge.path, edge.line)
    return found.finished(), found.chunks


def _is_test(path: str) -> bool:
    return file_kind(path) == FileKind.TESTS


@define(eq=False)
class _Referrals:
    """Assigns references to the chunks that they relate."""

    reader: IndexReader
    definitions: Sequence[Place]
    chunks: dict[int, StoredChunk] = field(factory=dict)
    by_chunk: dict[int, dict[str, Referral]] = field(factory=dict)
    _edges: dict[tuple[int, str], list[tuple[Edge, int]]] = field(factory=dict)
    """The edges by chunk and relation, with the line at which each is shown."""

    def add(self, relation: str, edge: Edge, path: str, line: int) -> None:
        """Add an edge whose other end is at a line; skip one within a single definition."""
        if relation != CALLEE and edge.enclosing in self.definitions:
            return
        for stored in self.reader.between(path, line, line + 1)[:1]:
            self.chunks[stored.id] = stored
            self._edges.setdefault((stored.id, relation), []).append((edge, line))

    def has(self, relation: str) -> bool:
        return any(kind == relation for _, kind in self._edges)

    def finished(self) -> Referrals:
        """Return the referrals, each by its surest edge, with a reason that names all functions."""
        for (chunk, relation), edges in self._edges.items():
            best, line = max(edges, key=lambda each: each[0].confidence)
            named = _within if relation == CALLEE else _names
            names = ", ".join(named(edge for edge, _ in edges))
            if relation == IMPLEMENTATION:
                reason = best.via
            elif relation == TEST and best.via.startswith("calls "):
                reason = f"a test that {best.via}"  # through another function
            else:
                is_unsure_call = relation == CALLER and best.confidence < SURE
                reason = f"may call {names}" if is_unsure_call else _REASONS[relation].format(names=names)
            within = _within(edge for edge, _ in edges)
            if relation == CALLER and len(within) > 1:
                reason += f" in {', '.join(within)}"
            scopes = [edge.target if relation == CALLEE else edge.enclosing for edge, _ in edges]
            scope = best.target if relation == CALLEE else best.enclosing
            shown = self._shown(self.chunks[chunk], line, scope, scopes)
            whole = scope if len(set(scopes)) == 1 or self._is_own(self.chunks[chunk]) else None
            self.by_chunk.setdefault(chunk, {})[relation] = Referral(
                line, best.confidence, reason, shown, whole if shown else None
            )
        return self.by_chunk

    def _is_own(self, stored: StoredChunk) -> bool:
        first, last = stored.chunk.start_line, stored.chunk.end_line
        return any(
            each.path == stored.path and each.start_line < last and first < each.end_line
            for each in self.definitions
        )

    def _shown(
        self, stored: StoredChunk, line: int, scope: Place | None, scopes: Sequence[Place | None]
    ) -> tuple[int, int] | None:
        """Return the lines about the edges, without the passage's own functions; None for all."""
        is_own = self._is_own(stored)
        start, end = stored.chunk.start_line, stored.chunk.end_line
        if not is_own and len(stored.chunk.defines) < 2:
            return None
        inside = [each for each in ([scope] if is_own else scopes) if each is not None]
        around = not inside or (len(inside) < len(scopes) and not is_own)
        if is_own and scope is not None:
            around = any(scope.start_line <= each.start_line < scope.end_line for each in self.definitions)
        if around and not is_own:
            return None
        if around:  # a call outside the passage's functions, at the top level or in their type
            ends = [each.end_line for each in self.definitions if each.end_line <= line]
            starts = [each.start_line for each in self.definitions if each.start_line > line]
            first = max(line - _AROUND, start, *ends)
            return first, min(line + _AROUND + 1, end, *starts)
        first = max(start, min(each.start_line for each in inside))
        last = min(end, max(each.end_line for each in inside))
        return (first, last) if first <= line < last else None


_REASONS = {CALLER: "calls {names}", CALLEE: "called by {names}", TEST: "tests {names}"}


def _names(edges: Iterable[Edge]) -> list[str]:
    return _quoted(edge.target.name if edge.target is not None else edge.name for edge in edges)


def _within(edges: Iterable[Edge]) -> list[str]:
    return _quoted(edge.enclosing.name for edge in edges if edge.enclosing is not None)


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in list(dict.fromkeys(names))[:_NAMED]]
