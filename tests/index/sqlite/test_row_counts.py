"""Words in a keyword table are counted once, up to a bound, and again after changes of the table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.index.index_builders import indexed

from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import KeywordCounts
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.sqlite.word_memory import count_rows
from cairn.index.store.meta import raise_generation
from cairn.index.store.writer import IndexWriter


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    write(writer, 0, 40)
    yield writer
    writer.close()


@pytest.fixture
def reader(writer: IndexWriter) -> IndexReader:
    return SqliteReader(writer.folder)


def write(writer: IndexWriter, start: int, end: int) -> None:
    """Write files of one chunk each; every fourth is about ropes."""
    texts = {f"src/a{n}.md": f"# Ship {n}\n{'rope' if n % 4 == 0 else ''}\n" for n in range(start, end)}
    writer.write([indexed(path, text) for path, text in texts.items()], ())


def count(reader: IndexReader, *words: str, bound: int = 1000, table: str = "chunks_fts") -> KeywordCounts:
    return count_rows(reader, table, words, bound)


def test_rows_are_counted_up_to_the_bound(reader: IndexReader) -> None:
    words = ('"ship"', '"rope"', '"barnacle"', '("rope" OR "ship")')
    assert count(reader, *words) == KeywordCounts(40, dict(zip(words, (40, 10, 0, 40), strict=True)))
    assert count(reader, *words, bound=15).matching == dict(zip(words, (15, 10, 0, 15), strict=True))
    assert count(reader, *words).matching['"ship"'] == 40  # each bound has its own count


def test_each_table_has_its_own_counts(reader: IndexReader) -> None:
    assert count(reader, '"src"').matching == {'"src"': 0}
    assert count(reader, '"src"', table="paths_fts") == KeywordCounts(40, {'"src"': 40})
    assert count(reader, '"src"', table="subjects_fts") == KeywordCounts(0, {'"src"': 0})


def test_counts_stay_while_the_table_changes_by_a_tenth(writer: IndexWriter, reader: IndexReader) -> None:
    assert count(reader, '"ship"').matching == {'"ship"': 40}
    write(writer, 40, 44)
    assert count(reader, '"ship"') == KeywordCounts(44, {'"ship"': 40})
    write(writer, 44, 45)
    assert count(reader, '"ship"') == KeywordCounts(45, {'"ship"': 45})
    writer.write((), [f"src/a{n}.md" for n in range(10)])
    assert count(reader, '"ship"') == KeywordCounts(35, {'"ship"': 35})


def test_absent_words_are_counted_again_after_any_change(writer: IndexWriter, reader: IndexReader) -> None:
    assert count(reader, '"barnacle"', '"ship"').matching == {'"barnacle"': 0, '"ship"': 40}
    writer.write([indexed("src/a40.md", "# Ship 40\nbarnacle\n")], ())
    assert count(reader, '"barnacle"', '"ship"').matching == {'"barnacle"': 1, '"ship"': 40}


def test_words_are_counted_once(reader: IndexReader) -> None:
    def counted(*words: str) -> list[str]:
        run: list[str] = []
        with reader.reading() as db:
            db.set_exec_trace(
                lambda _, sql, values: bool(run.extend(values if "MATCH" in sql else ())) or True
            )
            count(reader, *words, bound=100)
            db.set_exec_trace(None)
        return [word for words in run[1::2] for word in json.loads(words)]

    assert counted('"ship"', '"rope"') == ['"ship"', '"rope"']
    assert counted('"ship"', '"rope"', '"tide"') == ['"tide"']
    assert counted('"ship"') == []


def test_a_table_filled_after_the_first_count_is_counted_again(
    writer: IndexWriter, reader: IndexReader
) -> None:
    assert count(reader, '"moor"', table="subjects_fts") == KeywordCounts(0, {'"moor"': 0})
    with writer.db:
        for row in range(1, 21):
            writer.db.execute("INSERT INTO subjects_fts(rowid, subjects) VALUES (?, 'Moor ships')", (row,))
        raise_generation(writer.db)
    assert count(reader, '"moor"', table="subjects_fts") == KeywordCounts(20, {'"moor"': 20})


def test_two_indexes_have_separate_counts(reader: IndexReader, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = IndexWriter(tmp_path / "other")
    write(other, 0, 3)
    assert count(reader, '"ship"').matching == {'"ship"': 40}
    assert count(SqliteReader(other.folder), '"ship"').matching == {'"ship"': 3}
    other.close()


def test_threads_count_during_changes_of_the_index(writer: IndexWriter, reader: IndexReader) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    expressions = [f'"ship" OR "word{number}"' for number in range(2_000)]
    try:
        with ThreadPoolExecutor(4) as threads:
            starts = [*range(0, 2_000, 20)] * 2
            counts = [threads.submit(count, reader, *expressions[at : at + 20]) for at in starts]
            while not all(each.done() for each in counts):
                with writer.db:
                    raise_generation(writer.db)
            for each in counts:
                assert set(each.result().matching.values()) == {40}
    finally:
        sys.setswitchinterval(interval)
