"""A repository of a team's index as a folder that has no files on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from attrs import field, frozen

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.index.queries.file_queries import has_below
from cairn.text.uris import path_below, repository_uri

NOWHERE = Path(os.devnull) / "cairn-team"
"""The parent of all repositories' folders. It cannot exist, so paths in it never lead to a local file."""


@frozen
class SnapshotFolder(Folder):
    revision: protocol.Revision = field(kw_only=True)
    """The indexed commit."""

    @property
    def label(self) -> str:
        return self.revision.repository

    @property
    def uri(self) -> str:
        return repository_uri(self.revision.repository)

    def place_of(self, path: Path) -> str | None:
        return None

    def place_of_uri(self, uri: str) -> str | None:
        return path_below(self.uri, uri)

    def admits(self, path: str) -> bool:
        return True  # Other files were not indexed.

    def text_of(self, path: str) -> str | None:
        page = self.reader.page(path)
        return "".join(stored.chunk.text for stored in page) if page else None

    def has(self, path: os.PathLike[str], *, directory: bool = False) -> bool:
        inside = Path(path).as_posix()
        return has_below(self.reader, inside) and not (directory and inside in self.reader.contents([inside]))

    def uri_of(self, path: str) -> str:
        return f"{self.uri}/{quote(path, errors='surrogateescape')}"
