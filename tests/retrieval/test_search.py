"""Retrieval over a real index: pooling, and answers while vectors are still being made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import frozen
from numpy.typing import NDArray
from tests.retrieval.searching import search

from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import content_key
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.index.vectors.store import VectorStore
from cairn.retrieval.candidates import _similarity
from cairn.retrieval.meaning import ModelVector, QueryVector
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import Ranking, rank
from cairn.settings.tree import SearchSettings


@frozen
class Given:
    """The meaning of any question is this vector of the model `m@1`."""

    vector: NDArray[np.float32]
    table: None = None

    @property
    def dimension(self) -> int:
        return len(self.vector)

    def vectors(self, queries: Sequence[str]) -> Sequence[QueryVector]:
        return [ModelVector(self.vector, "m@1") for _ in queries]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    files = {
        "src/best.py": "def moor(ship):\n    # dock it, and dock it again\n    return ship\n",
        "src/other.py": "def paint(ship):\n    # never in a dock while it rains\n    return ship\n",
    }
    records = [FileRecord(path, len(text), 0, content_key(text), "p-source") for path, text in files.items()]
    writer.write(
        [IndexedFile(r, "source", True, tuple(chunk_text(r.path, files[r.path]))) for r in records], ()
    )
    yield writer
    writer.close()


def ranked(folder: Path, query: str, vector: NDArray[np.float32]) -> tuple[Ranking, list[str]]:
    """The ranking, and the paths of its results."""
    settings = SearchSettings()
    ranking = rank([SqliteReader(folder)], [understand(query)], Given(vector), settings)
    return ranking, [result.stored.path for result in ranking.results(5, settings.diversity)]


def test_having_a_vector_is_no_merit_while_others_have_none(writer: IndexWriter, tmp_path: Path) -> None:
    asked = np.array([1, 0], np.float32)
    store = VectorStore(writer.db)
    model = store.use_model("m@1", 2)
    texts = store.texts([waiting.chunk_id for waiting in store.waiting(model)])
    early = [text.key for text in texts if "other" in text.text]
    store.store(model, early, np.array([[1, 0]], np.float32), queued=1)
    assert ranked(tmp_path, "when to dock", asked)[1] == ["src/best.py", "src/other.py"]


def test_a_leg_that_fails_is_named_and_the_others_answer(writer: IndexWriter, tmp_path: Path) -> None:
    VectorStore(writer.db).use_model("m@1", 2)
    database = apsw.Connection(str(tmp_path / DATABASE_NAME))
    database.execute("DROP TABLE definitions")
    ranking, paths = ranked(tmp_path, "moor", np.array([1, 0], np.float32))
    assert paths[0] == "src/best.py"
    assert "definitions" in str(ranking.problem)
    database.close()


def expected(known: Sequence[tuple[float, float]], static: float) -> float:
    """What a chunk of that static similarity counts as beside chunks of which both similarities are known."""
    statics, cosines = (
        np.array([*column, last])
        for column, last in zip(zip(*known, strict=True), (static, np.nan), strict=True)
    )
    return float(_similarity(cosines, np.full(len(cosines), np.nan), statics)[-1])


def test_a_chunk_without_vector_counts_as_those_of_its_static_similarity() -> None:
    known = [(0.3 + step / 100, 0.1 + step / 50) for step in range(20)]
    assert expected(known, 0.4) == pytest.approx(0.3)
    assert expected(known, 0.7) == pytest.approx(0.9)  # a text saved just now may be nearer than all others
    assert expected(known, np.nan) == pytest.approx(sum(cosine for _, cosine in known) / len(known))


def test_of_few_chunks_or_of_unrelated_ones_it_counts_as_the_usual() -> None:
    unknown = np.array([np.nan])
    assert _similarity(unknown, unknown, np.array([0.9])).tolist() == [0.0]
    assert expected([(0.1, 0.5)], 0.9) == 0.5
    falling = [(step / 100, 1 - step / 50) for step in range(20)]
    assert expected(falling, 0.9) == pytest.approx(0.81)


@pytest.mark.parametrize(
    "asked",
    ["moor_ship", "moorShip", "moor-ship", "MoorShip", "moor ship", "Berth::moor_ship()", "berths.moorShip"],
)
def test_a_definition_is_found_in_every_spelling_of_its_name(tmp_path: Path, asked: str) -> None:
    writer = IndexWriter(tmp_path)
    text = "def moor_ship(berth):\n    return berth\n"
    record = FileRecord("src/a.py", len(text), 0, content_key(text), "p-source")
    writer.write([IndexedFile(record, "source", True, tuple(chunk_text("src/a.py", text)))], ())
    writer.close()
    found = search([SqliteReader(tmp_path)], asked)
    assert [(result.stored.path, result.source) for result in found] == [("src/a.py", "exact")]
