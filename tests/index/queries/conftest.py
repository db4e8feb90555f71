"""An index file of the `FILES` (texts by path) of each test module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.index.index_builders import indexed

from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter


@pytest.fixture
def writer(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[IndexWriter]:
    (tmp_path / "index").mkdir()
    with contextlib.closing(IndexWriter(tmp_path / "index")) as writer:
        writer.write([indexed(path, text) for path, text in request.module.FILES.items()], ())
        yield writer


@pytest.fixture
def reader(writer: IndexWriter) -> IndexReader:
    return SqliteReader(writer.folder)
