"""What chunks are worth by the words of a question: BM25 as FTS5 has it, whichever leg found them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cairn.chunking.model import content_key
from cairn.index.queries.words import FoundWords, find_words, passing_chunks, with_one_idf
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.sqlite import postings as postings_module
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.workspace.ignore_patterns import Selection

EVERYTHING = ChunkFilter()
FILES = {
    "src/dock.py": "def dock(ship):\n    # dock, dock and dock again: the ship may not leave the dock\n    return ship\n",
    "src/ship.py": "class Ship:\n    def leave_dock(self):\n        return 1\n",
    "src/rope.py": "def rope():\n    return 'a rope'\n",
    "docs/moor.md": "# Mooring\n\nA ship is moored to the dock by a rope.\n",
}


def indexed(path: str, text: str) -> IndexedFile:
    return IndexedFile.of(FileRecord(path, len(text), 0, content_key(text), "p-source"), text)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    writer.write([indexed(path, text) for path, text in FILES.items()], ())
    yield writer
    writer.close()


@pytest.fixture
def reader(writer: IndexWriter) -> IndexReader:
    return SqliteReader(writer.folder)


def found(reader: IndexReader, *words: str, most: int = 1_000) -> FoundWords:
    return find_words(reader, [(word,) for word in words], most, lambda: False)


def ids_of(reader: IndexReader, path: str) -> list[int]:
    return [stored.id for stored in reader.page(path)]


@pytest.mark.parametrize("counted", [0, 20_000])
@pytest.mark.parametrize("word", ["moored", "class", "1"])
def test_a_word_that_stands_once_in_each_chunk_is_worth_what_fts5_says(
    reader: IndexReader, word: str, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings_module, "COUNTED", counted)
    weights = ColumnWeights(symbol=2.5)
    hits = reader.keywords([word], weights, 10, EVERYTHING, lambda: False)
    mine = found(reader, word)
    assert mine.best(10).tolist() == [hit.chunk_id for hit in hits]
    best = np.array([hit.chunk_id for hit in hits])
    by_idf = mine.scores(best) / mine.words[0].idf
    assert (by_idf / by_idf[0]).tolist() == pytest.approx(
        [hit.score / hits[0].score for hit in hits], rel=0.01
    )


def test_how_often_a_word_stands_counts(reader: IndexReader) -> None:
    words = found(reader, "dock")
    often, once = ids_of(reader, "src/dock.py")[0], ids_of(reader, "docs/moor.md")[0]
    held = words.words[0].held
    assert held.counts[held.at(np.array([often]))[0]] >= 5
    assert held.names[held.at(np.array([often]))[0]] >= 1
    chunks = np.array([often, once, 10_000])
    whole, of_names = words.scores(chunks), words.scores_by_names(chunks)
    assert whole[0] > whole[1] > whole[2] == 0
    assert of_names[0] > of_names[1] == 0


def test_words_that_count_as_one_are_added_up(reader: IndexReader) -> None:
    together = find_words(reader, [("rope", "moored")], 1_000, lambda: False)
    apart = {*found(reader, "rope").best(10).tolist(), *found(reader, "moored").best(10).tolist()}
    assert len(together.words) == 1
    assert set(together.best(10).tolist()) == apart


def test_the_rarest_words_are_looked_for_first(reader: IndexReader) -> None:
    assert [word.place for word in found(reader, "dock", "rope", most=2).words] == [1]
    assert [word.place for word in found(reader, "dock", most=1).words] == [0]
    assert {word.place for word in found(reader, "dock", "rope").words} == {0, 1}


def test_a_word_is_worth_the_same_in_all_indexes_that_are_searched_together(
    reader: IndexReader, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with contextlib.closing(IndexWriter(tmp_path / "other")) as writer:
        harbours = {f"src/harbour_{n}.py": f"def harbour_{n}():\n    return 'dock'\n" for n in range(9)}
        writer.write([indexed(path, text) for path, text in harbours.items()], ())
        here, there = (found(each, "dock", "rope") for each in (reader, SqliteReader(writer.folder)))
    alone = {word.place: word.idf for word in here.words}
    one, other = ({word.place: word.idf for word in each.words} for each in with_one_idf([here, there]))
    assert one == other
    # Every chunk of the other index has a dock, and none has a rope.
    assert one[0] < alone[0]
    assert one[1] > alone[1]


@pytest.mark.parametrize(("counted", "times"), [(0, 1), (20_000, 3)])
def test_what_is_saved_later_is_found_and_what_is_gone_is_in_no_file(
    reader: IndexReader, writer: IndexWriter, counted: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings_module, "COUNTED", counted)
    before = found(reader, "rope").best(10)
    assert len(before) == 2
    writer.write([indexed("src/new.py", "def coil():\n    return 'rope rope rope'\n")], ["src/rope.py"])
    words = found(reader, "rope")
    new = ids_of(reader, "src/new.py")[0]
    assert new in words.best(10).tolist()
    fresh = found(SqliteReader(writer.folder), "rope")
    held, again = (each.words[0].held for each in (words, fresh))
    assert held.counts[held.at(np.array([new]))[0]] == again.counts[again.at(np.array([new]))[0]] == times
    assert not reader.outlines(set(before.tolist()) - set(fresh.best(10).tolist()))


def test_only_what_passes_is_found(reader: IndexReader) -> None:
    of_sources = passing_chunks(reader, ChunkFilter(paths=("src/",)), lambda: False)
    assert of_sources is not None
    paths = {
        stored.path for stored in reader.chunks(found(reader, "rope").best(10, of_sources).tolist()).values()
    }
    assert paths == {"src/rope.py"}
    assert passing_chunks(reader, EVERYTHING, lambda: False) is None


def test_each_chunk_has_its_file_and_its_length(reader: IndexReader, writer: IndexWriter) -> None:
    columns = reader.columns()
    ids = dict(reader.select("SELECT path, id FROM files"))
    for path in FILES:
        assert set(columns.files_of(np.array(ids_of(reader, path))).tolist()) == {ids[path]}
    sizes = {
        chunk: sum(size)
        for chunk, size in (
            (row[0], row[1]) for row in reader.select("SELECT id, sz FROM chunks_fts_docsize")
        )
    }
    every = np.array(sorted(sizes))
    assert columns.tokens_of(every).tolist() == [sizes[chunk] for chunk in every.tolist()]
    many = " ".join(f"w{n}" for n in range(150))
    writer.write([indexed("docs/long.md", f"# Long\n\n{many}\n")], ())
    sizes = reader.select("SELECT id, sz FROM chunks_fts_docsize WHERE id > ?", (int(every[-1]),))
    assert any(size[0] >= 128 for _, size in sizes)  # a number of two bytes
    for chunk, size in sizes:
        words = ((size[0] & 127) << 7) + size[1] if size[0] >= 128 else size[0]
        assert reader.columns().tokens_of(np.array([chunk]))[0] >= words


@pytest.mark.parametrize(
    ("patterns", "paths"),
    [
        (("src/dock.py",), {"src/dock.py"}),
        (("/src/",), {"src/dock.py", "src/ship.py", "src/rope.py"}),
        (("src/ship.py", "docs/moor.md"), {"src/ship.py", "docs/moor.md"}),
        (("src/sh",), set()),
        (("src",), {"src/dock.py", "src/ship.py", "src/rope.py"}),
        (("src/*.py", "!src/rope.py"), {"src/dock.py", "src/ship.py"}),
        (("src/[d]ock.py",), {"src/dock.py"}),
    ],
)
def test_a_place_by_its_whole_path_is_what_the_same_glob_names(
    reader: IndexReader, patterns: tuple[str, ...], paths: set[str]
) -> None:
    passing = passing_chunks(reader, ChunkFilter(paths=patterns), lambda: False)
    assert passing is not None
    assert {outline.path for outline in reader.outlines(passing.tolist()).values()} == paths
    assert {path for path in FILES if Selection(patterns).names(path)} == paths
