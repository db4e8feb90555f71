"""Answers `cairn/related`: finds the passage at a range of a document, and the passages related to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cairn import protocol
from cairn.embedding.static import StaticTable
from cairn.engine.completeness import index_state
from cairn.engine.folders import Folder, path_of_uri, places_of_uri
from cairn.engine.results import contexts, milliseconds, search_result
from cairn.errors import InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.place_choice import whole_chunks
from cairn.retrieval.related_chunks import ChunkRange, Relations, relate
from cairn.retrieval.related_lines import with_lines
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked

if TYPE_CHECKING:
    from cairn.engine.request import Request


def related(request: Request, params: protocol.RelatedParams) -> protocol.RelatedAnswer:
    """Answer `cairn/related`. Raise InvalidRequestError if no passage is at the range."""
    started = time.perf_counter()
    folders, readers = request.folders, request.readers
    number, inside, page = indexed_page(folders, readers, params.text_document.uri)
    chunks = tuple(covered(page, params.range))
    lines, start = lines_of_range(params.range), params.range.start
    cursor = (start.line, start.character) if len(lines) == 1 else None
    passage = ChunkRange(number, inside, chunks, focus=lines, cursor=cursor)
    relations = relate(readers, passage)
    ranked = rank_related(relations.found, passage, params.limit)
    found = with_lines(ranked, relations, table_for(request, relations))
    used, defined = passage.used, passage.defined
    results = tuple(
        search_result(folders, row, shared_names(used, defined, row.ranked), around)
        for row, around in zip(
            whole_chunks(readers, found), contexts(found, readers, params.context), strict=True
        )
    )
    return protocol.RelatedAnswer(results, index_state(request, results), {"total": milliseconds(started)})


def table_for(request: Request, relations: Relations) -> StaticTable | None:
    """Return the static table, used to compare single lines; None if the passage has no static vector."""
    return None if relations.vector.static is None else request.host.model.static_table()


def indexed_page(
    folders: Sequence[Folder], readers: Sequence[OverlaidReader], uri: str
) -> tuple[int, str, list[StoredChunk]]:
    """Return a document's folder number, path and chunks. Raise InvalidRequestError if it is not indexed."""
    places = places_of_uri(folders, uri)
    if not places and path_of_uri(uri) is None:
        raise InvalidRequestError("textDocument.uri", f"{uri!r} names no file; expected a file: URI")
    if not places:
        raise InvalidRequestError("textDocument.uri", f"{uri!r} does not lie in a workspace folder")
    for folder, inside in places:
        number = folders.index(folder)
        if page := readers[number].page(inside):
            return number, inside, page
    raise InvalidRequestError(
        "textDocument.uri",
        f"{places[0][1]!r} is not indexed:"
        " it is empty or not text, or a rule leaves it out, or it was not read yet",
    )


def covered(page: Sequence[StoredChunk], wanted: protocol.Range, field: str = "range") -> list[StoredChunk]:
    """Return the chunks with a line of the range. Raise InvalidRequestError if all chunks are before it."""
    selected = lines_of_range(wanted)
    first, last = selected.start, selected.stop - 1
    lines = page[-1].chunk.end_line
    if first > lines:
        raise InvalidRequestError(field, f"starts at line {first}; the document has {lines} lines")
    first = min(first, lines - 1)  # The cursor may be after the end of the last line.
    return [
        stored
        for stored in page
        if stored.chunk.start_line <= max(first, last) and first < stored.chunk.end_line
    ]


def lines_of_range(wanted: protocol.Range) -> range:
    """Return the 0-based lines that a selection covers."""
    first, last = wanted.start.line, wanted.end.line
    if wanted.end.character == 0 and last > first:
        last -= 1  # A selection of whole lines ends at the start of the next line.
    return range(first, last + 1)


def shared_names(used: Sequence[str], defined: Sequence[str], ranked: Ranked) -> tuple[str, ...]:
    """Return the `used` names that the result defines, and the `defined` names that it contains."""
    chunk = ranked.stored.chunk
    here = set(chunk.defines)
    return (*(name for name in used if name in here), *(name for name in defined if name in chunk.text))
