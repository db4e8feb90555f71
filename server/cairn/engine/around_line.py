"""Collects what belongs to a line of a file: its definition, callers, callees and related passages."""

from __future__ import annotations

from attrs import frozen

from cairn import protocol
from cairn.engine.file_outline import OutlineEntry, indexed_outline, innermost
from cairn.engine.file_page import FilePage, folder_of
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.engine.runner import answer
from cairn.errors import CairnError, InvalidRequestError, OutOfTimeError, QueryCancelledError
from cairn.protocol.references import ReferenceDirection

_REFERENCES = 40
"""The maximum number of references in each direction; `complete` says whether all are shown."""
_RELATED = 12
_WHOLE_LINES = 100
"""The maximum number of lines of a definition for which related passages are shown. A longer one has many
topics, so passages related to the line alone are shown. This halves the longest time that the panel about a
line on the web page of a file takes."""


@frozen
class AroundLine:
    line: int
    definition: OutlineEntry | None
    """The innermost definition or heading with the line, in the shown text; None at the top level."""
    users: protocol.ReferencesAnswer | None
    """The callers of the definition, or its uses if it cannot be called; None if references are unknown."""
    callees: protocol.ReferencesAnswer | None
    related: tuple[protocol.SearchResult, ...]
    problem: str
    """Why `related` is empty; "" without an error."""
    is_stale: bool
    """Whether the file has changed since it was indexed. References still show the indexed lines."""


def around_line(request: Request, file: FilePage, line: int, *, front: str) -> AroundLine:
    """Return what belongs to a 0-based line. Raise InvalidRequestError if the file has no such line."""
    page = file.page
    if not 0 <= line < page.text.count("\n") + 1:
        raise InvalidRequestError("line", f"{page.path} has no line {line + 1}")
    folder = folder_of(request, page.folder)
    definition = innermost(file.outline, line)
    indexed = _as_indexed(folder, file, definition) if definition else None
    users = callees = None
    if indexed is not None and indexed.has_references:
        place = protocol.TextDocument(file.uri), protocol.Position(indexed.line, indexed.character)

        def references(direction: ReferenceDirection) -> protocol.ReferencesAnswer:
            params = protocol.ReferencesParams(None, *place, direction=direction, limit=_REFERENCES)
            found: protocol.ReferencesAnswer = answer(
                request, "references", params, front=front, as_json=False
            )
            return found

        users = references(ReferenceDirection.CALLERS if indexed.is_called else ReferenceDirection.USES)
        callees = references(ReferenceDirection.CALLEES) if indexed.is_called else None
    related, problem = _related(request, file, indexed or definition, line, front)
    return AroundLine(line, definition, users, callees, related, problem, page.changed)


def _as_indexed(folder: Folder, file: FilePage, definition: OutlineEntry) -> OutlineEntry | None:
    """Return the nearest definition of the same name and kind in the indexed text; None if there is none."""
    if not file.page.changed:
        return definition
    alike = [
        entry
        for entry in indexed_outline(folder.reader, file.page.path)
        if (entry.qualified, entry.kind) == (definition.qualified, definition.kind)
    ]
    return min(alike, key=lambda entry: abs(entry.line - definition.line), default=None)


def _related(
    request: Request,
    file: FilePage,
    definition: OutlineEntry | None,
    line: int,
    front: str,
) -> tuple[tuple[protocol.SearchResult, ...], str]:
    """Return passages related to the definition, or to the line if it is missing or long; and any error."""
    lines = protocol.whole_lines(line, line + 1)
    if definition is not None and definition.has_references:
        whole = protocol.whole_lines(definition.start_line, definition.end_line)
        lines = whole if definition.end_line - definition.start_line <= _WHOLE_LINES else lines
    document = protocol.TextDocument(file.uri)
    params = protocol.RelatedParams(document, lines, limit=_RELATED, context=0)
    try:
        found: protocol.RelatedAnswer = answer(request, "related", params, front=front, as_json=False)
    except (QueryCancelledError, OutOfTimeError):
        raise
    except CairnError as problem:
        return (), str(problem)
    return found.results, ""
