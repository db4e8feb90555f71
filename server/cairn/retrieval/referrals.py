"""Find the chunks that call, implement or test a passage's functions and types, and those that these call,
and cut chunks of several functions to the part that a reference shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.references.edges import CALLS, Edge, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import query_end
from cairn.text.verbatim import lines_with_ends
from cairn.workspace.collections import FileKind, file_kind

CALLER = "calls it"
CALLEE = "called by it"
IMPLEMENTATION = "implements it"
TEST = "tests it"
USED = "used by it"

_MOST_EDGES = 60
"""The maximum number of references of one relation. A panel shows far fewer."""
_MOST_FILES = 40
"""If more files than this contain a function's name, its tests are not searched: `parse` took 0.4 s."""
_MOST_MEANINGS = 3
"""The maximum number of definitions of the name at the cursor. With more, the function around it is used."""
SURE = 0.5
"""The minimum confidence of a sure reference. Others say "may", and rank among the other relations."""
_FEW_FILES = 6
"""A name in at most so many files says most about those that use it."""
_NEAR, _NEAR_IN_TYPE = 25, 8
"""How many lines away a call is near, in a function and in a type. What is called elsewhere in it says little
of the cursor's line."""
_INDIRECT = 0.4
"""How much a test says that calls the definition through another function."""
_AROUND = 2
"""How many lines are shown before and after a call outside all functions, in a chunk of the passage."""
_MOST_DEFINITIONS = 8
"""The maximum number of definitions used of a passage. A passage with more is a list of small ones."""
_NAMED = 3


@frozen
class Referral:
    """A relation of a chunk to a passage by references."""

    line: int
    """The 0-based line of the call or of the called definition."""
    confidence: float
    reason: str
    shown: tuple[int, int] | None = None
    """The lines `[first, last)` of the file to show; None to show the whole chunk."""
    scope: Place | None = None
    """The function or type that the shown lines belong to; None if they belong to several or none."""
    rarity: float = 1.0
    """How much the relation says, 0 to 1. A type that every file uses says nothing about a passage."""

    @property
    def value(self) -> float:
        """The strength of the relation, 0 to 1. That of all sure references is at least 0.9."""
        sure = 0.8 + 0.2 * self.confidence if self.confidence >= SURE else self.confidence
        return self.rarity * sure


Referrals = Mapping[int, Mapping[str, Referral]]


def definitions_around(
    graph: ReferenceGraph,
    path: str,
    lines: tuple[int, int],
    focus: range,
    cursor: tuple[int, int] | None = None,
) -> list[Place]:
    """Return the functions and types that the lines `[first, last)` of a file are about. If the name at the
    cursor (line, character) has few definitions, the first of these is returned; else the definitions around
    the lines of `focus`; else those in the passage."""
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
    reader: IndexReader,
    graph: ReferenceGraph,
    definitions: Sequence[Place],
    focus: range,
    *,
    thorough: bool = False,
) -> tuple[Referrals, Mapping[int, StoredChunk]]:
    """Return the chunks that refer to the definitions, or to which these refer near the lines of `focus`, and
    the chunks' texts. What says too little to be shown is only looked for if the search is `thorough`: the
    users of types that many files have, and tests through other functions."""
    found = _Referrals(reader, definitions)
    if not definitions:
        return {}, {}
    rare = [each for each in definitions if thorough or each.kind in CALLABLE or _is_rare(graph, each)]
    for edge in graph.calls_or_uses(rare, _MOST_EDGES).found if rare else ():
        if edge.kind in (ReferenceKind.IMPORT, ReferenceKind.INHERIT):
            continue
        is_test = file_kind(edge.path) == FileKind.TESTS
        found.add(TEST if is_test else CALLER, edge, edge.path, edge.line)
    for place in definitions:
        if not query_end()():
            for edge in graph.meant(place.path, *_near(place, focus), _MOST_EDGES).found:
                target = edge.target
                if target is not None and target not in definitions and edge.kind in CALLS:
                    found.add(CALLEE, edge, target.path, target.line)
                elif target is not None and _is_used(edge, definitions):
                    found.add(USED, edge, target.path, target.line)
    for edge in graph.implementations(definitions, _MOST_EDGES).found:
        found.add(IMPLEMENTATION, edge, edge.path, edge.line)
    if thorough and not query_end()() and not found.has(TEST):
        for edge in graph.tests(definitions, _MOST_EDGES, _MOST_FILES).found:
            found.add(TEST, edge, edge.path, edge.line)
    return found.finished(graph), found.chunks


def _is_rare(graph: ReferenceGraph, place: Place) -> bool:
    return graph.tables.count_mentioning(place.name) * SURE <= _FEW_FILES


def _near(place: Place, focus: range) -> tuple[int, int]:
    """Return the lines `[first, last)` of a definition that are near the focus, all if there is none."""
    away = _NEAR if place.kind in CALLABLE else _NEAR_IN_TYPE
    if not focus:
        return place.start_line, place.end_line
    return max(place.start_line, focus.start - away), min(place.end_line, focus.stop + away)


def _is_used(edge: Edge, definitions: Sequence[Place]) -> bool:
    """Whether the edge leads to a type or a constant."""
    target = edge.target
    if target is None or target in definitions or edge.kind in CALLS or edge.confidence < SURE:
        return False
    return target.kind in CONTAINERS or (target.kind in VALUES and target.qualified.count(".") < 2)


@define(eq=False)
class _Referrals:
    """Assigns references to the chunks that they relate to the passage."""

    reader: IndexReader
    definitions: Sequence[Place]
    chunks: dict[int, StoredChunk] = field(factory=dict)
    by_chunk: dict[int, dict[str, Referral]] = field(factory=dict)
    _edges: dict[tuple[int, str], list[tuple[Edge, int]]] = field(factory=dict)
    """The edges by chunk and relation, each with the line to show."""

    def add(self, relation: str, edge: Edge, path: str, line: int) -> None:
        """Add an edge whose other end is at `line` of `path`, unless both ends are in the definitions."""
        if relation != CALLEE and edge.enclosing in self.definitions:
            return
        for stored in self.reader.between(path, line, line + 1)[:1]:
            self.chunks[stored.id] = stored
            self._edges.setdefault((stored.id, relation), []).append((edge, line))

    def has(self, relation: str) -> bool:
        return any(kind == relation for _, kind in self._edges)

    def finished(self, graph: ReferenceGraph) -> Referrals:
        """Return the referrals, each at its surest edge's line, with a reason that names all functions."""
        for (chunk, relation), edges in self._edges.items():
            best, line = max(edges, key=lambda each: each[0].confidence)
            is_target = relation in (CALLEE, USED)
            named = _within if is_target else _names
            names = ", ".join(named(edge for edge, _ in edges))
            if relation == IMPLEMENTATION:
                reason = best.via
            elif relation == TEST and best.via.startswith("calls "):
                reason = f"a test that {best.via}"  # The test calls the function through another one.
            else:
                is_unsure_call = relation == CALLER and best.confidence < SURE
                reason = f"may call {names}" if is_unsure_call else _REASONS[relation].format(names=names)
            within = _within(edge for edge, _ in edges)
            if relation == CALLER and len(within) > 1:
                reason += f" in {', '.join(within)}"
            scopes = [edge.target if is_target else edge.enclosing for edge, _ in edges]
            scope = best.target if is_target else best.enclosing
            rarity = 1.0
            if is_target or any(each.kind not in CALLABLE for each in self.definitions):
                rarity = max(_rarity(graph, edge) for edge, _ in edges)
            elif relation == TEST and best.via.startswith("calls "):
                rarity = _INDIRECT
            shown = self._shown(self.chunks[chunk], line, scope, scopes)
            whole = scope if len(set(scopes)) == 1 or self._is_own(self.chunks[chunk]) else None
            self.by_chunk.setdefault(chunk, {})[relation] = Referral(
                line, best.confidence, reason, shown, whole if shown else None, rarity
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
        """Return the lines that show the edges, without the passage's functions; None for the whole chunk."""
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
        if around:  # The call is at the top level, or in the type around the passage's functions.
            ends = [each.end_line for each in self.definitions if each.end_line <= line]
            starts = [each.start_line for each in self.definitions if each.start_line > line]
            first = max(line - _AROUND, start, *ends)
            return first, min(line + _AROUND + 1, end, *starts)
        first = max(start, min(each.start_line for each in inside))
        last = min(end, max(each.end_line for each in inside))
        return (first, last) if first <= line < last else None


_REASONS = {
    CALLER: "calls {names}",
    CALLEE: "called by {names}",
    TEST: "tests {names}",
    USED: "used by {names}",
}


def _rarity(graph: ReferenceGraph, edge: Edge) -> float:
    return min(1.0, _FEW_FILES / max(1, graph.tables.count_mentioning(edge.name)))


def _names(edges: Iterable[Edge]) -> list[str]:
    return _quoted(edge.target.name if edge.target is not None else edge.name for edge in edges)


def _within(edges: Iterable[Edge]) -> list[str]:
    return _quoted(edge.enclosing.name for edge in edges if edge.enclosing is not None)


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in list(dict.fromkeys(names))[:_NAMED]]


def part_of(stored: StoredChunk, referral: Referral) -> StoredChunk:
    """Return the lines of the chunk that the referral shows, named after their function, or the whole chunk.
    The cell of a notebook stays whole, because its lines are not lines of the file."""
    chunk = stored.chunk
    lines = lines_with_ends(chunk.text)
    if referral.shown is None or len(lines) != chunk.end_line - chunk.start_line:
        return stored
    first, last = referral.shown
    text = "".join(lines[first - chunk.start_line : last - chunk.start_line])
    defines = tuple(name for name in chunk.defines if name in text)
    part = evolve(
        chunk, start_line=first, end_line=last, text=text, defines=defines, signature="", comment=""
    )
    if (scope := referral.scope) is not None:
        header = " > ".join(scope.qualified.split("."))
        part = evolve(part, symbol=scope.name, symbol_kind=scope.kind, title=scope.name, header_path=header)
    return evolve(stored, chunk=part)
