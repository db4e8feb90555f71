"""Folders for tests of passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.retrieval.passages.asked_folder import AskedFolder

FolderOf = Callable[[Mapping[str, str]], AskedFolder]


@pytest.fixture
def folder_of(tmp_path: Path) -> Iterator[FolderOf]:
    """Index one folder with the given files and their texts."""
    made: list[AskedFolder] = []

    def make(files: Mapping[str, str]) -> AskedFolder:
        made.append(AskedFolder(tmp_path, files))
        return made[-1]

    yield make
    for folder in made:
        folder.close()
