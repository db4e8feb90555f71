"""Collects what a page about one file shows: its current text, its outline, and its folder or repository."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.file_history import FileHistory, file_history
from cairn.engine.file_outline import OutlineEntry, indexed_outline, outline_of_text
from cairn.engine.folders import Folder
from cairn.engine.runner import answer
from cairn.index.queries.file_queries import file_facts
from cairn.index.store.deadline import Cancelled, never


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


def file_page(engine: Engine, path: str, cancelled: Cancelled = never, *, front: str) -> FilePage:
    """Return the file at `path`, which may be absolute, relative or a unique end of a path.

    Raise InvalidRequestError with the reason for a path that is not an indexed file. If several folders have
    the path, the field of the error is `folder`; `folders_holding` lists these folders.
    """
    params = protocol.FetchPageParams(path, now=True)
    page: protocol.PageAnswer = answer(engine, "fetchPage", params, cancelled, front=front, as_json=False)
    folder = folder_of(engine, page.folder)
    facts = file_facts(folder.reader, page.path)
    parse_anew = page.changed and page.version == "disk" and page.language != "jupyter"
    outline = (
        outline_of_text(page.path, page.text) if parse_anew else indexed_outline(folder.reader, page.path)
    )
    return FilePage(
        page=page,
        repository=folder.shown.name if is_local(folder) else folder.label,
        uri=folder.uri_of(page.path),
        collection=facts.collection if facts else "",
        kind=facts.kind if facts else "",
        size=facts.size if facts else 0,
        outline=outline,
        is_gone=page.changed and page.version != "disk" and is_local(folder),
    )


def history_of(engine: Engine, file: FilePage) -> FileHistory:
    return file_history(folder_of(engine, file.page.folder).reader, file.page.path)


def folders_holding(engine: Engine, path: str) -> Sequence[tuple[str, str]]:
    """Return the URI and label of each folder that has an indexed file at `path`."""
    return [(each.uri, each.label) for each in engine.folders if each.reader.page(path)]


def folder_of(engine: Engine, uri: str) -> Folder:
    """Return the open folder with this URI, which must come from an answer of the engine."""
    return next(folder for folder in engine.folders if folder.uri == uri)


def is_local(folder: Folder) -> bool:
    return folder.uri.startswith("file:")
