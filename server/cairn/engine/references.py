"""Answers `cairn/references`: finds the named definitions, then their references level by level."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from cairn import protocol
from cairn.chunking.definition_place import definition_lines
from cairn.engine.completeness import index_state
from cairn.engine.folders import Folder, path_inside, readers_with_unsaved
from cairn.engine.related import indexed_page
from cairn.engine.request import Request
from cairn.engine.results import milliseconds
from cairn.engine.scope import files_named
from cairn.errors import InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.name_queries import defining, names_like
from cairn.index.references.edges import Edge, Edges, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.protocol.relation_messages import ReferenceDirection
from cairn.retrieval.name_fit import Typed
from cairn.text.nearest import near
from cairn.text.unicode import utf16_length
from cairn.text.verbatim import lines_of

_PLACE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?::(?P<column>[0-9]{1,9}))?", re.DOTALL)
_LONGEST_LINE = 400
"""The maximum number of characters shown of a line. Only generated code has longer lines."""
_NEAR_NAMES = 3
_NEAR_LETTERS = 3
"""The number of initial letters in which a suggestion must agree with a mistyped name."""


@frozen(eq=False)
class _Searched:
    folder: Folder
    reader: OverlaidReader
    graph: ReferenceGraph


_Definition = tuple[_Searched, Place]


@frozen
class _Found:
    """A reference, its depth, and the index in `_Walk.found` of the reference that led to it."""

    searched: _Searched
    edge: Edge
    depth: int
    parent: int | None


def references(request: Request, params: protocol.ReferencesParams) -> protocol.ReferencesAnswer:
    """Answer `cairn/references` for all folders. Raise InvalidRequestError if the place is not indexed."""
    started = time.perf_counter()
    readers = readers_with_unsaved(request.folders)
    every = [
        _Searched(folder, reader, ReferenceGraph(reader))
        for folder, reader in zip(request.folders, readers, strict=True)
    ]
    definitions = _definitions(every, params)
    named = time.perf_counter()
    walk = _Walk(request, params)
    walk.start(definitions)
    walked = time.perf_counter()
    is_down = params.direction is ReferenceDirection.CALLEES
    shown = _Shown(definitions, walk.found, with_targets=is_down)
    places = tuple(shown.place(searched, place) for searched, place in definitions)
    return protocol.ReferencesAnswer(
        symbol=places[0].symbol if places else params.symbol or "",
        definitions=places,
        references=tuple(map(shown.reference, walk.found)),
        complete=walk.complete,
        index=index_state(request, places),
        timings={
            "definitions": milliseconds(started, named),
            "references": milliseconds(named, walked),
            "total": milliseconds(started),
        },
        message="" if places else _nothing_there(request, every, params),
    )


# --- the definitions -----------------------------------------------------------------------------------


def _definitions(every: Sequence[_Searched], params: protocol.ReferencesParams) -> list[_Definition]:
    if params.text_document is not None and params.position is not None:
        folders, readers = [each.folder for each in every], [each.reader for each in every]
        number, path, _ = indexed_page(folders, readers, params.text_document.uri)
        searched, position = every[number], params.position
        return [(searched, place) for place in searched.graph.at(path, position.line, position.character)]
    symbol = (params.symbol or "").strip()
    if place := _PLACE.fullmatch(symbol):
        return _definitions_at(every, place["path"], int(place["line"]), int(place["column"] or 0))
    return [(searched, place) for searched in every for place in searched.graph.named(symbol)]


def _definitions_at(every: Sequence[_Searched], given: str, line: int, column: int) -> list[_Definition]:
    """Return the definitions at or around a place. Line and column are 1-based; column 0 means no column."""
    if line < 1:
        raise InvalidRequestError("symbol", "lines count from 1")
    pages = _with_line([(searched, _path_in(searched.folder, given)) for searched in every], line)
    if not pages:  # The path may start with the folder's name, or lack its first parts.
        named = files_named(given, [searched.folder for searched in every])
        places = [(each, path) for folder, path in named for each in every if each.folder is folder]
        pages = _with_line(places, line)
    if not pages:
        problem = f"{given!r} has no line {line} that is indexed; give a path as search results have it"
        raise InvalidRequestError("symbol", problem)
    found = []
    for searched, path in pages:
        at = searched.graph.at(path, line - 1, column - 1) if column else []
        around = searched.graph.around(path, line - 1)
        found += [(searched, place) for place in at or ([around] if around else [])]
    return found


def _path_in(folder: Folder, given: str) -> str | None:
    """Return the relative path in the folder; None if it leads out of it. The index need not have the file,
    since unsaved text may be that of a new file."""
    inside = path_inside(given)
    return inside.as_posix() if inside else folder.place_of(folder.root / given)


def _with_line(places: Iterable[tuple[_Searched, str | None]], line: int) -> list[tuple[_Searched, str]]:
    """Return the places whose indexed or unsaved text has the 1-based line."""
    return [(each, path) for each, path in places if path and each.reader.between(path, line - 1, line)]


def _nothing_there(request: Request, every: Sequence[_Searched], params: protocol.ReferencesParams) -> str:
    if params.symbol is None:
        return "No name that the workspace defines stands there."
    symbol = params.symbol.strip()
    if _PLACE.fullmatch(symbol):
        return f"No function or type stands at {symbol} or around it."
    typed = Typed.of(symbol)
    if place := _unread_definition(request, every, typed.text):
        return (
            f"{typed.text} is defined at {place}, but uses of names are not read in files of this kind."
            " Search for it."
        )
    beginnings = (typed.letters, typed.letters[:_NEAR_LETTERS])
    like = (
        name
        for letters in beginnings
        for searched in every
        for name in names_like(searched.reader, letters)
        if name != symbol
    )
    best = near(typed.text, like, _NEAR_NAMES)
    *others, last = best or [""]
    meant = f"{', '.join(others)} or {last}" if others else last
    return f"Nothing is called {symbol}." + (f" Did you mean {meant}?" if best else "")


def _unread_definition(request: Request, every: Sequence[_Searched], name: str) -> str:
    """Return the place of a definition in a file of which no references are read, for example because of its
    language; "" if there is none."""
    for searched in every:
        for found in defining(searched.reader, [name]):
            if found.name == name and not searched.graph.reads(found.path):
                stored = searched.reader.chunks({found.chunk_id}).get(found.chunk_id)
                line = definition_lines(stored.chunk, name)[0] + 1 if stored else 1
                return f"{found.path}:{line}"
    return ""


# --- the references, level by level --------------------------------------------------------------------


@define
class _Walk:
    """A breadth-first walk, so that the limit drops the farthest references. It visits a function once."""

    request: Request
    params: protocol.ReferencesParams
    found: list[_Found] = field(factory=list)
    complete: bool = True
    _followed: set[tuple[_Searched, str, int]] = field(factory=set)

    def start(self, definitions: Sequence[_Definition]) -> None:
        """Find the references of these definitions in the requested direction, and follow them."""
        self._followed.update(_identity(searched, place) for searched, place in definitions)
        if not self.params.limit:
            return
        by_folder: dict[_Searched, list[Place]] = {}
        for searched, place in definitions:
            by_folder.setdefault(searched, []).append(place)
        first = [
            (searched, edge)
            for searched, places in by_folder.items()
            for edge in self._edges(searched, places)
        ]
        if self.params.direction is not ReferenceDirection.CALLEES:
            first.sort(key=lambda each: -each[1].confidence)
        self._add(first, 1, None)
        level = range(len(self.found))
        for depth in range(2, self.params.depth + 1):
            for number in level:
                self._follow(number, depth)
            level = range(level.stop, len(self.found))

    def _follow(self, number: int, depth: int) -> None:
        """Find the references of the function to which the reference `found[number]` leads."""
        searched, edge = self.found[number].searched, self.found[number].edge
        is_down = self.params.direction is ReferenceDirection.CALLEES
        place = edge.target if is_down else edge.enclosing
        if place is None or _identity(searched, place) in self._followed:
            return
        check_end()
        self._followed.add(_identity(searched, place))
        self._add([(searched, each) for each in self._edges(searched, [place])], depth, number)

    def _edges(self, searched: _Searched, places: Sequence[Place]) -> list[Edge]:
        """Return the edges of `places`, at most one more than the limit allows, which shows an excess."""
        limit = self.params.limit - len(self.found) + 1
        found: list[Edges]
        if self.params.direction is ReferenceDirection.CALLEES:
            found = [searched.graph.callees(place, limit) for place in places]
        else:
            find = {
                ReferenceDirection.CALLERS: searched.graph.callers,
                ReferenceDirection.USES: searched.graph.uses,
                ReferenceDirection.IMPLEMENTATIONS: searched.graph.implementations,
                ReferenceDirection.TESTS: searched.graph.tests,
            }[self.params.direction]
            found = [find(places, limit)]
        self.complete &= all(edges.complete for edges in found)
        return [edge for edges in found for edge in edges.found]

    def _add(self, edges: Sequence[tuple[_Searched, Edge]], depth: int, parent: int | None) -> None:
        room = self.params.limit - len(self.found)
        self.complete &= len(edges) <= room
        self.found += [_Found(searched, edge, depth, parent) for searched, edge in edges[:room]]


def _identity(searched: _Searched, place: Place) -> tuple[_Searched, str, int]:
    return searched, place.path, place.number


# --- as the protocol has them --------------------------------------------------------------------------


class _Shown:
    """Converts references to the protocol's types. It reads each file once for the texts of the lines."""

    def __init__(
        self, definitions: Iterable[_Definition], found: Iterable[_Found], *, with_targets: bool
    ) -> None:
        self._with_targets = with_targets
        wanted: dict[tuple[_Searched, str], set[int]] = {}
        for searched, place in definitions:
            wanted.setdefault((searched, place.path), set()).add(place.line)
        for each in found:
            for shown in (each.edge, each.edge.target if with_targets else None):
                if shown is not None:
                    wanted.setdefault((each.searched, shown.path), set()).add(shown.line)
        self._texts = {file: _texts(*file, lines) for file, lines in wanted.items()}

    def place(self, searched: _Searched, place: Place) -> protocol.SymbolPlace:
        return protocol.SymbolPlace(
            path=place.path,
            uri=searched.folder.uri_of(place.path),
            folder=searched.folder.uri,
            range=protocol.whole_lines(place.start_line, place.end_line),
            selection_range=_name_range(place.line, place.character, place.name),
            symbol=place.qualified,
            kind=place.kind,
            line=self._line(searched, place.path, place.line),
        )

    def reference(self, found: _Found) -> protocol.FoundReference:
        searched, edge = found.searched, found.edge
        target = edge.target if self._with_targets else None
        return protocol.FoundReference(
            path=edge.path,
            uri=searched.folder.uri_of(edge.path),
            folder=searched.folder.uri,
            range=_name_range(edge.line, edge.character, edge.name),
            line=self._line(searched, edge.path, edge.line),
            enclosing=None if edge.enclosing is None else _enclosing(edge.enclosing),
            symbol=edge.name if edge.target is None else edge.target.qualified,
            target=None if target is None else self.place(searched, target),
            kind=edge.kind.label,
            confidence=round(edge.confidence, 2),
            via=edge.via,
            depth=found.depth,
            parent=found.parent,
        )

    def _line(self, searched: _Searched, path: str, line: int) -> str:
        return self._texts[searched, path].get(line, "")[:_LONGEST_LINE]


def _texts(searched: _Searched, path: str, lines: set[int]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for stored in searched.reader.between(path, min(lines), max(lines) + 1):
        numbered = enumerate(lines_of(stored.chunk.text), stored.chunk.start_line)
        texts.update((number, text) for number, text in numbered if number in lines)
    return texts


def _enclosing(place: Place) -> protocol.EnclosingSymbol:
    return protocol.EnclosingSymbol(
        place.qualified,
        place.kind,
        protocol.whole_lines(place.start_line, place.end_line),
        _name_range(place.line, place.character, place.name),
    )


def _name_range(line: int, character: int, name: str) -> protocol.Range:
    """Return the range of a name in UTF-16 code units."""
    end = character + utf16_length(name)
    return protocol.Range(protocol.Position(line, character), protocol.Position(line, end))
