"""Answers `cairn/references`: finds the named definitions, then their references level by level."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from functools import cached_property

from attrs import define, field, frozen

from cairn import protocol
from cairn.chunking.definition_place import definition_lines
from cairn.engine.completeness import index_state
from cairn.engine.folders import Folder, path_inside, readers_with_unsaved
from cairn.engine.related import indexed_page
from cairn.engine.request import Request
from cairn.engine.results import milliseconds
from cairn.engine.scope import NAME_IN_FILE, files_named, nothing_there, within
from cairn.engine.trace import Trace, Tracer
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
from cairn.workspace.collections import FileKind, file_kind
from cairn.workspace.ignore_patterns import Selection

_PLACE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?::(?P<column>[0-9]{1,9}))?", re.DOTALL)
_COMMENT = re.compile(r"\s(?:#|//)\s.*")
_HEAD = 12
"""The maximum number of lines of a definition's head in a trace."""
_LONGEST_LINE = 400
"""The maximum number of characters shown of a line. Only generated code has longer lines."""
_MOST_FILTERED = 1_001
"""How many references are read to filter them by path."""
_NEAR_NAMES = 3
_MOST_STARTS = 5
"""The maximum number of definitions from which a trace is tried."""
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
    within: tuple[str, ...] = ()
    unfollowed: int = 0


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
    ends: list[_Definition] = []
    message = "" if definitions else _nothing_there(request, every, params.symbol)
    if params.direction is ReferenceDirection.TRACE:
        if params.to is not None:
            ends = _named(every, params.to, "to")
            message = message or ("" if ends else _nothing_there(request, every, params.to))
        definitions, found, complete, ways = _traced(definitions, ends, params)
        message = message or ways
    else:
        walk = _Walk(request, params, every)
        walk.start(definitions)
        found, complete = walk.found, walk.complete
    walked = time.perf_counter()
    shown = _Shown([*definitions, *ends], found, params.direction)
    places = tuple(shown.place(searched, place) for searched, place in definitions)
    return protocol.ReferencesAnswer(
        symbol=places[0].symbol if places else params.symbol or "",
        definitions=places,
        references=tuple(map(shown.reference, found)),
        complete=complete,
        index=index_state(request, places),
        timings={
            "definitions": milliseconds(started, named),
            "references": milliseconds(named, walked),
            "total": milliseconds(started),
        },
        message=message,
        to=tuple(shown.place(searched, place) for searched, place in ends),
    )


# --- the definitions -----------------------------------------------------------------------------------


def _definitions(every: Sequence[_Searched], params: protocol.ReferencesParams) -> list[_Definition]:
    if params.text_document is not None and params.position is not None:
        folders, readers = [each.folder for each in every], [each.reader for each in every]
        number, path, _ = indexed_page(folders, readers, params.text_document.uri)
        searched, position = every[number], params.position
        return [(searched, place) for place in searched.graph.at(path, position.line, position.character)]
    return _named(every, params.symbol or "", "symbol")


def _named(every: Sequence[_Searched], given: str, param: str) -> list[_Definition]:
    """Return the definitions of a name or at a place. `param` names the parameter in errors."""
    symbol = given.strip()
    if place := _PLACE.fullmatch(symbol):
        return _definitions_at(every, place["path"], int(place["line"]), int(place["column"] or 0), param)
    in_file = NAME_IN_FILE.fullmatch(symbol)
    if in_file and (files := files_named(in_file["path"], [each.folder for each in every])):
        here = [(each, path) for folder, path in files for each in every if each.folder is folder]
        return [(each, place) for each, path in here for place in each.graph.named_in(path, in_file["name"])]
    return [(searched, place) for searched in every for place in searched.graph.named(symbol)]


def _definitions_at(
    every: Sequence[_Searched], given: str, line: int, column: int, param: str
) -> list[_Definition]:
    """Return the definitions at or around a place. Line and column are 1-based; column 0 means no column."""
    if line < 1:
        raise InvalidRequestError(param, "lines count from 1")
    pages = _with_line([(searched, _path_in(searched.folder, given)) for searched in every], line)
    if not pages:  # The path may start with the folder's name, or lack its first parts.
        folders = [searched.folder for searched in every]
        named = files_named(given, folders)
        if not named and not any((folder.root / given).exists() for folder in folders):
            raise InvalidRequestError(param, nothing_there(given, folders))
        places = [(each, path) for folder, path in named for each in every if each.folder is folder]
        pages = _with_line(places, line)
    if not pages:
        problem = f"{given!r} has no line {line} that is indexed; give a path as search results have it"
        raise InvalidRequestError(param, problem)
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


def _nothing_there(request: Request, every: Sequence[_Searched], given: str | None) -> str:
    if given is None:
        return "No name that the workspace defines stands there."
    symbol = given.strip()
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


@define(slots=False)
class _Walk:
    """A breadth-first walk, so that the limit drops the farthest references. It visits a function once."""

    request: Request
    params: protocol.ReferencesParams
    searched: Sequence[_Searched] = ()
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
        for depth in range(2, (self.params.depth or 1) + 1):
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
        if self.params.path:
            limit = _MOST_FILTERED
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
        every = [edge for edges in found for edge in edges.found]
        selection = self._selections.get(searched)
        return every if selection is None else [edge for edge in every if selection.names(edge.path)]

    @cached_property
    def _selections(self) -> dict[_Searched, Selection]:
        """The files that `path` selects, by folder, without folders of which it selects all."""
        wanted = within(self.params.path, self.request.folders)
        patterns = {each: wanted.paths_in(str(each.folder.root)) for each in self.searched}
        return {each: Selection(of_folder) for each, of_folder in patterns.items() if of_folder is not None}

    def _add(self, edges: Sequence[tuple[_Searched, Edge]], depth: int, parent: int | None) -> None:
        room = self.params.limit - len(self.found)
        self.complete &= len(edges) <= room
        self.found += [_Found(searched, edge, depth, parent) for searched, edge in edges[:room]]


def _traced(
    definitions: Sequence[_Definition], ends: Sequence[_Definition], params: protocol.ReferencesParams
) -> tuple[list[_Definition], list[_Found], bool, str]:
    """Return the definitions with that first from which the trace starts, the calls in order, whether these
    are all, and a text about the ways.

    A trace starts at the first definition that calls anything. One with an end starts at the first from which
    calls lead there. Definitions in tests do not count if the first one is in no test.
    """
    if not definitions or not params.limit or (params.to is not None and not ends):
        return list(definitions), [], True, ""
    message = ""
    is_test = _is_test(definitions[0])
    starts = [each for each in definitions if is_test or not _is_test(each)]
    for searched, place in starts[:_MOST_STARTS]:
        start = searched.graph.constructor(place)
        tracer = Tracer(searched.graph, searched.reader, params.limit, params.depth)
        here = [end for other, end in ends if other is searched]
        trace = tracer.ways(start, here) if here else Trace() if ends else tracer.trace(start)
        message = message or trace.message
        if trace.steps:
            found = [
                _Found(searched, each.edge, each.depth, each.parent, each.within, each.unfollowed)
                for each in trace.steps
            ]
            others = [each for each in definitions if each != (searched, place)]
            return [(searched, start), *others], found, trace.complete, trace.message
    return list(definitions), [], True, message


def _is_test(definition: _Definition) -> bool:
    return file_kind(definition[1].path) == FileKind.TESTS


def _identity(searched: _Searched, place: Place) -> tuple[_Searched, str, int]:
    return searched, place.path, place.number


# --- as the protocol has them --------------------------------------------------------------------------


class _Shown:
    """Converts references to the protocol's types. It reads each file once for the texts of the lines."""

    def __init__(
        self, definitions: Iterable[_Definition], found: Iterable[_Found], direction: ReferenceDirection
    ) -> None:
        self._is_trace = direction is ReferenceDirection.TRACE
        self._with_targets = with_targets = self._is_trace or direction is ReferenceDirection.CALLEES
        wanted: dict[tuple[_Searched, str], set[int]] = {}
        heads = list(definitions)
        for each in found:
            wanted.setdefault((each.searched, each.edge.path), set()).add(each.edge.line)
            if with_targets and each.edge.target is not None:
                heads.append((each.searched, each.edge.target))
        for searched, place in heads:
            lines = range(place.line, place.line + (_HEAD if self._is_trace else 1))
            wanted.setdefault((searched, place.path), set()).update(lines)
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
            line=self._head(searched, place)
            if self._is_trace
            else self._line(searched, place.path, place.line),
        )

    def _head(self, searched: _Searched, place: Place) -> str:
        """Return the head of a definition, with its lines joined."""
        last = min(place.end_line, place.line + _HEAD)
        head = ""
        for line in range(place.line, last):
            text = self._line(searched, place.path, line)
            head = f"{head} {_COMMENT.sub('', text).strip()}".strip()
            if head.count("(") <= head.count(")"):
                break
        return head

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
            within=found.within,
            unfollowed=found.unfollowed,
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
