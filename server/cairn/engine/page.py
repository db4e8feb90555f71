"""Answers `cairn/fetchPage`: a whole indexed file, joined from its chunks, or the current text on disk."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from cairn import protocol
from cairn.chunking.chunker import chunk_text
from cairn.engine.folders import Folder, folders_named, path_inside, readers_with_unsaved, shown_lines
from cairn.engine.request import Request
from cairn.engine.scope import files_named, nothing_there
from cairn.errors import InvalidRequestError
from cairn.index.reader.records import StoredChunk
from cairn.languages.registry import language_of
from cairn.operations.why import Why, why
from cairn.text.verbatim import lines_of
from cairn.workspace.builtin_rules import may_contain_secrets


def fetch_page(request: Request, params: protocol.FetchPageParams) -> protocol.PageAnswer:
    """Answer `cairn/fetchPage` with the unsaved or indexed text, or with the text on disk if `params.now`.

    Only indexed files are read from disk, and only while no rule excludes them. Raise InvalidRequestError for
    a path that is not an indexed file.
    """
    path = params.path
    wanted = folders_named(request.folders, params.folder)
    readers = readers_with_unsaved(wanted)
    pages = [
        (folder, page) for folder, reader in zip(wanted, readers, strict=True) if (page := reader.page(path))
    ]
    if not pages and params.now:
        pages = [
            (folder, page) for folder, file in files_named(path, wanted) if (page := folder.reader.page(file))
        ]
    if len(pages) > 1:
        holding = ", ".join(folder.uri for folder, _ in pages)
        raise InvalidRequestError("folder", f"is required: {path!r} is in several folders, {holding}")
    if pages:
        folder, chunks = pages[0]
        indexed = evolve(_page(chunks), path=chunks[0].path, folder=folder.uri)
        return _now(folder, indexed, chunks) if params.now else indexed
    raise InvalidRequestError("path", _why_not(wanted, path, now=params.now))


def _page(chunks: Sequence[StoredChunk]) -> protocol.PageAnswer:
    text = "".join(stored.chunk.text for stored in chunks)
    shown = (
        protocol.PageChunk(
            protocol.whole_lines(chunk.start_line, chunk.end_line), chunk.title, chunk.type, chunk.symbol
        )
        for chunk in (stored.chunk for stored in chunks)
    )
    return protocol.PageAnswer(text, language_of(chunks[0].path, text), tuple(shown))


def _now(folder: Folder, page: protocol.PageAnswer, chunks: Sequence[StoredChunk]) -> protocol.PageAnswer:
    """Return the page with the current text, or unchanged if the file is gone or only in a team's index.

    Raise InvalidRequestError for a file that a rule now excludes, for example because it contains a secret.
    """
    explained = _explained(folder, page.path)
    if explained is not None and not explained.indexed:
        raise InvalidRequestError("path", _left_out(explained))
    text = folder.text_of(page.path)
    if text is None:
        return evolve(page, changed=True)
    lines = shown_lines(page.path, text)
    return evolve(
        page,
        text="\n".join(lines),
        version="disk" if explained else page.version,
        changed=_differs(page, text, chunks) if explained else False,
    )


def _differs(page: protocol.PageAnswer, text: str, chunks: Sequence[StoredChunk]) -> bool:
    """Return whether the current text differs from the indexed one. In notebooks, cells are compared."""
    if page.language != "jupyter":
        return lines_of(text) != lines_of(page.text)
    now = chunk_text(page.path, text)
    return [(each.start_line, each.text) for each in now] != [
        (each.chunk.start_line, each.chunk.text) for each in chunks
    ]


def _explained(folder: Folder, path: str) -> Why | None:
    """Return whether and by which rule a file on disk is indexed; None if it does not exist."""
    try:
        return why(folder.root / path, folder.root)
    except InvalidRequestError:
        return None


def _left_out(explained: Why) -> str:
    detail = f": {explained.detail}" if explained.detail else ""
    rule = f"{explained.path!r} is left out of the index by the rule {explained.rule!r}{detail}"
    if may_contain_secrets(explained.path) or "secret" in explained.rule:
        return f"{rule}; such files are never shown"
    return f"{rule}; read the file itself, with a tool that reads files"


def _why_not(folders: Sequence[Folder], given: str, *, now: bool) -> str:
    """Return why a path cannot be read: the rule that excludes it, or a similar path that exists."""
    path = path_inside(given)
    if path is None and not now:
        return f"{given!r} is not in the workspace folder; give a path as search results have it"
    if path is not None and any(folder.has(path, directory=True) for folder in folders):
        pattern = given.rstrip("/") + "/**"
        return (
            f"{given!r} is a directory; ask for one of the files in it, which a search with the path filter"
            f" {pattern!r} lists"
        )
    if "\0" in given:
        return f"{given!r} is not a path"
    for folder in folders:
        inside = folder.place_of(folder.root / given)
        explained = _explained(folder, inside) if inside else None
        if explained is not None and explained.directory:
            return f"{given!r} is a directory; give one of its files, or search in it"
        if explained is not None and not explained.indexed:
            return _left_out(explained)
        if explained is not None:
            return (
                f"{given!r} is empty, or was not read yet: read the file itself, or ask again in some seconds"
            )
    return nothing_there(given, folders)
