"""Answers `cairn/references`: finds the named definitions, then their references level by level."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

from cairn import protocol
from cairn.engine.completeness import index_state
from cairn.engine.folders import readers_with_unsaved
from cairn.engine.named_definitions import Definition, Searched, definitions_of, named, no_definition
from cairn.engine.reference_walk import Found, Walk
from cairn.engine.request import Request
from cairn.engine.results import milliseconds
from cairn.engine.trace import Trace, Tracer
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.protocol.relation_messages import ReferenceDirection
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind

_COMMENT = re.compile(r"\s(?:#|//)\s.*")
_HEAD = 12
"""The maximum number of lines of a definition's head in a trace."""
_LONGEST_LINE = 400
"""The maximum number of characters shown of a line. Only generated code has longer lines."""
_MOST_STARTS = 5
"""The maximum number of definitions from which a trace is tried."""


def references(request: Request, params: protocol.ReferencesParams) -> protocol.ReferencesAnswer:
    """Answer `cairn/references` for all folders. Raise InvalidRequestError if the place is not indexed."""
    started = time.perf_counter()
    readers = readers_with_unsaved(request.folders)
    every = [
        Searched(folder, reader, ReferenceGraph(reader))
        for folder, reader in zip(request.folders, readers, strict=True)
    ]
    definitions = definitions_of(every, params)
    looked_up = time.perf_counter()
    ends: list[Definition] = []
    notes: tuple[protocol.UsageNote, ...] = ()
    message = "" if definitions else no_definition(every, params.symbol)
    if params.direction is ReferenceDirection.TRACE:
        if params.to is not None:
            ends = named(every, params.to, "to")
            message = message or ("" if ends else no_definition(every, params.to))
        definitions, found, complete, ways = _traced(definitions, ends, params)
        message = message or ways
    else:
        walk = Walk(request, params, every)
        walk.start(definitions)
        found, complete = walk.found, walk.complete
        notes = tuple(walk.notes.notes)
        message = message or walk.scope.note
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
            "definitions": milliseconds(started, looked_up),
            "references": milliseconds(looked_up, walked),
            "total": milliseconds(started),
        },
        message=message,
        to=tuple(shown.place(searched, place) for searched, place in ends),
        notes=notes,
    )


def _traced(
    definitions: Sequence[Definition], ends: Sequence[Definition], params: protocol.ReferencesParams
) -> tuple[list[Definition], list[Found], bool, str]:
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
        tracer = Tracer(searched.graph, searched.reader, params.limit, params.depth)
        start = tracer.flow.constructor(place)
        here = [end for other, end in ends if other is searched]
        trace = tracer.ways(start, here) if here else Trace() if ends else tracer.trace(start)
        message = message or trace.message
        if trace.steps:
            found = [
                Found(searched, each.edge, each.depth, each.parent, each.within, each.unfollowed)
                for each in trace.steps
            ]
            others = [each for each in definitions if each != (searched, place)]
            return [(searched, start), *others], found, trace.complete, trace.message
    return list(definitions), [], True, message


def _is_test(definition: Definition) -> bool:
    return file_kind(definition[1].path) == FileKind.TESTS


# --- as the protocol has them --------------------------------------------------------------------------


class _Shown:
    """Converts references to the protocol's types. It reads each file once for the texts of the lines."""

    def __init__(
        self, definitions: Iterable[Definition], found: Iterable[Found], direction: ReferenceDirection
    ) -> None:
        self._is_trace = direction is ReferenceDirection.TRACE
        self._with_targets = with_targets = self._is_trace or direction is ReferenceDirection.CALLEES
        wanted: dict[tuple[Searched, str], set[int]] = {}
        heads = list(definitions)
        for each in found:
            wanted.setdefault((each.searched, each.edge.path), set()).add(each.edge.line)
            if with_targets and each.edge.target is not None:
                heads.append((each.searched, each.edge.target))
        for searched, place in heads:
            lines = range(place.line, place.line + (_HEAD if self._is_trace else 1))
            wanted.setdefault((searched, place.path), set()).update(lines)
        self._texts = {file: _texts(*file, lines) for file, lines in wanted.items()}

    def place(self, searched: Searched, place: Place) -> protocol.SymbolPlace:
        return protocol.SymbolPlace(
            path=place.path,
            uri=searched.folder.uri_of(place.path),
            folder=searched.folder.uri,
            range=protocol.whole_lines(place.start_line, place.end_line),
            selection_range=protocol.name_range(place.line, place.character, place.name),
            symbol=place.qualified,
            kind=place.kind,
            line=self._head(searched, place)
            if self._is_trace
            else self._line(searched, place.path, place.line),
        )

    def _head(self, searched: Searched, place: Place) -> str:
        """Return the head of a definition, with its lines joined."""
        last = min(place.end_line, place.line + _HEAD)
        head = ""
        for line in range(place.line, last):
            text = self._line(searched, place.path, line)
            head = f"{head} {_COMMENT.sub('', text).strip()}".strip()
            if head.count("(") <= head.count(")"):
                break
        return head

    def reference(self, found: Found) -> protocol.FoundReference:
        searched, edge = found.searched, found.edge
        target = edge.target if self._with_targets else None
        return protocol.FoundReference(
            path=edge.path,
            uri=searched.folder.uri_of(edge.path),
            folder=searched.folder.uri,
            range=protocol.name_range(edge.line, edge.character, edge.name),
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

    def _line(self, searched: Searched, path: str, line: int) -> str:
        return self._texts[searched, path].get(line, "")[:_LONGEST_LINE]


def _texts(searched: Searched, path: str, lines: set[int]) -> dict[int, str]:
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
        protocol.name_range(place.line, place.character, place.name),
    )
