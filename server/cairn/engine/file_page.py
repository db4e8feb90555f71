"""Collects what a page about one file shows: its text, outline and history, and what belongs to a line."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from cairn import protocol
from cairn.engine.file_outline import OutlineEntry, indexed_outline, innermost, outline_of_text
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.engine.runner import answer
from cairn.errors import CairnError, InvalidRequestError, OutOfTimeError, QueryCancelledError
from cairn.index.queries.file_queries import (
    TouchedFile,
    commits_of,
    copies_among,
    copies_of,
    file_facts,
)
from cairn.index.queries.relations import changed_together, imports_around
from cairn.index.reader.index_reader import IndexReader
from cairn.protocol.relation_messages import ReferenceDirection

_COMMITS = 12
"""The number of latest commits shown. Commits are stored in blocks of 200; reading a block takes 1 ms."""
_TOGETHER = 8


@frozen
class FileHistory:
    """What the index knows of one file besides its text. Unknown fields are empty."""

    commits: TouchedFile = field(factory=TouchedFile)
    changed_with: tuple[tuple[str, float], ...] = ()
    """The eight files that most often change together with the file, in descending order, and how often they
    do, 0 to 1 (always). Only commits of up to nine files count."""
    imports: tuple[str, ...] = ()
    imported_by: tuple[str, ...] = ()
    original: str = ""
    """The file of which this file is a copy; "" if it is not a copy."""
    copied_share: float = 0.0
    """The share of the file's lines that are also in the original, 0 to 1."""
    copies: tuple[str, ...] = ()


def file_history(reader: IndexReader, path: str) -> FileHistory:
    together = changed_together(reader, path)
    nearest = sorted(together, key=lambda other: (-together[other], other))[:_TOGETHER]
    imported, importers = imports_around(reader, path)
    original, share = copies_among(reader, [path]).get(path, ("", 0.0))
    return FileHistory(
        commits=commits_of(reader, path, _COMMITS),
        changed_with=tuple((other, together[other]) for other in nearest),
        imports=tuple(sorted(imported)),
        imported_by=tuple(sorted(importers)),
        original=original,
        copied_share=share,
        copies=tuple(copies_of(reader, path)),
    )


@frozen
class FilePage:
    page: protocol.PageAnswer
    repository: str
    uri: str
    """The URI of the file: `file:`, or `cairn-team:` if only a team's index has it."""
    collection: str
    kind: str
    size: int
    """The size in bytes of the indexed text; 0 if only unsaved text is known."""
    outline: tuple[OutlineEntry, ...]
    """The outline of the shown text or, for a changed notebook, of the indexed text."""
    is_gone: bool
    """Whether the file was deleted or is no longer text. The indexed text is shown then."""


def file_page(request: Request, path: str, *, front: str) -> FilePage:
    """Return the file at `path`, which may be absolute, relative or a unique end of a path.

    Raise InvalidRequestError with the reason for a path that is not an indexed file. If several folders have
    the path, the field of the error is `folder`; `folders_holding` lists these folders.
    """
    params = protocol.FetchPageParams(path, now=True)
    page: protocol.PageAnswer = answer(request, "fetchPage", params, front=front, as_json=False)
    folder = folder_of(request, page.folder)
    facts = file_facts(folder.reader, page.path)
    return FilePage(
        page=page,
        repository=folder.shown.name if is_local(folder) else folder.label,
        uri=folder.uri_of(page.path),
        collection=facts.collection if facts else "",
        kind=facts.kind if facts else "",
        size=facts.size if facts else 0,
        outline=outline_of_page(request, page),
        is_gone=page.changed and page.version != "disk" and is_local(folder),
    )


def outline_of_page(request: Request, page: protocol.PageAnswer) -> tuple[OutlineEntry, ...]:
    """Return the outline of a page's text or, for a changed notebook, of the indexed text."""
    if page.changed and page.version == "disk" and page.language != "jupyter":
        return outline_of_text(page.path, page.text)
    return indexed_outline(folder_of(request, page.folder).reader, page.path)


def history_of(request: Request, file: FilePage) -> FileHistory:
    return file_history(folder_of(request, file.page.folder).reader, file.page.path)


def folders_holding(request: Request, path: str) -> Sequence[tuple[str, str]]:
    """Return the URI and label of each folder that has an indexed file at `path`."""
    return [(each.uri, each.label) for each in request.folders if each.reader.page(path)]


def folder_of(request: Request, uri: str) -> Folder:
    """Return the open folder with this URI, which must come from an answer of the engine."""
    return next(folder for folder in request.folders if folder.uri == uri)


def is_local(folder: Folder) -> bool:
    return folder.uri.startswith("file:")


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
