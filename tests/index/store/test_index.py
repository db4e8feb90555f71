"""Writer and readers of one index agree on keywords, vectors, filters and facts."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.index_builders import indexed, violated_invariants

from cairn.errors import QueryCancelledError
from cairn.index.reader import index_memory
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import database as database_module
from cairn.index.store.deadline import ended_by
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors.vector_store import VectorStore

ALL = ChunkFilter()
EVEN = ColumnWeights()


def paths(reader: IndexReader, *words: str, only: ChunkFilter = ALL) -> list[str]:
    hits = reader.keywords(words, EVEN, 10, only)
    stored = reader.chunks(hit.chunk_id for hit in hits)
    return [stored[hit.chunk_id].path for hit in hits]


QUERY = np.array([100, 10, 0, 0], np.int8)


def embed_all(writer: IndexWriter) -> None:
    """Store a different made-up vector for each chunk."""
    store = VectorStore(writer.db)
    store.use_static("small", QUERY.size)
    ids = [waiting.chunk_id for waiting in store.without_static()]
    rows = np.array([[100, 10 * number, 0, 1] for number in range(len(ids))], np.int8)
    store.store_static(ids, rows, queued=0)


SOURCE = indexed("src/server.py", "class HTTPServer:\n    def handle_request(self):\n        return route\n")
GUIDE = indexed("docs/guide.md", "# Routing\n\nRoutes connect a path with a view.\n")


def test_reader_without_an_index_finds_nothing(reader: IndexReader) -> None:
    assert reader.keywords(["x"], EVEN, 10, ALL) == []
    assert reader.nearest_static(QUERY, 10, ALL) == []
    assert (reader.chunks([1]), reader.page("a"), reader.generation()) == ({}, [], 0)
    assert not reader.facts().complete


def test_keywords_find_only_new_words_of_a_replaced_file(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([SOURCE], ())
    writer.write([indexed("src/server.py", "def listen():\n    pass\n")], ())
    assert paths(reader, "handle_request") == []
    assert paths(reader, "listen") == ["src/server.py"]
    writer.write((), ["src/server.py"])
    assert paths(reader, "listen") == []
    assert reader.facts().chunks == 0


def test_cancelled_statement_ends(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([indexed(f"f{n}.md", "word " * 300) for n in range(1_200)], ())
    looks = itertools.count()  # The first look is before the statement.
    with pytest.raises(QueryCancelledError), ended_by(lambda: next(looks) > 0):
        reader.keywords(["word"], EVEN, 10, ALL)
    assert reader.keywords(["word"], EVEN, 10, ALL)


def test_every_change_increments_the_generation(writer: IndexWriter, reader: IndexReader) -> None:
    seen = [reader.generation()]
    changes: list[Callable[[], object]] = [
        lambda: writer.write([GUIDE], ()),
        lambda: writer.note(scanned=1, files_total=1),
        lambda: VectorStore(writer.db).use_static("small", 8),
        lambda: writer.write((), ["docs/guide.md"]),
    ]
    for change in changes:
        change()
        seen.append(reader.generation())
    assert seen == sorted(set(seen))


def test_changes_increment_their_counters(writer: IndexWriter, reader: IndexReader) -> None:
    def risen(change: Callable[[], object]) -> set[str]:
        before = reader.facts()
        change()
        after = reader.facts()
        counters = ("content", "paths", "links")
        return {name for name in counters if getattr(after, name) > getattr(before, name)}

    edited = indexed("docs/guide.md", "# Routing anew\n")
    assert risen(lambda: writer.write([GUIDE], ())) == {"content", "paths", "links"}
    assert risen(lambda: writer.write([edited], ())) == {"content"}
    assert risen(lambda: writer.write([evolve(edited, imports=("py:os",))], ())) == {"content", "links"}
    assert risen(lambda: writer.write([edited, SOURCE], ())) == {"content", "paths", "links"}
    assert risen(lambda: embed_all(writer)) == set()
    assert risen(lambda: writer.touch([edited.record])) == set()
    assert risen(lambda: writer.note(scanned=1)) == set()
    assert risen(lambda: writer.write((), ["docs/guide.md"])) == {"content", "paths", "links"}


def test_noting_the_same_facts_changes_nothing(writer: IndexWriter, reader: IndexReader) -> None:
    writer.note(scanned=1, files_total=3)
    before = reader.facts()
    writer.note(scanned=1, files_total=3)
    assert reader.facts() == before


def test_failed_batch_changes_nothing(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([GUIDE], ())
    before = reader.facts()
    invalid = evolve(SOURCE, record=evolve(SOURCE.record, path=None))  # type: ignore[arg-type]
    with pytest.raises(apsw.ConstraintError):
        writer.write([SOURCE, invalid], ["docs/guide.md"])
    assert not writer.db.in_transaction
    assert reader.facts() == before
    assert set(writer.files()) == {"docs/guide.md"}


def test_ids_of_chunks_are_not_reused(writer: IndexWriter) -> None:
    seen: set[int] = set()
    for _ in range(5):
        ids = set(writer.write([SOURCE, GUIDE], ()))
        assert not ids & seen
        seen |= ids
        writer.write((), ["src/server.py", "docs/guide.md"])


@settings(max_examples=30)
@given(
    text=st.text(st.characters(codec="utf-8"), max_size=200), name=st.sampled_from(["a.md", "b.py", "c.txt"])
)
def test_index_returns_any_text_unchanged(text: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = IndexWriter(Path(folder))
        file = indexed(name, text)
        writer.write([file], ())
        page = SqliteReader(Path(folder)).page(name)
        assert tuple(stored.chunk for stored in page) == file.chunks
        writer.close()


SECTIONS = st.lists(st.sampled_from(["tide", "crane", "berth", "mooring", "pilot"]), max_size=7)


def sectioned(names: Sequence[str]) -> IndexedFile:
    """Return a document of sections too long to be merged; equal names make equal sections."""
    sections = [f"## {name}\n\n{f'All about {name}s. ' * 60}\n\n" for name in names]
    return indexed("port.md", "# Port\n\n" + "".join(sections))


@settings(max_examples=40)
@given(versions=st.lists(SECTIONS, min_size=2, max_size=4))
def test_changed_file_is_stored_like_a_new_one(versions: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer, reader = IndexWriter(Path(folder)), SqliteReader(Path(folder))
        for names in versions:
            file = sectioned(names)
            writer.write([file], ())
            assert tuple(stored.chunk for stored in reader.page("port.md")) == file.chunks
            for name in {name for names in versions for name in names}:
                assert len(reader.keywords([name], EVEN, 50, ALL)) == names.count(name)
            assert violated_invariants(writer.db, reader.facts().chunks) == []
        writer.close()


def test_unchanged_chunks_of_a_changed_file_keep_their_ids(writer: IndexWriter, reader: IndexReader) -> None:
    def ids() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for stored in reader.page("port.md"):
            found.setdefault(stored.chunk.title, []).append(stored.id)
        return found

    writer.write([sectioned(["tide", "crane", "berth", "crane"])], ())
    before = ids()
    written = writer.write([sectioned(["tide", "pilot", "crane", "mooring", "crane"])], ())
    after = ids()
    assert [after[name] for name in ("tide", "crane")] == [before[name] for name in ("tide", "crane")]
    assert sorted(written) == sorted(after["pilot"] + after["mooring"])
    again = writer.write([sectioned(["tide", "pilot", "crane", "mooring", "crane"])], (), anew=True)
    assert len(again) == 5
    assert not set(again) & {each for found in after.values() for each in found}


def test_another_collection_replaces_all_chunks(writer: IndexWriter) -> None:
    # The embedded text of a chunk contains the name of its collection.
    file = sectioned(["tide", "crane"])
    writer.write([file], ())
    renamed = evolve(file, record=evolve(file.record, collection="harbour-docs"))
    assert len(writer.write([renamed], ())) == 2


def test_large_index_is_not_mapped(
    writer: IndexWriter, reader: SqliteReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_memory, "_LOOK_SECONDS", 0.0)

    def mapped() -> int:
        with reader.reading() as db:
            return int(db.pragma("mmap_size"))

    writer.checkpoint()
    assert mapped() > 0
    monkeypatch.setattr(database_module, "_MAPPED_BYTES", 1)
    assert mapped() == 0


def test_files_below_lists_only_the_folders_files(writer: IndexWriter) -> None:
    paths = ["doc", "doc.md", "doc/a.md", "doc/deep/b.md", "doc0/c.md", "docs/d.md", "Doc/e.md"]
    writer.write([indexed(path, "# A\n") for path in paths], ())
    assert sorted(writer.files_below("doc")) == ["doc", "doc/a.md", "doc/deep/b.md"]
    assert writer.files_below("doc/deep/b.md") == ["doc/deep/b.md"]
    assert writer.files_below("missing") == []


def test_chunk_ids_follow_the_order_of_paths(writer: IndexWriter) -> None:
    guide, source = writer.write([GUIDE, SOURCE], ())
    assert writer.chunk_ids(["src/server.py", "missing.py"]) == [source]
    assert writer.chunk_ids(["src/server.py", "docs/guide.md"]) == [source, guide]


def test_index_in_memory_is_read_by_its_name() -> None:
    writer = IndexWriter.in_memory("port")
    writer.write([GUIDE], ())
    other = apsw.Connection("/port", vfs="memdb", flags=apsw.SQLITE_OPEN_READWRITE)
    assert other.execute("SELECT path FROM files").get == "docs/guide.md"
    other.close()
    writer.abandon()


def test_readers_on_threads_see_whole_transactions(writer: IndexWriter, reader: IndexReader) -> None:
    sections = "".join(f"# Part {n}\n\n" + f"Words of part {n}.\n" * 100 + "\n\n" for n in range(3))
    file = indexed("a.md", sections)
    whole = len(file.chunks)
    problems: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            if len(reader.page("a.md")) not in (0, whole):
                problems.append("half a file")

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        writer.write([file], ())
        writer.write((), ["a.md"])
    done.set()
    for thread in threads:
        thread.join()
    assert whole > 1
    assert not problems
