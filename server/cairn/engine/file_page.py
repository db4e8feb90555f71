"""A whole file for somebody who reads it: its text as it is now, its outline, and where it lies."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.file_history import FileHistory, file_history
from cairn.engine.file_outline import OutlineEntry, indexed_outline, outline_of_text
from cairn.engine.folders import Folder
from cairn.engine.runner import answer
from cairn.index.queries.files import file_facts
from cairn.index.store.deadline import Cancelled, never


@frozen
class FilePage:
    """One file of one folder."""

    page: protocol.PageAnswer
    """Its text, and whether it differs from the index."""
    repository: str
    """What the folder or repository is called."""
    uri: str
    """That of the file: `file:`, or `cairn-team:` where it is in a team's index alone."""
    collection: str
    kind: str
    """What it is for: source, tests, docs, …"""
    size: int
    """Bytes, as it was indexed; 0 where only unsaved text is known of it."""
    outline: tuple[OutlineEntry, ...]
    """It fits the text that is shown; that of a notebook that has changed is still the indexed one's."""
    is_gone: bool
    """Whether the file is not there any more, or is not text any more: what is shown is what was indexed."""


def file_page(engine: Engine, path: str, cancelled: Cancelled = never, *, front: str) -> FilePage:
    """The file at `path` of one of the engine's folders, written in any way.

    Raises InvalidRequestError for what is not an indexed file, with the reason: about the field `folder` where several folders
    hold the path, which `folders_holding` tells.
    """
    asked = protocol.FetchPageParams(path, now=True)
    page: protocol.PageAnswer = answer(engine, "fetchPage", asked, cancelled, front=front, as_json=False)
    folder = folder_of(engine, page.folder)
    facts = file_facts(folder.reader, page.path)
    parse_anew = page.changed and page.version == "disk" and page.language != "jupyter"
    return FilePage(
        page=page,
        repository=folder.shown.name if is_local(folder) else folder.label,
        uri=folder.uri_of(page.path),
        collection=facts.collection if facts else "",
        kind=facts.kind if facts else "",
        size=facts.size if facts else 0,
        outline=outline_of_text(page.path, page.text)
        if parse_anew
        else indexed_outline(folder.reader, page.path),
        is_gone=page.changed and page.version != "disk" and is_local(folder),
    )


def history_of(engine: Engine, file: FilePage) -> FileHistory:
    """What ranking knows of the file beside its text."""
    return file_history(folder_of(engine, file.page.folder).reader, file.page.path)


def folders_holding(engine: Engine, path: str) -> Sequence[tuple[str, str]]:
    """The folders that hold the file at `path`, each as its URI and what it is called."""
    return [(each.uri, each.label) for each in engine.folders if each.reader.page(path)]


def folder_of(engine: Engine, uri: str) -> Folder:
    """The engine's folder of that URI, which an answer named."""
    return next(folder for folder in engine.folders if folder.uri == uri)


def is_local(folder: Folder) -> bool:
    """Whether the folder is on this machine."""
    return folder.uri.startswith("file:")
