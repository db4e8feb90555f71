"""Answers `cairn/fetchPage`: a whole indexed file, stitched from its chunks."""

from __future__ import annotations

from collections.abc import Sequence

from cairn import protocol
from cairn.engine.folders import Folder, folders_named, path_inside, readers_with_unsaved
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.index.reader.records import StoredChunk
from cairn.text.languages import language_of


def fetch_page(request: Request, params: protocol.FetchPageParams) -> protocol.PageAnswer:
    """`cairn/fetchPage`: the file with its unsaved text, or as it was indexed.

    Raises InvalidRequestError for a path that is not an indexed file.

    The index is all that is read, so no path leads to a file that it does not hold.
    """
    path = params.path
    wanted = folders_named(request.folders, params.folder)
    readers = readers_with_unsaved(wanted)
    pages = [
        (folder, page) for folder, reader in zip(wanted, readers, strict=True) if (page := reader.page(path))
    ]
    if len(pages) > 1:
        holding = ", ".join(folder.uri for folder, _ in pages)
        raise InvalidRequestError("folder", f"is required: {path!r} is in several folders, {holding}")
    if pages:
        return _page(pages[0][1])
    raise InvalidRequestError("path", _why_not(wanted, path))


def _page(chunks: Sequence[StoredChunk]) -> protocol.PageAnswer:
    """A whole file from its chunks, which cover it without overlapping."""
    text = "".join(stored.chunk.text for stored in chunks)
    shown = (
        protocol.PageChunk(
            protocol.whole_lines(chunk.start_line, chunk.end_line), chunk.title, chunk.type, chunk.symbol
        )
        for chunk in (stored.chunk for stored in chunks)
    )
    return protocol.PageAnswer(text, language_of(chunks[0].path, text), tuple(shown))


def _why_not(folders: Sequence[Folder], given: str) -> str:
    path = path_inside(given)
    if path is None:
        return f"{given!r} does not lie in the workspace folder; give a path as search results have it"
    if any(folder.has(path, directory=True) for folder in folders):
        return f"{given!r} is a directory; ask for one of the files in it, which a search with the path filter {given.rstrip('/') + '/**'!r} lists"
    return f"{given!r} is not indexed; give a path as search results have it"
