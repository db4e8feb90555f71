"""The vectors of an index match its chunks, and its counters match both."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.index.index_builders import (
    MadeUpModels,
    functions,
    indexed,
    numbers,
    small_table,
    violated_invariants,
)

from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.index.vectors.vector_store import VectorStore
from cairn.settings.tree import EmbeddingSettings

EMBEDDING = EmbeddingSettings()
PATHS = ("a.py", "docs/b.md", "c.txt", "d.py")
TEXTS = (
    "",
    "def moor(ship):\n    return rope\n",
    "# Ships\n\nA ship has a rope.\n\n# Tides\n\nThe tide turns.\n",
    "class Anchor:\n    def drop(self):\n        return self.rope\n\n\ndef moor(ship):\n    return rope\n",
)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    yield writer
    writer.close()


@pytest.fixture
def store(writer: IndexWriter) -> VectorStore:
    return VectorStore(writer.db)


class Life(RuleBasedStateMachine):
    """Any sequence of changes leaves the tables and facts of an index consistent."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.writer = IndexWriter(self.folder)
        self.models = MadeUpModels(table=small_table())
        self._make_intakes()
        self.before = self.writer.facts()

    def teardown(self) -> None:
        self.writer.close()
        shutil.rmtree(self.folder)

    def _make_intakes(self) -> None:
        self.vectors = VectorIntake(self.writer, self.models, lambda: ())
        self.vectors.select(EmbeddingSettings())

    def _state(self) -> tuple[list[object], list[object]]:
        """Return the paths, and all rows of files and chunks."""
        rows = self.writer.db.execute("SELECT path, id FROM files ORDER BY path").fetchall()
        return [row[0] for row in rows], [*rows, *self.writer.db.execute("SELECT id FROM chunks ORDER BY id")]

    def _do(self, change: Callable[[], object], writes: bool = False) -> None:
        before, (paths, content) = self.writer.facts(), self._state()
        change()
        after, (new_paths, new_content) = self.writer.facts(), self._state()
        assert (after.content > before.content) == writes
        assert writes or new_content == content
        assert (after.paths > before.paths) == (new_paths != paths)
        assert after.generation >= before.generation
        if evolve(after, generation=before.generation) != before:
            assert after.generation > before.generation

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from(TEXTS), together=st.booleans())
    def write(self, path: str, text: str, together: bool) -> None:
        files = [indexed(path, text)] + ([indexed("e.py", text)] if together else [])

        self._do(lambda: self.vectors.added(self.writer.write(files, ()), EMBEDDING), writes=True)

    @rule(path=st.sampled_from(PATHS))
    def remove(self, path: str) -> None:
        known = self.writer.records([path])
        if known:
            self._do(lambda: self.writer.write((), [path]), writes=True)

    @rule(path=st.sampled_from(PATHS))
    def open(self, path: str) -> None:
        self._do(lambda: self.vectors.put_first(self.writer.chunk_ids([path])))

    @rule()
    def embed(self) -> None:
        self._do(lambda: self.vectors.step(EMBEDDING))

    @rule()
    def embed_all(self) -> None:
        while self.vectors.step(EMBEDDING):
            pass
        facts = self.writer.facts()
        if facts.has_static:
            assert (facts.static_queued, facts.static) == (0, 1)

    @rule(name=st.sampled_from(["m", "other", None]))
    def choose_model(self, name: str | None) -> None:
        self.models.name = name
        self._do(lambda: self.vectors.select(EmbeddingSettings()))

    @rule(table=st.sampled_from([("small", 8), ("large", 16), None]))
    def choose_table(self, table: tuple[str, int] | None) -> None:
        self.models.table = small_table(*table) if table else None
        self._do(lambda: self.vectors.select(EmbeddingSettings()))

    @rule()
    def restart(self) -> None:
        self.writer.close()
        self.writer = IndexWriter(self.folder)
        self._make_intakes()

    @invariant()
    def tables_agree(self) -> None:
        assert violated_invariants(self.writer.db, self.writer.facts().chunks) == []

    @invariant()
    def waiting_chunks_are_counted(self) -> None:
        facts, store = self.writer.facts(), VectorStore(self.writer.db)
        without = store.without_static() if facts.has_static else []
        assert facts.chunks >= facts.static_queued >= len(without)
        assert not (facts.static and without)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=15)


def test_texts_keep_the_requested_order(writer: IndexWriter, store: VectorStore) -> None:
    ids = writer.write([functions("a.py", 4)], ())
    wanted = [ids[2], 10_000, ids[0], ids[3]]
    assert [text.chunk_id for text in store.texts(wanted)] == [ids[2], ids[0], ids[3]]
    store.use_static("first", 8)
    store.store_static([ids[0]], np.ones((1, 8), np.int8), queued=3)
    assert store.lacking_static([ids[2], ids[0], ids[3]]) == [ids[2], ids[3]]


def test_selecting_the_current_model_changes_nothing(writer: IndexWriter, store: VectorStore) -> None:
    store.use_static("table", 8)
    before = writer.facts()
    store.use_static("table", 8)
    assert writer.facts() == before


def test_another_static_table_drops_the_vectors(writer: IndexWriter, store: VectorStore) -> None:
    ids = writer.write([functions("a.py", 3)], ())
    store.use_static("first", 8)
    store.store_static(ids, np.ones((3, 8), np.int8), queued=0)
    store.use_static("second", 16)
    assert numbers(writer.db, f"SELECT rowid FROM {STATIC_TABLE}") == []
    assert (writer.facts().has_static, writer.facts().static, writer.facts().static_queued) == (1, 0, 3)
    store.store_static(ids, np.ones((3, 16), np.int8), queued=0)
    store.use_no_static()
    assert (writer.facts().has_static, writer.facts().static_queued) == (0, 0)
    writer.write((), ["a.py"])  # the trigger that needs the table is gone


def test_other_token_limits_drop_static_vectors(writer: IndexWriter, store: VectorStore) -> None:
    ids = writer.write([functions("a.py", 3)], ())
    for number, embedded in enumerate(("64/128", "16/128", "64/128")):
        store.use_static("table", 8, embedded)
        assert (writer.facts().static_queued, len(store.without_static())) == (3, 3), number
        store.store_static(ids, np.ones((3, 8), np.int8), queued=0)
        store.use_static("table", 8, embedded)
        assert store.without_static() == []


def test_invalid_batch_of_vectors_changes_nothing(writer: IndexWriter, store: VectorStore) -> None:
    ids = writer.write([functions("a.py", 2)], ())
    store.use_static("first", 8)
    before = writer.facts()
    with pytest.raises(ValueError, match="zip"):
        store.store_static(ids, np.ones((1, 8), np.int8), queued=0)
    assert writer.facts() == before
    assert len(store.without_static()) == 2
    assert not writer.db.in_transaction


def test_waiting_chunks_have_the_data_of_their_files(writer: IndexWriter, store: VectorStore) -> None:
    ids = writer.write([indexed("docs/a.md", "# A\n", mtime_ns=7), indexed("tests/b.py", "b = 1\n")], ())
    store.use_static("first", 8)
    found = [(w.chunk_id, w.path, w.kind, w.mtime_ns) for w in store.without_static()]
    assert sorted(found) == [(ids[0], "docs/a.md", "docs", 7), (ids[1], "tests/b.py", "tests", 0)]
