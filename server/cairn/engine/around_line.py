"""What belongs to one line of a file: the definition around it, who calls that and what it calls, and what is related."""

from __future__ import annotations

from attrs import frozen

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.file_outline import OutlineEntry, indexed_outline, innermost
from cairn.engine.file_page import FilePage, folder_of
from cairn.engine.folders import Folder
from cairn.engine.runner import answer
from cairn.errors import CairnError, InvalidRequestError, OutOfTimeError, QueryCancelledError
from cairn.index.store.deadline import Cancelled, never
from cairn.protocol.references import ReferenceDirection

_REFERENCES = 40
"""As many as somebody looks through beside the code; `complete` says whether there are more."""
_RELATED = 12
_WHOLE_LINES = 100
"""A longer definition is about many things: what is related is asked for of the line alone, which halves the slowest panels."""


@frozen
class AroundLine:
    """What belongs to one line."""

    line: int
    """0-based."""
    definition: OutlineEntry | None
    """The innermost definition or heading around it, in the text that is shown; None at the top level."""
    users: protocol.ReferencesAnswer | None
    """Who calls the definition or, where it is not called, uses it; None where no references are known of it."""
    callees: protocol.ReferencesAnswer | None
    """What it calls."""
    related: tuple[protocol.SearchResult, ...]
    problem: str
    """Why nothing related is shown, "" where that is not so."""
    is_stale: bool
    """Whether the file has changed since it was indexed: lines of it in the references are as they were then."""


def around_line(
    engine: Engine, file: FilePage, line: int, cancelled: Cancelled = never, *, front: str
) -> AroundLine:
    """What belongs to a line of the file. Raises InvalidRequestError for a line that it does not have."""
    page = file.page
    if not 0 <= line < page.text.count("\n") + 1:
        raise InvalidRequestError("line", f"{page.path} has no line {line + 1}")
    folder = folder_of(engine, page.folder)
    definition = innermost(file.outline, line)
    indexed = _as_indexed(folder, file, definition) if definition else None
    users = callees = None
    if indexed is not None and indexed.has_references:
        place = (
            protocol.TextDocument(file.uri),
            protocol.Position(indexed.line, indexed.character),
        )
        users_of = ReferenceDirection.CALLERS if indexed.is_called else ReferenceDirection.USES

        def asked(direction: ReferenceDirection) -> protocol.ReferencesAnswer:
            params = protocol.ReferencesParams(None, *place, direction=direction, limit=_REFERENCES)
            found: protocol.ReferencesAnswer = answer(
                engine, "references", params, cancelled, front=front, as_json=False
            )
            return found

        users = asked(users_of)
        callees = asked(ReferenceDirection.CALLEES) if indexed.is_called else None
    related, problem = _related(engine, file, indexed or definition, line, cancelled, front)
    return AroundLine(line, definition, users, callees, related, problem, page.changed)


def _as_indexed(folder: Folder, file: FilePage, definition: OutlineEntry) -> OutlineEntry | None:
    """The definition in the outline of the text that was indexed; None where that has none of its name and kind."""
    if not file.page.changed:
        return definition
    alike = [
        entry
        for entry in indexed_outline(folder.reader, file.page.path)
        if (entry.qualified, entry.kind) == (definition.qualified, definition.kind)
    ]
    return min(alike, key=lambda entry: abs(entry.line - definition.line), default=None)


def _related(
    engine: Engine,
    file: FilePage,
    definition: OutlineEntry | None,
    line: int,
    cancelled: Cancelled,
    front: str,
) -> tuple[tuple[protocol.SearchResult, ...], str]:
    """What is related to the definition, or to the line where there is none or it is long; and why there is nothing."""
    lines = protocol.whole_lines(line, line + 1)
    if definition is not None and definition.has_references:
        whole = protocol.whole_lines(definition.start_line, definition.end_line)
        lines = whole if definition.end_line - definition.start_line <= _WHOLE_LINES else lines
    document = protocol.TextDocument(file.uri)
    params = protocol.RelatedParams(document, lines, limit=_RELATED, context=0)
    try:
        found: protocol.RelatedAnswer = answer(
            engine, "related", params, cancelled, front=front, as_json=False
        )
    except (QueryCancelledError, OutOfTimeError):
        raise
    except CairnError as problem:
        return (), str(problem)
    return found.results, ""
