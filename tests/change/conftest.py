"""Folders with an index and commits, which are closed at the end of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.change.evidence import Open
from tests.retrieval.indexed_folder import IndexedFolder


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    folders: list[IndexedFolder] = []

    def opening(files: Mapping[str, str]) -> IndexedFolder:
        folders.append(IndexedFolder(tmp_path, files))
        return folders[-1]

    yield opening
    for folder in folders:
        folder.close()
