"""Chunks are scored by BM25 for the words of a query, like in FTS5."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import indexed

from cairn.index.queries.found_words import FoundWords, find_words, with_one_idf
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.sqlite import word_memory as postings_module
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter

EVERYTHING = ChunkFilter()
FILES = {
    "src/dock.py": "def dock(ship):\n    # dock, dock, dock: the ship may not leave dock\n    return ship\n",
    "src/ship.py": "class Ship:\n    def leave_dock(self):\n        return 1\n",
    "src/rope.py": "def rope():\n    return 'a rope'\n",
    "docs/moor.md": "# Mooring\n\nA ship is moored to the dock by a rope.\n",
}


def found(reader: IndexReader, *words: str, most: int = 1_000) -> FoundWords:
    return find_words(reader, [(word,) for word in words], most)


def ids_of(reader: IndexReader, path: str) -> list[int]:
    return [stored.id for stored in reader.page(path)]


@pytest.mark.parametrize("counted", [0, 20_000])
@pytest.mark.parametrize("word", ["moored", "class", "1"])
def test_scores_of_single_occurrences_equal_those_of_fts5(
    reader: IndexReader, word: str, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings_module, "COUNTED", counted)
    weights = ColumnWeights(symbol=2.5)
    hits = reader.keywords([word], weights, 10, EVERYTHING)
    mine = found(reader, word)
    assert mine.best(10).tolist() == [hit.chunk_id for hit in hits]
    best = np.array([hit.chunk_id for hit in hits])
    by_idf = mine.scores(best) / mine.words[0].idf
    assert (by_idf / by_idf[0]).tolist() == pytest.approx(
        [hit.score / hits[0].score for hit in hits], rel=0.01
    )


def test_frequent_words_score_higher(reader: IndexReader) -> None:
    words = found(reader, "dock")
    often, once = ids_of(reader, "src/dock.py")[0], ids_of(reader, "docs/moor.md")[0]
    postings = words.words[0].postings
    place = postings.at(np.array([often]))[0]
    assert postings.counts[place] >= 5
    assert postings.names[place] >= 1
    chunks = np.array([often, once, 10_000])
    whole, of_names = words.scores(chunks), words.scores_by_names(chunks)
    assert whole[0] > whole[1] > whole[2] == 0
    assert of_names[0] > of_names[1] == 0


def test_words_that_count_as_one_add_up(reader: IndexReader) -> None:
    together = find_words(reader, [("rope", "moored")], 1_000)
    apart = {*found(reader, "rope").best(10).tolist(), *found(reader, "moored").best(10).tolist()}
    assert len(together.words) == 1
    assert set(together.best(10).tolist()) == apart


def test_words_have_one_idf_in_all_searched_indexes(reader: IndexReader, tmp_path: Path) -> None:
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
def test_postings_follow_changes_of_the_index(
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
    for postings in (each.words[0].postings for each in (words, fresh)):
        assert postings.counts[postings.at(np.array([new]))[0]] == times
    assert not reader.outlines(set(before.tolist()) - set(fresh.best(10).tolist()))


def test_columns_have_file_and_length_of_each_chunk(reader: IndexReader, writer: IndexWriter) -> None:
    columns = reader.columns()
    ids = dict(reader.select("SELECT path, id FROM files"))
    for path in FILES:
        assert set(columns.files_of(np.array(ids_of(reader, path))).tolist()) == {ids[path]}
    sizes = {chunk: sum(size) for chunk, size in reader.select("SELECT id, sz FROM chunks_fts_docsize")}
    every = np.array(sorted(sizes))
    assert columns.tokens_of(every).tolist() == [sizes[chunk] for chunk in every.tolist()]
    many = " ".join(f"w{n}" for n in range(150))
    writer.write([indexed("docs/long.md", f"# Long\n\n{many}\n")], ())
    sizes = reader.select("SELECT id, sz FROM chunks_fts_docsize WHERE id > ?", (int(every[-1]),))
    assert any(size[0] >= 128 for _, size in sizes)  # a varint of two bytes
    for chunk, size in sizes:
        words = ((size[0] & 127) << 7) + size[1] if size[0] >= 128 else size[0]
        assert reader.columns().tokens_of(np.array([chunk]))[0] >= words
