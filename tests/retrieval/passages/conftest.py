"""Folders for tests of passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.retrieval.passages.folder_with_passages import FolderWithPassages

FolderOf = Callable[[Mapping[str, str]], FolderWithPassages]


@pytest.fixture
def folder_of(tmp_path: Path) -> Iterator[FolderOf]:
    """Index one folder with the given files and their texts."""
    made: list[FolderWithPassages] = []

    def make(files: Mapping[str, str]) -> FolderWithPassages:
        made.append(FolderWithPassages(tmp_path, files))
        return made[-1]

    yield make
    for folder in made:
        folder.close()
