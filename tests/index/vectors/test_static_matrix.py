"""The matrix of static vectors finds what sqlite-vec finds, however the index changes."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.index_builders import functions, numbers

from cairn.errors import OutOfTimeError, QueryCancelledError
from cairn.index.reader import index_memory
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import Hit
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import Maintenance
from cairn.index.store.deadline import Deadline, ended_by, never
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors import codes, static_matrix, static_rows
from cairn.index.vectors.static_matrix import StaticMatrix
from cairn.index.vectors.static_rows import StaticRows
from cairn.index.vectors.vec0 import UnknownLayoutError
from cairn.index.vectors.vector_store import VectorStore

DIMENSION = 32
ALL = ChunkFilter()

Int8 = NDArray[np.int8]


def vectors(count: int, seed: int, dimension: int = DIMENSION) -> Int8:
    """Return vectors of length 127 in clusters, with one direction in common, like static vectors."""
    rng = np.random.default_rng(seed)
    common = np.random.default_rng(7).normal(size=dimension)
    topics = np.random.default_rng(8).normal(size=(20, dimension))
    rows = 1.5 * common + topics[rng.integers(0, 20, count)] + 0.7 * rng.normal(size=(count, dimension))
    rounded: Int8 = np.rint(127 * rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.int8)
    return rounded


class Desk:
    """An index with made-up static vectors, which it knows by id, and a reader."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = IndexWriter(folder)
        self.store = VectorStore(self.writer.db)
        self.store.use_static("table", DIMENSION)
        self.reader = SqliteReader(folder)
        self.known: dict[int, Int8] = {}

    def write(self, path: str, count: int, word: str = "ship") -> list[int]:
        """Index a source file of `count` chunks; return the ids of new chunks."""
        self.writer.write([functions(path, count, word)], ())
        return self.follow()

    def follow(self) -> list[int]:
        """Give new chunks vectors and forget deleted ones; return the ids of new chunks."""
        chunks = numbers(self.writer.db, "SELECT id FROM chunks")
        new = [chunk for chunk in chunks if chunk not in self.known]
        self.give(new)
        self.known = {chunk: self.known[chunk] for chunk in chunks}
        return new

    def give(self, ids: Sequence[int]) -> None:
        rows = vectors(len(ids), seed=sum(ids))
        self.store.store_static(ids, rows, queued=0)
        self.known.update(zip(ids, rows, strict=True))

    def remove(self, ids: Iterable[int]) -> None:
        """Delete these vectors, as the trigger for deleted chunks does."""
        with self.writer.db:
            for each in ids:
                self.writer.db.execute(f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?", (each,))
                self.known.pop(each)
            self.writer.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def expected(self, query: Int8, limit: int, among: Iterable[int] | None = None) -> list[int]:
        """Return the nearest ids by plain arithmetic."""
        ids = sorted(self.known if among is None else among)
        rows = np.array([self.known[each] for each in ids], np.int64).reshape(-1, len(query))
        distances = ((rows - query.astype(np.int64)) ** 2).sum(axis=1)
        return [ids[place] for place in np.argsort(distances, kind="stable")[:limit]]

    def found(self, query: Int8, limit: int = 20, only: ChunkFilter = ALL) -> list[int]:
        hits = self.reader.nearest_static(query, limit, only)
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
        return [hit.chunk_id for hit in hits]

    def rows(self) -> StaticRows | None:
        """Return the rows in memory, or None if sqlite-vec is used."""
        with self.reader.reading() as db:
            return self.reader._static_rows(db, read_facts(db))


@pytest.fixture(autouse=True)
def mapped_from(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Use a matrix for any index, in a mapped file if it has this many rows."""
    monkeypatch.setattr(static_matrix, "FEWEST_ROWS", 0)
    monkeypatch.setattr(static_rows, "_MAPPED_FROM", getattr(request, "param", 1_000_000))


in_memory_and_in_a_file = pytest.mark.parametrize(
    "mapped_from", [1_000_000, 1], indirect=True, ids=["in memory", "in a file"]
)


def unknown(*_: object) -> object:
    raise UnknownLayoutError("another version")


@pytest.fixture
def query() -> Int8:
    return vectors(1, seed=3)[0]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.reader.memory.forget_vectors()
    desk.writer.close()


def by_sqlite_vec(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, ask: Callable[[IndexReader], list[Hit]]
) -> list[Hit]:
    with monkeypatch.context() as patch:
        patch.setattr(static_matrix, "FEWEST_ROWS", 10**9)
        return ask(SqliteReader(desk.folder))


def assert_same(found: Sequence[Hit], reference: Sequence[Hit]) -> None:
    """Compare scores and ids; of equal scores at the end, sqlite-vec may return other rows."""
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in reference], abs=1e-6)
    cut = reference[-1].score + 1e-6 if reference else 0.0
    ids, expected = ([hit.chunk_id for hit in hits if hit.score > cut] for hits in (found, reference))
    assert ids == expected


# --- the same answers --------------------------------------------------------------------------------


@in_memory_and_in_a_file
def test_matrix_finds_what_sqlite_vec_finds(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.give(range(1, 5_000))
    for query in vectors(10, seed=99):

        def ask(reader: IndexReader, query: Int8 = query) -> list[Hit]:
            return reader.nearest_static(query, 200, ALL)

        found = ask(desk.reader)
        assert_same(found, by_sqlite_vec(desk, monkeypatch, ask))
        assert len(found) == 200
    assert desk.rows() is not None


def test_similarities_equal_those_of_sqlite_vec(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.give(range(1, 100))
    query, wanted = vectors(1, seed=1)[0], [3, 98, 4_711, 50, 99, 0]
    found = desk.reader.static_similarities(wanted, query)
    assert set(found) == {3, 50, 98, 99}
    with monkeypatch.context() as patch:
        patch.setattr(static_matrix, "FEWEST_ROWS", 10**9)
        assert found == pytest.approx(SqliteReader(desk.folder).static_similarities(wanted, query), abs=1e-6)


def test_equally_near_rows_are_ordered_by_id(desk: Desk) -> None:
    desk.store.store_static([9, 2, 7, 4], np.repeat(vectors(1, seed=1), 4, axis=0), queued=0)
    assert desk.found(vectors(1, seed=2)[0], limit=3) == [2, 4, 7]


@in_memory_and_in_a_file
def test_codes_lose_few_of_the_nearest_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_matrix, "_CODED_FROM", 6_000)
    monkeypatch.setattr(codes, "CANDIDATES", 1_500)
    desk.give(range(1, 8_001))
    wait_until(lambda: has_codes(desk))
    desk.give(range(8_001, 8_501))
    desk.remove(range(500, 700))
    hits, questions = 0, vectors(20, seed=5)
    for query in questions:
        found = desk.found(query, 50)
        assert len(found) == 50
        hits += len(set(found) & set(desk.expected(query, 50)))
    assert hits / (50 * len(questions)) > 0.95
    newest = desk.known[8_400]
    assert 8_400 in desk.found(newest, 5)
    assert not {*range(500, 700)} & {*desk.found(desk.known[499], 200)}


def test_narrow_filter_of_coded_rows_is_exact(
    desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_matrix, "_CODED_FROM", 100)
    monkeypatch.setattr(codes, "CANDIDATES", 40)
    desk.write("a.py", 120)
    few = desk.write("b.py", 20, "tide")
    wait_until(lambda: has_codes(desk))
    assert desk.found(query, 15, ChunkFilter(paths=("b.py",))) == desk.expected(query, 15, few)


def wait_until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


def has_codes(desk: Desk) -> bool:
    rows = desk.rows()
    return rows is not None and rows.store.codes is not None


# --- filters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "only",
    [
        ChunkFilter(paths=("a.py",)),
        ChunkFilter(paths=("b.py",)),
        ChunkFilter(types=("code",)),
        ChunkFilter(types=("prose",)),
        ChunkFilter(hidden=("a.py",)),
        ChunkFilter(hidden=("b.py", "gone.py")),
        ChunkFilter(paths=("a.py", "b.py"), hidden=("a.py",)),
    ],
    ids=str,
)
def test_filters_allow_what_sqlite_vec_allows(
    desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch, only: ChunkFilter
) -> None:
    desk.write("a.py", 60)
    desk.write("b.py", 9, "tide")
    for _ in range(2):  # the second time from the cache of filters
        found = desk.reader.nearest_static(query, 30, only)
        expected = by_sqlite_vec(desk, monkeypatch, lambda r: r.nearest_static(query, 30, only))
        assert_same(found, expected)


def test_filter_follows_the_index(desk: Desk, query: Int8) -> None:
    only = ChunkFilter(paths=("*.py",))
    desk.writer.write([functions("a.py", 12)], ())
    assert desk.found(query, 50, only) == []
    assert len(desk.follow()) == 12
    assert desk.found(query, 50, only) == desk.expected(query, 50)
    desk.write("b.py", 5, "tide")
    assert desk.found(query, 50, only) == desk.expected(query, 50)
    desk.writer.write((), ["a.py"])
    desk.follow()
    assert desk.found(query, 50, only) == desk.expected(query, 50)
    assert len(desk.known) == 5


# --- following the index -------------------------------------------------------------------------------


@in_memory_and_in_a_file
def test_matrix_follows_added_and_deleted_rows(desk: Desk, query: Int8) -> None:
    choose = random.Random(4)
    fresh = iter(choose.sample(range(1, 60_000), 30_000))  # unordered, as chunks come by importance
    desk.give([next(fresh) for _ in range(3_000)])
    stores = set()
    for _ in range(25):
        desk.give([next(fresh) for _ in range(choose.choice([0, 1, 60, 900]))])
        desk.remove(choose.sample(sorted(desk.known), choose.choice([0, 1, 200])))
        assert desk.found(query, 100) == desk.expected(query, 100)
        wanted = choose.sample(range(1, 60_000), 500)
        assert set(desk.reader.static_similarities(wanted, query)) == set(wanted) & desk.known.keys()
        rows = desk.rows()
        assert rows is not None
        stores.add(id(rows.store))
    assert 1 < len(stores) < 15, "all rows were read again for every change, or never"


def test_matrix_is_read_again_after_many_deletions(
    desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_rows, "BLOCK", 64)
    desk.give(range(1, 2_001))
    desk.found(query)
    desk.remove(range(1, 1_000))
    assert desk.found(query, 100) == desk.expected(query, 100)
    rows = desk.rows()
    assert rows is not None
    assert rows.store.count == 1_001


def test_another_static_table_has_another_matrix(desk: Desk) -> None:
    desk.give([1, 2, 3])
    desk.found(vectors(1, seed=1)[0])
    desk.store.use_static("other", 16)
    rows = vectors(3, seed=1, dimension=16)
    desk.store.store_static([1, 2, 3], rows, queued=0)
    assert desk.found(rows[1], 1) == [2]
    desk.store.use_no_static()
    assert desk.found(rows[1], 1) == []
    desk.store.use_static("other", 16)
    desk.store.store_static([1, 2, 3], rows[::-1].copy(), queued=0)
    assert desk.found(rows[0], 1) == [3]


def test_deleted_rows_can_be_added_again(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 50))
    assert desk.found(query, 60) == desk.expected(query, 60)
    desk.remove(list(range(1, 10)))
    assert desk.found(query, 60) == desk.expected(query, 60)
    desk.give(range(1, 10))
    assert desk.found(query, 60) == desk.expected(query, 60)


def test_replaced_index_has_another_matrix(
    desk: Desk, query: Int8, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_memory, "_LOOK_SECONDS", 0.0)
    desk.give(range(1, 10))
    desk.found(query)
    (tmp_path / "other").mkdir()
    other = Desk(tmp_path / "other")
    other.give([100, 200])
    desk.writer.close()
    other.writer.close()
    for file in sorted(tmp_path.glob("index.db*")):
        file.unlink()
    (other.folder / "index.db").rename(tmp_path / "index.db")
    desk.writer = IndexWriter(tmp_path)
    assert sorted(desk.found(query)) == [100, 200]


@in_memory_and_in_a_file
def test_matrix_follows_another_process(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 30))
    desk.found(query)
    rows = vectors(2, seed=77)
    code = f"""
import numpy as np
from pathlib import Path
from cairn.index.vectors.vector_store import VectorStore
from cairn.index.store.writer import IndexWriter
writer = IndexWriter(Path({str(desk.folder)!r}))
VectorStore(writer.db).store_static([40, 41], np.array({rows.tolist()}, np.int8), queued=0)
with writer.db:
    writer.db.execute("DELETE FROM {STATIC_TABLE} WHERE rowid < 5")
    writer.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    desk.known |= {40: rows[0], 41: rows[1]}
    desk.known = {key: row for key, row in desk.known.items() if key >= 5}
    assert desk.found(query, 50) == desk.expected(query, 50)


def test_compaction_of_the_table_changes_no_answer(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 6_000))
    desk.remove([each for each in range(1, 6_000) if each % 3])
    before = desk.found(query, 100)
    blocks = numbers(desk.writer.db, f"SELECT count(*) FROM {STATIC_TABLE}_chunks")
    with desk.writer.db:  # these rows have no chunks
        assert Maintenance(desk.writer.db).run(never)
    assert numbers(desk.writer.db, f"SELECT count(*) FROM {STATIC_TABLE}_chunks") < blocks
    desk.give([6_001])
    assert desk.found(query, 100) == desk.expected(query, 100)
    assert len(set(before) - set(desk.found(query, 101))) <= 1


@in_memory_and_in_a_file
def test_threads_search_while_the_index_changes(
    desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_matrix, "_CODED_FROM", 2_000)
    monkeypatch.setattr(codes, "CANDIDATES", 500)
    desk.give(range(1, 3_000))
    stays = desk.expected(query, 1)[0]
    problems: list[object] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                hits = desk.reader.nearest_static(query, 30, ALL)
                if len({hit.chunk_id for hit in hits}) != 30 or hits[0].chunk_id != stays:
                    problems.append(hits)
                if stays not in desk.reader.static_similarities([stays, 5], query):
                    problems.append("similarities")
            except Exception as problem:  # noqa: BLE001 - the test shows it
                problems.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    distance = desk.known[stays]
    for start in range(3_000, 9_000, 300):
        ids = list(range(start, start + 300))
        rows = vectors(len(ids), seed=start)
        nearer = ((rows - query.astype(int)) ** 2).sum(axis=1) <= ((distance - query.astype(int)) ** 2).sum()
        keep = [each for each, near in zip(ids, nearer, strict=True) if not near]
        desk.store.store_static(keep, rows[~nearer], queued=0)
        desk.known.update(zip(keep, rows[~nearer], strict=True))
        desk.remove([each for each in sorted(desk.known)[5:150] if each != stays])
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert set(desk.reader.static_similarities(range(1, 10_000), query)) == desk.known.keys()


# --- fallback, deadlines, and memory ----------------------------------------------------------------------


def test_small_index_uses_sqlite_vec(desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("a.py", 10)
    assert desk.rows() is not None
    monkeypatch.setattr(static_matrix, "FEWEST_ROWS", 11)
    desk.write("b.py", 0)
    desk.writer.note(scanned=1)
    assert desk.rows() is None
    assert desk.found(query, 5) == desk.expected(query, 5)


def test_unknown_layout_uses_sqlite_vec(desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.give(range(1, 50))
    monkeypatch.setattr(static_matrix, "read_blocks", unknown)
    assert desk.rows() is None
    assert desk.found(query, 5) == desk.expected(query, 5)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE {t}_chunks SET rowids = x'00'",
        "UPDATE {t}_chunks SET size = 8",
        "DELETE FROM {t}_vector_chunks00",
    ],
)
def test_damaged_blocks_are_noticed(desk: Desk, damage: str) -> None:
    desk.give(range(1, 50))
    desk.writer.db.execute(damage.replace("{t}", STATIC_TABLE))
    assert desk.rows() is None


@in_memory_and_in_a_file
def test_query_waits_for_many_rows_to_its_deadline(
    desk: Desk, query: Int8, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_matrix, "_READ_BEHIND_FROM", 0)
    desk.give(range(1, 50))
    matrix = desk.reader.memory.matrix = StaticMatrix()
    with matrix._reading:  # as if reading took long
        assert desk.rows() is None
        with pytest.raises(OutOfTimeError), ended_by(Deadline(never, ms=20)):
            desk.reader.nearest_static(query, 5, ALL)
    assert desk.found(query, 5) == desk.expected(query, 5)
    before = desk.rows()
    assert before is not None, "the rows were read while the query waited"
    desk.give(range(50, 60))
    assert desk.rows() is not before, "a change is followed immediately"
    assert desk.found(query, 5) == desk.expected(query, 5)


def test_only_changed_blocks_are_read_again(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 2_501))  # sqlite-vec has 1,024 rows in a block
    assert desk.found(query) == desk.expected(query, 20)
    matrix = desk.reader.memory.matrix
    assert matrix is not None
    for gone, new, changed in [
        ([2_400], range(2_501, 2_510), {3}),
        ([5, 700], range(2_510, 2_511), {1, 3}),
        ([1_100], range(0), {2, 3}),  # the latest is always read
    ]:
        before = matrix._current
        assert before is not None
        desk.remove(gone)
        desk.give(new)
        assert desk.found(query) == desk.expected(query, 20)
        assert desk.found(-query) == desk.expected(-query, 20)
        now = matrix._current
        assert now is not None
        read = {number for number, block in now.blocks.items() if block is not before.blocks[number]}
        assert read == changed


def test_dropped_block_is_not_taken_for_the_latest(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 2_049))
    desk.give(range(3_000, 3_010))
    assert desk.found(query) == desk.expected(query, 20)
    desk.remove([*range(3_000, 3_010), 2_048])
    desk.give([4_000])
    assert desk.found(desk.known[4_000]) == desk.expected(desk.known[4_000], 20)
    assert 4_000 in desk.found(desk.known[4_000], 1)


def test_query_uses_old_rows_while_another_thread_reads(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_matrix, "_LONGEST_WAIT", 0.0)
    desk.give(range(1, 50))
    before = desk.rows()
    assert before is not None
    desk.give(range(50, 60))
    matrix = desk.reader.memory.matrix
    assert matrix is not None
    with matrix._reading:
        assert desk.rows() is before
    now = desk.rows()
    assert now is not None
    assert (before.count, now.count) == (49, 59)


def test_query_of_an_earlier_state_uses_the_latest_rows(desk: Desk, query: Int8) -> None:
    """To read the rows of that state again would take up to 0.7 s, for this query and the next one."""
    desk.give(range(1, 50))
    desk.found(query)
    matrix = desk.reader.memory.matrix
    assert matrix is not None
    with desk.reader.in_one_state():
        earlier = desk.reader.facts().generation
        desk.give(range(50, 60))
        later = threading.Thread(target=desk.found, args=(query,))
        later.start()
        later.join()
        latest = matrix._current
        assert latest is not None
        assert latest.version.generation > earlier
        assert desk.found(query, 5) == desk.expected(query, 5)
        assert desk.reader.facts().generation == earlier
    assert matrix._current is latest


@in_memory_and_in_a_file
def test_unused_memory_is_freed(desk: Desk, query: Int8) -> None:
    desk.give(range(1, 50))
    matrix = StaticMatrix(idle_seconds=0.05)
    desk.reader.memory.matrix = matrix
    desk.found(query)
    wait_until(lambda: matrix._current is None)
    assert desk.found(query, 5) == desk.expected(query, 5)
    desk.reader.memory.forget_vectors()
    assert matrix._current is None
    assert matrix._timer is None


@pytest.mark.parametrize(
    ("deadline", "error"),
    [(Deadline(lambda: True), QueryCancelledError), (Deadline(never, ms=0), OutOfTimeError)],
    ids=["cancelled", "out of time"],
)
def test_query_past_its_deadline_is_not_computed(
    desk: Desk, deadline: Deadline, error: type[Exception]
) -> None:
    desk.give(range(1, 50))
    with pytest.raises(error), ended_by(deadline):
        desk.reader.nearest_static(vectors(1, seed=3)[0], 5, ALL)


# --- the model's vectors ---------------------------------------------------------------------------------
