"""What was read of an index is read once while the index does not change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from tests.index.index_builders import indexed, numbers

from cairn.index.indexing.links import count_links, store_links
from cairn.index.queries.files import in_degrees
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.generation_cache import GenerationCache
from cairn.index.store.writer import IndexWriter


class Shelf:
    """Reads the squares of numbers, of even ones only, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def read(self, keys: list[int]) -> dict[int, int]:
        self.asked.append(keys)
        return {key: key * key for key in keys if key % 2 == 0}


def test_what_is_known_is_not_read_again_until_the_version_changes() -> None:
    shelf, known = Shelf(), GenerationCache[int, int](most=100)
    assert known.get("a", [2, 4], shelf.read) == {2: 4, 4: 16}
    assert known.get("a", [4, 6], shelf.read) == {4: 16, 6: 36}
    assert known.get("b", [4], shelf.read) == {4: 16}
    assert known.get("a", [4], shelf.read) == {4: 16}  # nobody's index goes back, but a slow thread may
    assert shelf.asked == [[2, 4], [6], [4], [4]]


def test_what_is_not_there_is_asked_for_again() -> None:
    shelf, known = Shelf(), GenerationCache[int, int](most=100)
    assert known.get("a", [3], shelf.read) == known.get("a", [3], shelf.read) == {}
    assert shelf.asked == [[3], [3]]


def test_no_more_is_kept_than_may_be() -> None:
    shelf, known = Shelf(), GenerationCache[int, int](most=3)
    assert known.get("a", [2, 4], shelf.read) == {2: 4, 4: 16}
    assert known.get("a", [2, 6, 8], shelf.read) == {2: 4, 6: 36, 8: 64}
    assert known.get("a", [6, 8], shelf.read) == {6: 36, 8: 64}
    assert known.get("a", [2], shelf.read) == {2: 4}
    assert shelf.asked == [[2, 4], [6, 8], [2]]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    yield writer
    writer.close()


def test_an_outline_and_a_files_imports_follow_what_is_written(writer: IndexWriter) -> None:
    a, b = indexed("a.py", "def moor():\n    pass\n"), indexed("b.py", "x = 1\n")
    writer.write([evolve(a, imports=("py:b",)), b], ())
    reader = SqliteReader(writer.folder)

    def symbols() -> set[str]:
        with reader.reading() as db:
            ids = numbers(db, "SELECT id FROM chunks")
        return {outline.symbol for outline in reader.outlines(ids).values()}

    assert "moor" in symbols()
    assert in_degrees(reader, ["b.py"])["b.py"] == 0
    store_links(writer.db, count_links(writer.db))
    assert in_degrees(reader, ["b.py"])["b.py"] == 1
    writer.write([indexed("a.py", "def anchor():\n    pass\n")], ())
    assert "anchor" in symbols()
    assert "moor" not in symbols()
    writer.write((), ["b.py"])
    assert reader.page("b.py") == []
