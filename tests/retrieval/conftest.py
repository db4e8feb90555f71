"""Indexed folders, and indexes without vectors, for tests of retrieval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tests.index.index_builders import indexed
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder, ReaderOf

from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter


@pytest.fixture
def folder_class() -> type[IndexedFolder]:
    return IndexedFolder


@pytest.fixture
def folder_of(tmp_path: Path, folder_class: type[IndexedFolder]) -> Iterator[FolderOf]:
    """Index one folder with the given files and their texts."""
    made: list[IndexedFolder] = []

    def make(files: Mapping[str, str]) -> IndexedFolder:
        made.append(folder_class(tmp_path, files))
        return made[-1]

    yield make
    for folder in made:
        folder.close()


@pytest.fixture(scope="session")
def reader_of(tmp_path_factory: pytest.TempPathFactory) -> ReaderOf:
    """Index the given files without vectors, as those of a folder with a name."""

    def read(files: Mapping[str, str], name: str = "port") -> IndexReader:
        folder = tmp_path_factory.mktemp("index")
        with closing(IndexWriter(folder)) as writer:
            writer.write([indexed(*each) for each in files.items()], ())
        return SqliteReader(folder, root=f"/src/{name}")

    return read
