"""What a passage's functions and types are called by, what they call, what implements and what tests them, by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

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
"""Of one relation: a panel shows far fewer."""
_MOST_DEFINITIONS = 8
"""Of a passage; what has more is a list of small ones."""
_NAMED = 3
"""Functions that a reason names."""


@frozen
class Referral:
    """How references relate a chunk to a passage."""

    line: int
    """0-based line of the file at which they do: the call, or the definition of what is called."""
    confidence: float
    """0 to 1."""
    reason: str


Referrals = Mapping[int, Mapping[str, Referral]]
"""By chunk and relation."""


def definitions_around(graph: ReferenceGraph, path: str, lines: tuple[int, int], focus: range) -> list[Place]:
    """The functions and types that a passage, the lines `[first, last)` of its file, is about.

    These are those around the lines of `focus`; where there are none, those that the passage holds.
    """
    found = _around(graph, path, focus) or _around(graph, path, range(*lines))
    return list(found)[:_MOST_DEFINITIONS]


def _around(graph: ReferenceGraph, path: str, lines: range) -> dict[Place, None]:
    around = (graph.around(path, line) for line in lines)
    return dict.fromkeys(place for place in around if place is not None)


def referrals(
    reader: IndexReader, graph: ReferenceGraph, definitions: Sequence[Place], cancelled: Cancelled
) -> tuple[Referrals, Mapping[int, StoredChunk]]:
    """The chunks that refer to the definitions, or that these refer to, and the chunks themselves."""
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
    if not cancelled():
        for edge in graph.tests(definitions, _MOST_EDGES).found:
            found.add(TEST, edge, edge.path, edge.line)
    return found.finished(), found.chunks


def _is_test(path: str) -> bool:
    return file_kind(path) == FileKind.TESTS


@define(eq=False)
class _Referrals:
    """Puts edges to the chunks that they relate, the surest first."""

    reader: IndexReader
    definitions: Sequence[Place]
    chunks: dict[int, StoredChunk] = field(factory=dict)
    by_chunk: dict[int, dict[str, Referral]] = field(factory=dict)
    _edges: dict[tuple[int, str], list[tuple[Edge, int]]] = field(factory=dict)
    """With the line at which each is shown."""

    def add(self, relation: str, edge: Edge, path: str, line: int) -> None:
        """Note an edge whose other end is at a line; not that of a definition to itself."""
        if relation != CALLEE and edge.enclosing in self.definitions:
            return
        for stored in self.reader.between(path, line, line + 1)[:1]:
            self.chunks[stored.id] = stored
            self._edges.setdefault((stored.id, relation), []).append((edge, line))

    def finished(self) -> Referrals:
        """For each chunk and relation the surest edge speaks, and the reason names the functions of the others."""
        for (chunk, relation), edges in self._edges.items():
            best, line = max(edges, key=lambda each: each[0].confidence)
            names = ", ".join(_names(edge for edge, _ in edges))
            if relation == IMPLEMENTATION:
                reason = best.via
            elif relation == TEST and best.via.startswith("calls "):
                reason = f"a test that {best.via}"  # over a function between
            else:
                reason = _REASONS[relation].format(names=names)
            within = list(_within(edge for edge, _ in edges))
            if relation == CALLER and len(within) > 1:
                reason += f" in {', '.join(within)}"
            self.by_chunk.setdefault(chunk, {})[relation] = Referral(line, best.confidence, reason)
        return self.by_chunk


_REASONS = {
    CALLER: "calls {names}",
    CALLEE: "defines {names}, called here",
    TEST: "a test that reaches {names}",
}


def _names(edges: Iterable[Edge]) -> Iterator[str]:
    names = dict.fromkeys(edge.target.name if edge.target is not None else edge.name for edge in edges)
    return (f"`{name}`" for name in list(names)[:_NAMED])


def _within(edges: Iterable[Edge]) -> Iterator[str]:
    names = dict.fromkeys(edge.enclosing.name for edge in edges if edge.enclosing is not None)
    return (f"`{name}`" for name in list(names)[:_NAMED])
