"""Caches read each value once while the index does not change, and of a large index seldom."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import evolve
from tests.index.index_builders import indexed, numbers

from cairn.index.indexing.links import count_links, store_links
from cairn.index.queries.file_queries import in_degrees
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import caches
from cairn.index.store.caches import MANY_CHUNKS, ContentCache, GenerationCache
from cairn.index.store.meta import Facts
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


# --- values derived from a whole index ------------------------------------------------------------------


class Rig:
    """A cached value that counts how often it was made, and the index behind it."""

    def __init__(self, chunks: int) -> None:
        self.chunks, self.content, self.made = chunks, 0, 0
        self.cache: ContentCache[int] = ContentCache()
        self.begun, self.may_end = threading.Event(), threading.Event()

    def make(self) -> int:
        self.made += 1
        return self.made

    def make_slowly(self) -> int:
        self.begun.set()
        assert self.may_end.wait(60)
        return self.make()

    def get(self, make: Callable[[], int] | None = None, identity: str = "this") -> int:
        return self.cache.get(identity, Facts(content=self.content, chunks=self.chunks), make or self.make)

    def get_after_change(self) -> int:
        self.content += 1
        return self.get()


class Clock:
    now = 1_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    with monkeypatch.context() as patch:
        patch.setattr(caches.time, "monotonic", lambda: clock.now)
        yield clock


def test_a_small_index_makes_the_value_after_each_change() -> None:
    rig = Rig(MANY_CHUNKS - 1)
    gets = [rig.get, rig.get, rig.get_after_change, rig.get, rig.get_after_change]
    assert [get() for get in gets] == [1, 1, 2, 2, 3]


def test_a_large_index_may_return_a_recent_value(clock: Clock) -> None:
    rig = Rig(MANY_CHUNKS)
    assert [rig.get(), rig.get_after_change(), rig.get_after_change()] == [1, 1, 1]
    clock.now += 10.1
    assert rig.get() == 2
    assert rig.get(identity="another") == 3


def test_a_slow_value_takes_a_hundredth_of_the_time(clock: Clock) -> None:
    rig = Rig(MANY_CHUNKS)

    def take_two_seconds() -> int:
        clock.now += 2.0
        return rig.make()

    assert rig.get(take_two_seconds) == 1
    clock.now += 199.0
    assert rig.get_after_change() == 1
    clock.now += 2.0
    assert rig.get() == 2


def test_other_threads_get_the_old_value_of_a_large_index(clock: Clock) -> None:
    rig = Rig(MANY_CHUNKS)
    rig.get()
    rig.content, clock.now = 1, clock.now + 10.0
    maker = threading.Thread(target=rig.get, args=(rig.make_slowly,))
    maker.start()
    assert rig.begun.wait(60)
    assert rig.get() == 1
    rig.may_end.set()
    maker.join()
    assert (rig.get(), rig.made) == (2, 2)


def test_other_threads_wait_for_the_value_of_a_small_index() -> None:
    rig = Rig(10)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(rig.get, rig.make_slowly)
        assert rig.begun.wait(60)
        second = threads.submit(rig.get)
        rig.may_end.set()
        assert (first.result(), second.result()) == (1, 1)


def test_a_failure_leaves_the_value_to_the_next_call() -> None:
    rig = Rig(10)

    def fail() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        rig.get(fail)
    assert rig.get() == 1
