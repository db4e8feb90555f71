"""Fixtures of the tests of an index file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    yield writer
    writer.close()


@pytest.fixture
def reader(tmp_path: Path) -> SqliteReader:
    return SqliteReader(tmp_path)
