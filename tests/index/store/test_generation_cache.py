"""The cache reads each value once while the index does not change."""

from __future__ import annotations

from attrs import evolve
from tests.index.index_builders import indexed, numbers

from cairn.index.indexing.links import count_links, store_links
from cairn.index.queries.file_queries import in_degrees
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.caches import GenerationCache
from cairn.index.store.writer import IndexWriter


class Squares:
    """A cache of the squares of even numbers, and the keys that were read for it."""

    def __init__(self, most: int) -> None:
        self.reads: list[list[int]] = []
        self.cache = GenerationCache[int, int](most)

    def _read(self, keys: list[int]) -> dict[int, int]:
        self.reads.append(keys)
        return {key: key * key for key in keys if key % 2 == 0}

    def get(self, version: str, *keys: int) -> list[int]:
        """Return the keys with values, which are their squares."""
        found = self.cache.get(version, keys, self._read)
        assert found == {key: key * key for key in found}
        return list(found)


def test_cache_reads_known_values_again_when_the_version_changes() -> None:
    squares = Squares(most=100)
    assert squares.get("a", 2, 4) == [2, 4]
    assert squares.get("a", 4, 6) == [4, 6]
    assert squares.get("b", 4) == [4]
    assert squares.get("a", 4) == [4]  # a slow thread may ask for an earlier version
    assert squares.reads == [[2, 4], [6], [4], [4]]


def test_cache_reads_missing_values_again() -> None:
    squares = Squares(most=100)
    assert squares.get("a", 3) == squares.get("a", 3) == []
    assert squares.reads == [[3], [3]]


def test_cache_keeps_no_more_values_than_allowed() -> None:
    squares = Squares(most=3)
    assert squares.get("a", 2, 4) == [2, 4]
    assert squares.get("a", 2, 6, 8) == [2, 6, 8]
    assert squares.get("a", 6, 8) == [6, 8]
    assert squares.get("a", 2) == [2]
    assert squares.reads == [[2, 4], [6, 8], [2]]


def test_outlines_and_imports_follow_the_index(writer: IndexWriter, reader: SqliteReader) -> None:
    a, b = indexed("a.py", "def moor():\n    pass\n"), indexed("b.py", "x = 1\n")
    writer.write([evolve(a, imports=("py:b",)), b], ())

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
