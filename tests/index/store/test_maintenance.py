"""Maintenance makes an index smaller without losing a used vector or changing an answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import (
    DIMENSION,
    embed_rest,
    functions,
    indexed,
    made_up,
    numbers,
    violated_invariants,
)

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, Hit
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import database as maintenance_module
from cairn.index.store.database import DATABASE_NAME, Maintenance
from cairn.index.store.deadline import never
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import VectorStore
from cairn.settings.tree import IndexSettings

KEEP_ALL = IndexSettings()
ALL = ChunkFilter()
TODAY = 20_000
STATIC_DIMENSION = 8


class Index:
    """An index with vectors and a clock that the test sets."""

    def __init__(self, folder: Path) -> None:
        self.writer = IndexWriter(folder)
        self.store = VectorStore(self.writer.db)
        self.model = self.store.use_model("m@1", DIMENSION)
        self.reader = SqliteReader(folder)
        self.maintenance = Maintenance(self.writer.db, lambda: self.day)
        self.file = folder / DATABASE_NAME
        self.day = TODAY

    def write(self, path: str, chunks: int) -> None:
        self.writer.write([functions(path, chunks, word=path.partition(".")[0])], ())
        embed_rest(self.store, self.model)

    def remove(self, *paths: str) -> None:
        self.writer.write((), paths)

    def tidy(self, settings: IndexSettings = KEEP_ALL, interrupted: Callable[[], bool] = never) -> bool:
        return self.maintenance.run(settings, interrupted)

    def vectors(self) -> int:
        return len(numbers(self.writer.db, f"SELECT rowid FROM vectors_{self.model}"))

    def dates(self) -> list[object]:
        return [row[0] for row in self.writer.db.execute("SELECT DISTINCT unreferenced FROM embeddings")]

    def store_unused(self, count: int, prefix: str = "") -> None:
        """Store vectors of texts that no chunk has."""
        keys = [f"{prefix}{number:0{16 - len(prefix)}}".encode() for number in range(count)]
        rows = np.stack([made_up(f"{prefix} {number}") for number in range(count)])
        self.store.store(self.model, keys, rows, queued=0)

    def answers(self) -> list[list[Hit]]:
        queries = [made_up(word) for word in ("ship", "rope", "tide")]
        return [self.reader.nearest(vector, "m@1", 50, ALL, never) for vector in queries]

    def found(self, word: str) -> set[str]:
        """The paths of the chunks with the word."""
        hits = self.reader.keywords([word], ColumnWeights(), 5, ALL, never)
        return {stored.path for stored in self.reader.chunks(hit.chunk_id for hit in hits).values()}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index(tmp_path)
    yield index
    assert violated_invariants(index.writer.db, index.writer.facts().chunks) == []
    index.writer.close()


def test_unused_vector_is_deleted_after_its_time(index: Index) -> None:
    index.write("a.py", 3)
    index.write("b.py", 2)
    index.remove("a.py")
    assert index.tidy()
    index.day = TODAY + 9
    assert index.tidy()
    assert sorted(index.dates(), key=str) == [TODAY, None]
    index.day = TODAY + 30
    assert index.tidy()
    assert index.vectors() == 5
    index.day = TODAY + 31
    assert index.tidy()
    assert index.vectors() == 2
    assert index.store.waiting(index.model) == []


def test_returning_text_gets_its_vector_back(index: Index) -> None:
    index.write("a.py", 3)
    index.remove("a.py")
    index.tidy()
    index.day = TODAY + 100
    index.writer.write([functions("a.py", 3, word="a")], ())
    assert index.store.waiting(index.model) == []
    assert index.tidy()
    assert (index.dates(), index.vectors()) == ([None], 3)


def test_oldest_unused_vectors_beyond_the_limit_are_deleted(index: Index) -> None:
    megabyte = 1_000_000 // (DIMENSION * 4)
    index.store_unused(megabyte // 50)
    index.tidy()
    index.day = TODAY + 1
    index.write("late.py", 3)
    index.remove("late.py")
    index.write("used.py", 4)
    index.tidy()
    dimension = DIMENSION * 50  # as if vectors were larger: 1,250 of 800 bytes take a megabyte
    index.writer.db.execute("UPDATE models SET dimension = ?", (dimension,))
    assert index.tidy(IndexSettings(keep_vectors_mb=1))
    days = index.writer.db.execute("SELECT unreferenced, count(*) FROM embeddings GROUP BY 1")
    assert dict(days.fetchall()) == {None: 4, TODAY: megabyte // 50 - 3, TODAY + 1: 3}
    assert index.vectors() == megabyte // 50 + 4
    assert index.tidy(IndexSettings(keep_vectors_mb=0))
    assert (index.vectors(), index.dates()) == (4, [None])
    index.writer.db.execute("UPDATE models SET dimension = ?", (DIMENSION,))


def test_vectors_of_an_unused_model_are_dated(index: Index) -> None:
    index.write("a.py", 3)
    other = index.store.use_model("m@2", DIMENSION)
    embed_rest(index.store, other)
    index.tidy()
    assert index.tidy(IndexSettings(keep_vectors_mb=0))
    assert (index.vectors(), len(numbers(index.writer.db, f"SELECT rowid FROM vectors_{other}"))) == (0, 3)
    index.store.use_model("m@1", DIMENSION)
    assert index.writer.facts().queued == len(index.store.waiting(index.model)) == 3
    index.store.use_no_model()
    index.tidy()
    assert index.dates() == [TODAY]


def with_holes(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete most of the vectors, so that the others are scattered over the blocks."""
    monkeypatch.setattr(maintenance_module, "_FEWEST_HOLES", 0)
    index.write("a.py", 30)
    for place in range(8):
        index.store_unused(600, f"{place:04}")
        index.write(f"b{place}.py", 5)
    index.tidy(IndexSettings(keep_vectors_mb=0), lambda: room(index) < 5_000)


def room(index: Index) -> int:
    return sum(numbers(index.writer.db, f"SELECT size FROM vectors_{index.model}_chunks"))


def test_compacted_table_gives_the_same_answers(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with_holes(index, monkeypatch)
    vectors, answers = index.vectors(), index.answers()
    before = room(index)
    generation = index.writer.facts().generation
    assert index.tidy(IndexSettings(keep_vectors_mb=0))
    assert index.vectors() == vectors == 70
    assert room(index) < before
    assert room(index) <= 2 * 1_024
    assert index.answers() == answers
    assert all(len(hits) == 50 for hits in answers)
    assert index.writer.facts().generation == generation


def test_table_of_static_vectors_is_compacted(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_module, "_FEWEST_HOLES", 0)
    index.store.use_static("small", STATIC_DIMENSION)
    rng = np.random.default_rng(0)
    ids = index.writer.write([functions("a.py", 40)], ())
    passing = range(10_000, 14_000)
    for start in range(0, 40, 10):
        gone = passing[start * 100 : start * 100 + 1_000]
        rows = rng.integers(-127, 127, (1_010, STATIC_DIMENSION)).astype(np.int8)
        index.store.store_static([*gone, *ids[start : start + 10]], rows, queued=0)
    with index.writer.db:
        index.writer.db.executemany(f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?", ((n,) for n in passing))
    query = np.arange(STATIC_DIMENSION, dtype=np.int8)
    before = index.reader.nearest_static(query, 50, ALL, never)
    assert len(before) == 40
    assert len(numbers(index.writer.db, f"SELECT size FROM {STATIC_TABLE}_chunks")) == 4
    assert index.tidy()
    assert index.reader.nearest_static(query, 50, ALL, never) == before
    assert len(numbers(index.writer.db, f"SELECT size FROM {STATIC_TABLE}_chunks")) < 3


def test_interrupted_compaction_loses_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with_holes(index, monkeypatch)
    vectors, answers, rounds = index.vectors(), index.answers(), 0
    while not index.tidy(IndexSettings(keep_vectors_mb=0), interrupted=lambda: True):
        assert not index.writer.db.in_transaction
        assert (index.vectors(), index.answers()) == (vectors, answers)
        rounds += 1
        assert rounds < 100
        if rounds > 3 and room(index) <= 2 * 1_024:
            break
    assert rounds > 3


def test_failed_step_is_rolled_back(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with_holes(index, monkeypatch)
    answers = index.answers()

    class FullError(Exception):
        pass

    def fail(*_: object) -> bool:
        raise FullError

    index.writer.db.set_update_hook(fail)
    with pytest.raises(FullError):
        index.tidy(IndexSettings(keep_vectors_mb=0))
    index.writer.db.set_update_hook(None)
    assert not index.writer.db.in_transaction
    assert index.answers() == answers


def test_table_with_few_holes_is_not_compacted(index: Index) -> None:
    index.write("a.py", 40)
    index.store_unused(1_100)
    index.write("b.py", 5)
    places = f"SELECT chunk_id * 10000 + chunk_offset FROM vectors_{index.model}_rowids ORDER BY rowid"
    before = numbers(index.writer.db, places)
    assert index.tidy(IndexSettings(keep_vectors_mb=0))
    assert numbers(index.writer.db, places) == before[:40] + before[1_140:]
    assert room(index) == 2 * 1_024


def test_file_gets_smaller_when_much_is_removed(index: Index) -> None:
    paths = [f"f{number}.md" for number in range(150)]
    index.writer.write([indexed(path, f"# {path}\n\n{path} " + made_words(path)) for path in paths], ())
    index.writer.checkpoint()
    before = index.file.stat().st_size
    index.remove(*paths[5:])
    assert index.tidy()
    index.writer.checkpoint()
    assert index.file.stat().st_size < before / 3
    assert index.writer.db.pragma("freelist_count") == 0
    assert index.found("f3") == {"f3.md"}


def test_deleted_words_leave_the_keyword_index(index: Index) -> None:
    for number in range(60):
        index.writer.write([functions(f"f{number}.py", 3, word=f"word{number}")], ())
    index.remove(*(f"f{number}.py" for number in range(55)))
    (before,) = numbers(index.writer.db, "SELECT sum(length(block)) FROM chunks_fts_data")
    assert index.tidy()
    (after,) = numbers(index.writer.db, "SELECT sum(length(block)) FROM chunks_fts_data")
    assert after < before * 0.6
    assert index.found("word57_1") == {"f57.py"}


def made_words(seed: str) -> str:
    """Return words that hardly compress."""
    rng = np.random.default_rng(len(seed))
    return " ".join(f"w{number:x}" for number in rng.integers(0, 2**40, 600))


def test_second_maintenance_changes_hardly_anything(index: Index) -> None:
    index.write("a.py", 10)
    index.remove("a.py")
    assert index.tidy()
    before, generation = index.writer.db.total_changes(), index.writer.facts().generation
    assert index.tidy()
    assert index.writer.db.total_changes() - before < 10
    assert index.writer.facts().generation == generation


def test_maintenance_ends_when_space_cannot_be_freed(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([functions("a.py", 50)], ())
    writer.db.pragma("auto_vacuum", "NONE")
    writer.db.execute("VACUUM")
    writer.write((), ["a.py"])
    assert int(writer.db.pragma("freelist_count")) > 0
    steps = itertools.count()
    assert Maintenance(writer.db).run(KEEP_ALL, lambda: next(steps) > 100)
    writer.close()
