"""The vectors in the indexes decide what queries are compared by, and nothing else is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from cairn.embedding.embedder import Embedder
from tests.index.index_builders import indexed

from cairn.embedding.shared import SharedModel
from cairn.embedding.static import StaticTable, entry_type
from cairn.embedding.word_pieces import WordPieces
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import never
from cairn.index.store.meta import Facts, static_key
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import StaticIntake, VectorIntake
from cairn.retrieval.meaning import Meaning, ModelMeaning, ModelVector, StaticMeaning, choose_meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import EmbeddingSettings, SearchSettings

MODEL = cast(Embedder, object())
TABLE = StaticTable("small", np.zeros(0, entry_type(4)), WordPieces(()))


class Shelf:
    """Offers a model and a table, and records which are loaded."""

    def __init__(self, model: Embedder | None = MODEL, table: StaticTable | None = TABLE) -> None:
        self.model, self.table = model, table
        self.loaded: list[str] = []

    def choose(self, *facts: Facts) -> str:
        chosen = choose_meaning(facts, self._embedder, self._static)
        if isinstance(chosen, ModelMeaning):
            assert chosen.embedder is MODEL
            return "model"
        return "static" if isinstance(chosen, StaticMeaning) else "nothing"

    def _embedder(self) -> Embedder | None:
        self.loaded.append("model")
        return self.model

    def _static(self) -> StaticTable | None:
        self.loaded.append("static")
        return self.table


def facts(
    queued: int, static_queued: int | None = 0, chunks: int = 100, model: int = 1, table: str = TABLE.id
) -> Facts:
    """Return the facts of an index; `static_queued` is None without a static table."""
    return Facts(
        chunks=chunks,
        queued=queued,
        model_id=model,
        static_queued=static_queued or 0,
        has_static=int(static_queued is not None),
        static_key=static_key(table),
    )


NOTHING = Facts()


@pytest.mark.parametrize(
    ("indexes", "chosen"),
    [
        ([], "nothing"),
        ([NOTHING], "nothing"),
        ([facts(0)], "model"),
        ([facts(0, None)], "model"),
        ([facts(5)], "model"),
        ([facts(6)], "static"),
        ([facts(100)], "static"),
        ([facts(5, None)], "model"),
        ([facts(6, None)], "model"),
        ([facts(99, None)], "model"),
        ([facts(100, None)], "nothing"),
        ([facts(100, 100)], "nothing"),
        ([facts(100, 40)], "static"),
        ([facts(30, 60)], "model"),
        ([facts(60, 30)], "static"),
        ([facts(30, 100)], "model"),
        ([facts(0, model=0)], "static"),
        ([facts(0, None, model=0)], "nothing"),
        ([facts(0), facts(100, chunks=1_000)], "static"),
        ([facts(0, chunks=10_000), facts(100)], "model"),
        ([facts(0), NOTHING], "model"),
    ],
)
def test_the_kind_of_most_chunks_is_chosen_and_no_other_loaded(indexes: Sequence[Facts], chosen: str) -> None:
    shelf = Shelf()
    assert shelf.choose(*indexes) == chosen
    assert ("model" in shelf.loaded) == (chosen == "model")
    if chosen == "nothing" or not any(each.has_static for each in indexes):
        assert "static" not in shelf.loaded


NO_MODEL, NO_TABLE = {"model": None}, {"table": None}


@pytest.mark.parametrize(
    ("missing", "indexes", "chosen"),
    [
        (NO_MODEL, [facts(0)], "static"),
        (NO_MODEL, [facts(5)], "static"),
        (NO_MODEL, [facts(50)], "static"),
        (NO_MODEL, [facts(0, None)], "nothing"),
        (NO_TABLE, [facts(0)], "model"),
        (NO_TABLE, [facts(50)], "model"),
        (NO_TABLE, [facts(100)], "nothing"),
        ({}, [facts(0, table="former", model=0)], "nothing"),  # vectors of another table are not comparable
        ({}, [facts(0, model=0), facts(0, table="former", model=0)], "nothing"),
        ({}, [facts(0), facts(0, table="former")], "model"),
        ({}, [facts(50), facts(50, table="former")], "model"),
    ],
)
def test_only_available_vectors_are_chosen(
    missing: Mapping[str, None], indexes: Sequence[Facts], chosen: str
) -> None:
    assert Shelf(**missing).choose(*indexes) == chosen


# --- with the real model -----------------------------------------------------------------------------

SETTINGS = EmbeddingSettings()
ALL = ChunkFilter()
TEXTS = {
    "tides.md": "# Tides\n\nThe sea rises and falls twice a day.\n",
    "cranes.md": "# Cranes\n\nA crane lifts containers from a ship.\n",
    "pay.md": "# Wages\n\nEvery worker is paid on the last day of the month.\n",
}


@pytest.fixture
def models(bare_data_dir: Path) -> SharedModel:
    return SharedModel(SETTINGS)


@pytest.fixture
def writer(tmp_path: Path, models: SharedModel) -> Iterator[IndexWriter]:
    """An index with static vectors of all texts and the model's of all but the one about cranes."""
    folder = tmp_path / "index"
    folder.mkdir()
    writer = IndexWriter(folder)
    vectors = VectorIntake(writer, models, lambda: (), lambda *embedded: None, lambda problem: None)
    static = StaticIntake(writer, models, lambda: ())
    vectors.select_model(SETTINGS)
    static.select_table(EmbeddingSettings())
    for late in (False, True):
        files = [indexed(path, text) for path, text in TEXTS.items() if (path == "cranes.md") == late]
        static.added(writer.write(files, ()), SETTINGS)
        while not late and vectors.step(SETTINGS, never, lambda: None):
            pass
    yield writer
    writer.close()


def path_of(reader: IndexReader, chunk_id: int) -> str:
    return reader.chunks([chunk_id])[chunk_id].path


def test_a_chunk_without_a_model_vector_is_found_but_not_compared(
    writer: IndexWriter, models: SharedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.retrieval.meaning._FEW", 0.5)
    reader = SqliteReader(writer.folder)
    meaning = choose_meaning([reader.facts()], models.embedder, models.static_table)
    assert isinstance(meaning, ModelMeaning)
    (vector,) = meaning.vectors(["lifting containers with a crane"])
    assert isinstance(vector, ModelVector)
    assert {path_of(reader, hit.chunk_id) for hit in vector.nearest(reader, 5, ALL, never)} == {
        "tides.md",
        "pay.md",
    }
    assert vector.static is not None
    found = vector.static.nearest(reader, 5, ALL, never)
    assert path_of(reader, found[0].chunk_id) == "cranes.md"
    similar = vector.similarities(reader, [hit.chunk_id for hit in found])
    assert {path_of(reader, chunk_id) for chunk_id in similar} == {"tides.md", "pay.md"}
    query = understand("lifting containers with a crane", alpha=1.0)
    ranking = rank([reader], [query], meaning, SearchSettings())
    assert ranking.legs.pools[0].legs_of(found[0].chunk_id) == {"static"}


def test_each_kind_finds_similar_texts_consistently(writer: IndexWriter, models: SharedModel) -> None:
    reader = SqliteReader(writer.folder)
    embedder, table = models.embedder(), models.static_table()
    assert embedder is not None
    assert table is not None
    questions = ["when is the ocean high", "salary payment"]
    kinds: list[Meaning] = [ModelMeaning(embedder), StaticMeaning(table)]
    for meaning in kinds:
        vectors = meaning.vectors(questions)
        for vector, path in zip(vectors, ("tides.md", "pay.md"), strict=True):
            hits = vector.nearest(reader, 3, ALL, never)
            assert path_of(reader, hits[0].chunk_id) == path
            compared = vector.similarities(reader, [hit.chunk_id for hit in hits])
            assert compared == pytest.approx({hit.chunk_id: hit.score for hit in hits}, abs=1e-5)
            assert np.all(np.diff([hit.score for hit in hits]) <= 0)
