"""Retrieval over a real index: pooling, and answers while vectors are still being made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from cairn.chunking import chunk_text
from cairn.chunking.model import content_key
from cairn.config import SearchSettings
from cairn.embedding import Embedder
from cairn.index.database import DATABASE_NAME
from cairn.index.reader import IndexReader
from cairn.index.writer import FileRecord, IndexedFile, IndexWriter
from cairn.retrieval.query import understand
from cairn.retrieval.search import Retrieved, retrieve


class Model:
    """Where an embedder is expected: search asks it for its id alone when it is given the query's vector."""

    class model:  # noqa: N801
        id = "m@1"


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


def search(folder: Path, query: str, vector: NDArray[np.float32]) -> Retrieved:
    readers = [IndexReader(folder)]
    model = cast(Embedder, Model())
    return retrieve(readers, understand(query), model, SearchSettings(), limit=5, vector=vector)


def test_having_a_vector_is_no_merit_while_others_have_none(writer: IndexWriter, tmp_path: Path) -> None:
    asked = np.array([1, 0], np.float32)
    model = writer.use_model("m@1", 2)
    keys = {p.key: p.text for p in writer.pending_texts(model, 10)}
    early = [key for key, text in keys.items() if "other" in text]
    writer.store_vectors(model, early, np.array([[1, 0]], np.float32))
    ranked = search(tmp_path, "when to dock", asked).ranked
    assert [r.stored.path for r in ranked] == ["src/best.py", "src/other.py"]


def test_a_leg_that_fails_is_named_and_the_others_answer(writer: IndexWriter, tmp_path: Path) -> None:
    writer.use_model("m@1", 2)
    database = apsw.Connection(str(tmp_path / DATABASE_NAME))
    database.execute("DROP TABLE definitions")
    found = search(tmp_path, "moor", np.array([1, 0], np.float32))
    assert found.ranked[0].stored.path == "src/best.py"
    assert "definitions" in found.problems[0]
    database.close()
