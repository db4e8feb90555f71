"""Walks references level by level, breadth first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from attrs import define, field, frozen

from cairn import protocol
from cairn.engine.named_definitions import Definition, Searched
from cairn.engine.request import Request
from cairn.engine.scope import Scope, within
from cairn.engine.usage_notes import LIKELY, UsageNotes
from cairn.index.references.edges import Edge, Edges, Place
from cairn.index.store.deadline import check_end
from cairn.protocol.relation_messages import ReferenceDirection
from cairn.retrieval.name_fit import Typed
from cairn.workspace.collections import FileKind, file_kind
from cairn.workspace.ignore_patterns import Selection

_MOST_FILTERED = 1_001
"""How many references are read to filter them by path or by tests."""
_NAME = re.compile(r"[^\W\d][\w$]*[?!]?")
_BACKWARDS = (ReferenceDirection.CALLERS, ReferenceDirection.USES)
"""The directions that lead to what uses a definition, for which notes say what is known besides."""


@frozen
class Found:
    """A reference, its depth, and the index in `Walk.found` of the reference that led to it."""

    searched: Searched
    edge: Edge
    depth: int
    parent: int | None
    within: tuple[str, ...] = ()
    unfollowed: int = 0


@define(slots=False)
class Walk:
    """A breadth-first walk, so that the limit drops the farthest references. It visits a function once."""

    request: Request
    params: protocol.ReferencesParams
    searched: Sequence[Searched] = ()
    found: list[Found] = field(factory=list)
    complete: bool = True
    notes: UsageNotes = field(factory=UsageNotes)
    _followed: set[tuple[Searched, str, int]] = field(factory=set)

    def start(self, definitions: Sequence[Definition]) -> None:
        """Find the references of these definitions in the requested direction, and follow them."""
        self._followed.update(identity(searched, place) for searched, place in definitions)
        if not self.params.limit:
            return
        if not definitions and self.params.symbol and self.params.direction in _BACKWARDS:
            name = Typed.of(self.params.symbol).text
            is_name = "/" not in self.params.symbol and _NAME.fullmatch(name)
            for searched in self.searched if is_name else ():
                self.notes.undefined(searched, name)
        by_folder: dict[Searched, list[Place]] = {}
        for searched, place in definitions:
            by_folder.setdefault(searched, []).append(place)
        first = [
            (searched, edge)
            for searched, places in by_folder.items()
            for edge in self._first(searched, places)
        ]
        if self.params.direction is not ReferenceDirection.CALLEES:
            first.sort(key=lambda each: -each[1].confidence)
        self._add(first, 1, None)
        level = range(len(self.found))
        for depth in range(2, (self.params.depth or 1) + 1):
            for number in level:
                self._follow(number, depth)
            level = range(level.stop, len(self.found))

    def _first(self, searched: Searched, places: Sequence[Place]) -> list[Edge]:
        """Return the edges of the first level, and note what else is known of the definitions."""
        edges = self._edges(searched, places)
        if self.params.direction not in _BACKWARDS:
            return edges
        edges += self._selected(searched, self.notes.entered(searched, places, edges))
        is_filtered = bool(self.params.path) or self.params.tests is not None
        if not is_filtered and all(each.confidence < LIKELY for each in edges):
            self.notes.missed(searched, places, edges)
        return edges

    def _follow(self, number: int, depth: int) -> None:
        """Find the references of the function to which the reference `found[number]` leads."""
        searched, edge = self.found[number].searched, self.found[number].edge
        is_down = self.params.direction is ReferenceDirection.CALLEES
        place = edge.target if is_down else edge.enclosing
        if place is None or identity(searched, place) in self._followed:
            return
        check_end()
        self._followed.add(identity(searched, place))
        self._add([(searched, each) for each in self._edges(searched, [place])], depth, number)

    def _edges(self, searched: Searched, places: Sequence[Place]) -> list[Edge]:
        """Return the edges of `places`, at most one more than the limit allows, which shows an excess."""
        limit = self.params.limit - len(self.found) + 1
        if self.params.path or self.params.tests is not None:
            limit = _MOST_FILTERED
        graph = searched.graph
        found: list[Edges]
        if self.params.direction is ReferenceDirection.CALLEES:
            found = [graph.callees(place, limit) for place in places]
        else:
            find = {
                ReferenceDirection.CALLERS: graph.calls_or_uses,
                ReferenceDirection.USES: graph.uses,
                ReferenceDirection.IMPLEMENTATIONS: graph.implementations,
                ReferenceDirection.TESTS: graph.tests,
            }[self.params.direction]
            found = [find(places, limit)]
        self.complete &= all(edges.complete for edges in found)
        return self._selected(searched, [edge for edges in found for edge in edges.found])

    def _selected(self, searched: Searched, edges: Sequence[Edge]) -> list[Edge]:
        """Return the edges that the params ask for, by their paths."""
        selection, tests = self._selections.get(searched), self.params.tests
        return [
            edge
            for edge in edges
            if (selection is None or selection.names(edge.path))
            and (tests is None or (file_kind(edge.path) == FileKind.TESTS) == tests)
        ]

    @cached_property
    def scope(self) -> Scope:
        return within(self.params.path, self.request.folders)

    @cached_property
    def _selections(self) -> dict[Searched, Selection]:
        """The files that `path` selects, by folder, without folders of which it selects all."""
        wanted = self.scope.files
        patterns = {each: wanted.paths_in(str(each.folder.root)) for each in self.searched}
        return {each: Selection(of_folder) for each, of_folder in patterns.items() if of_folder is not None}

    def _add(self, edges: Sequence[tuple[Searched, Edge]], depth: int, parent: int | None) -> None:
        room = self.params.limit - len(self.found)
        self.complete &= len(edges) <= room
        self.found += [Found(searched, edge, depth, parent) for searched, edge in edges[:room]]


def identity(searched: Searched, place: Place) -> tuple[Searched, str, int]:
    return searched, place.path, place.number
