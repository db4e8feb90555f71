"""Maintenance makes an index smaller without losing a used vector or changing an answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.index_builders import (
    DIMENSION,
    functions,
    indexed,
    made_up,
    numbers,
    violated_invariants,
)

from cairn.embedding.static import to_int8
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, Hit
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import database as maintenance_module
from cairn.index.store.database import DATABASE_NAME, Maintenance
from cairn.index.store.deadline import never
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import VectorStore

ALL = ChunkFilter()


class Index:
    """An index with a vector for each chunk."""

    def __init__(self, folder: Path) -> None:
        self.writer = IndexWriter(folder)
        self.store = VectorStore(self.writer.db)
        self.store.use_static("small", DIMENSION)
        self.reader = SqliteReader(folder)
        self.maintenance = Maintenance(self.writer.db)
        self.file = folder / DATABASE_NAME

    def write(self, path: str, chunks: int) -> None:
        ids = self.writer.write([functions(path, chunks, word=path.partition(".")[0])], ())
        self.store.store_static(ids, np.stack([made_up_int8(f"{path} {n}") for n in range(chunks)]), queued=0)

    def remove(self, *paths: str) -> None:
        self.writer.write((), paths)

    def tidy(self, interrupted: Callable[[], bool] = never) -> bool:
        return self.maintenance.run(interrupted)

    def vectors(self) -> int:
        return len(numbers(self.writer.db, f"SELECT rowid FROM {STATIC_TABLE}_rowids"))

    def answers(self) -> list[list[Hit]]:
        queries = [made_up_int8(word) for word in ("ship", "rope", "tide")]
        return [self.reader.nearest_static(vector, 50, ALL) for vector in queries]

    def found(self, word: str) -> set[str]:
        """The paths of the chunks with the word."""
        hits = self.reader.keywords([word], ColumnWeights(), 5, ALL)
        return {stored.path for stored in self.reader.chunks(hit.chunk_id for hit in hits).values()}


def made_up_int8(text: str) -> NDArray[np.int8]:
    return to_int8(made_up(text))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index(tmp_path)
    yield index
    assert violated_invariants(index.writer.db, index.writer.facts().chunks) == []
    index.writer.close()


@pytest.fixture
def with_holes(index: Index, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index most of whose vectors were deleted, so that the others are scattered over the blocks."""
    monkeypatch.setattr(maintenance_module, "_FEWEST_HOLES", 0)
    index.write("a.py", 30)
    rows = np.ones((600, DIMENSION), np.int8)
    for place in range(8):
        index.store.store_static(range(10_000 + 600 * place, 10_600 + 600 * place), rows, queued=0)
        index.write(f"b{place}.py", 5)
    with index.writer.db:
        # sqlite-vec deletes single rows only.
        delete = f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?"
        index.writer.db.executemany(delete, ((number,) for number in range(10_000, 14_800)))
    return index


def room(index: Index) -> int:
    return sum(numbers(index.writer.db, f"SELECT size FROM {STATIC_TABLE}_chunks"))


def test_compacted_table_gives_the_same_answers(with_holes: Index) -> None:
    index = with_holes
    answers, before = index.answers(), room(index)
    generation = index.writer.facts().generation
    assert index.tidy()
    assert index.vectors() == 70
    assert room(index) < before
    assert room(index) <= 2 * 1_024
    assert index.answers() == answers
    assert all(len(hits) == 50 for hits in answers)
    assert index.writer.facts().generation == generation


def test_interrupted_compaction_loses_nothing(with_holes: Index) -> None:
    index = with_holes
    answers, rounds = index.answers(), 0
    while not index.tidy(lambda: True):
        assert not index.writer.db.in_transaction
        assert (index.vectors(), index.answers()) == (70, answers)
        rounds += 1
        assert rounds < 100
        if rounds > 1 and room(index) <= 2 * 1_024:
            break
    assert rounds > 1


def test_failed_step_is_rolled_back(with_holes: Index) -> None:
    index = with_holes
    answers = index.answers()

    class FullError(Exception):
        pass

    def fail(*_: object) -> bool:
        raise FullError

    index.writer.db.set_update_hook(fail)
    with pytest.raises(FullError):
        index.tidy()
    index.writer.db.set_update_hook(None)
    assert not index.writer.db.in_transaction
    assert index.answers() == answers


def test_table_with_few_holes_is_not_compacted(index: Index) -> None:
    index.write("a.py", 40)
    index.store.store_static(range(10_000, 11_100), np.ones((1_100, DIMENSION), np.int8), queued=0)
    index.write("b.py", 5)
    with index.writer.db:
        delete = f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?"
        index.writer.db.executemany(delete, ((number,) for number in range(10_000, 11_100)))
    places = f"SELECT chunk_id * 10000 + chunk_offset FROM {STATIC_TABLE}_rowids ORDER BY rowid"
    before = numbers(index.writer.db, places)
    assert index.tidy()
    assert numbers(index.writer.db, places) == before
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
    assert Maintenance(writer.db).run(lambda: next(steps) > 100)
    writer.close()
