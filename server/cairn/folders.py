"""The open workspace folders, each with its settings, its index and the thread that keeps it current."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from cairn import protocol
from cairn.config import WORKSPACE_FILE, Settings, load_workspace_file
from cairn.discovery import CollectionRef
from cairn.index.indexer import Indexer
from cairn.index.reader import IndexReader
from cairn.workspace.collections import TAGS, FileKind


class FolderSettings:
    """The settings of one folder, read anew whenever its workspace file changes."""

    def __init__(self, base: Settings, root: Path) -> None:
        self._base = base
        self._root = root
        self._read: tuple[object, Settings, list[str]] | None = None

    def rebase(self, base: Settings) -> None:
        """Lay the workspace file over `base` from now on."""
        self._base, self._read = base, None

    def __call__(self) -> Settings:
        """The settings as they are now."""
        return self._current()[1]

    def warnings(self) -> list[str]:
        """What in the workspace file could not be used."""
        return self._current()[2]

    def _current(self) -> tuple[object, Settings, list[str]]:
        try:
            version: object = (self._root / WORKSPACE_FILE).stat().st_mtime_ns
        except OSError:
            version = None
        if self._read is None or self._read[0] != version:
            self._read = (version, *load_workspace_file(self._base, self._root))
        return self._read


@frozen
class Folder:
    """One workspace folder with its index."""

    root: Path
    """Its real path: what is indexed."""
    shown: Path
    """The path it was opened by: what the editor knows its files by."""
    settings: FolderSettings
    indexer: Indexer
    reader: IndexReader

    @property
    def uri(self) -> str:
        return self.shown.as_uri()

    def uri_of(self, path: str) -> str:
        return (self.shown / path).as_uri()


def index_state(folders: Sequence[Folder]) -> protocol.IndexState:
    """How complete the indexes are, taken together."""
    return protocol.IndexState(
        generation=sum(folder.reader.generation() for folder in folders),
        complete=bool(folders) and all(folder.reader.complete() for folder in folders),
    )


def collection_refs(folders: Sequence[Folder], dimension: int) -> list[CollectionRef]:
    """The collections of all folders; one that several folders have counts once."""
    refs: dict[str, CollectionRef] = {}
    for folder in folders:
        for stats in folder.reader.stats().collections:
            known = refs.get(stats.name)
            refs[stats.name] = CollectionRef(
                name=stats.name,
                dimension=dimension,
                vector_count=stats.chunks + (known.vector_count if known else 0),
                created_at=datetime.datetime.fromisoformat(stats.created_at),
                updated_at=datetime.datetime.fromisoformat(stats.updated_at),
                tags=TAGS[FileKind(stats.kind)],
            )
    return list(refs.values())
