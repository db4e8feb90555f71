"""Indexed folders for tests of retrieval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder


@pytest.fixture
def folder_of(tmp_path: Path) -> Iterator[FolderOf]:
    """Index one folder with the given files and their texts."""
    made: list[IndexedFolder] = []

    def make(files: Mapping[str, str]) -> IndexedFolder:
        made.append(IndexedFolder(tmp_path, files))
        return made[-1]

    yield make
    for folder in made:
        folder.close()
