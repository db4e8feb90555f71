"""The cache of vectors of snapshots, against an index file and against the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from attrs import frozen
from psycopg import Connection
from psycopg.rows import TupleRow
from tests.index.conformance.indexes import TeamStore
from tests.postgres import new_database
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.embedding.packaged import load_packaged
from cairn.errors import QueryCancelledError, StoreUnavailableError
from cairn.index.postgres import postgres_reader as postgres_reader
from cairn.index.postgres.postgres_reader import PostgresReader, VectorCache
from cairn.index.postgres.transactions import Begun, Reads, SingleReads
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import ended_by
from cairn.index.vectors.codes import BLOCK
from cairn.team.trial import LocalServer

T = TypeVar("T")
FILES = {
    "tide.py": "def high_water(moon):\n    return moon.phase * 2\n\n\n"
    "def low_water(moon):\n    return -moon.phase\n",
    "crane.py": "class Crane:\n    def lift(self, container):\n        self.load = container\n",
    "docs/port.md": "# Port\n\nShips wait for the tide.\n\n## Cranes\n\nCranes lift containers.\n",
}
OTHER_FILES = {"lock.go": "package lock\n\nfunc Open(gate int) bool {\n\treturn gate > 0\n}\n"}


@frozen
class Harbour:
    """An index file, the same published as a repository, and another repository."""

    file: SqliteReader
    first: PostgresReader
    second: PostgresReader


@pytest.fixture(scope="module")
def harbour(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    def indexed(name: str, files: dict[str, str]) -> Path:
        base = tmp_path_factory.mktemp(name)
        IndexedFolder(base, files, load_packaged()).writer.close()
        return base / "data"

    with new_database(postgres_server) as url:
        team = TeamStore.prepared(url)
        folder = indexed("first", FILES)
        first = team.reader(team.publish(folder, "first", "c"))
        second = team.reader(team.publish(indexed("second", OTHER_FILES), "second", "c"))
        yield Harbour(SqliteReader(folder), first, second)
        team.store.close()


class Counted(Reads):
    """Counts reads. Those that may outlive the request begin with a call of `begins`."""

    def __init__(self, reads: Reads, begins: Callable[[], object] = lambda: None) -> None:
        self._reads = reads
        self._begins = begins
        self.count = 0

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        self.count += 1
        return self._reads.read(ask)

    @property
    def detached(self) -> SingleReads:
        single = self._reads.detached

        def begin() -> Begun:
            self.count += 1
            self._begins()
            return single._begin()

        return SingleReads(begin)


def gone() -> None:
    raise StoreUnavailableError("gone")


def broken() -> None:
    raise MemoryError


def test_vectors_are_read_once(harbour: Harbour) -> None:
    kept, reads = VectorCache(), Counted(harbour.first.reads)
    assert kept.of(harbour.first.memory, reads) is kept.of(harbour.first.memory, reads)
    assert reads.count == 1


def test_least_recently_used_vectors_are_evicted(harbour: Harbour) -> None:
    first, second = harbour.first, harbour.second
    sizes = [postgres_reader._size(each.memory.chunks + BLOCK) for each in (first, second)]
    for most, times in ((sum(sizes), 1), (sum(sizes) - 1, 2)):
        kept, reads = VectorCache(most_bytes=most), Counted(first.reads)
        kept.of(first.memory, reads)
        kept.of(second.memory, second.reads)
        kept.of(first.memory, reads)
        assert reads.count == times


def test_too_many_vectors_are_not_read(harbour: Harbour) -> None:
    reads = Counted(harbour.first.reads)
    assert VectorCache(most_bytes=0).of(harbour.first.memory, reads) is None
    assert reads.count == 0


def test_cancelled_query_does_not_wait_for_vectors(harbour: Harbour) -> None:
    kept, memory, may_begin = VectorCache(read_behind_from=1), harbour.first.memory, threading.Event()
    reads = Counted(harbour.first.reads, may_begin.wait)
    assert kept.of(memory, reads) is None
    with pytest.raises(QueryCancelledError), ended_by(lambda: True):
        kept.of(memory, reads, waits=True)
    may_begin.set()
    assert kept.of(memory, reads, waits=True) is not None
    assert reads.count == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("fail", [gone, broken])
def test_database_compares_where_vectors_cannot_be_read(harbour: Harbour, fail: Callable[[], None]) -> None:
    kept, reads = VectorCache(read_behind_from=1), Counted(harbour.first.reads, fail)
    assert kept.of(harbour.first.memory, reads) is None
    assert kept.of(harbour.first.memory, reads) is None
    assert reads.count == 1
