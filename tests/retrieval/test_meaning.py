"""The vectors in the indexes decide which model compares queries with chunks, and no other is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import MadeUpModels, indexed, small_table

from cairn.embedding.packaged import load_packaged
from cairn.embedding.shared import TextEncoder
from cairn.index.reader.filters import ChunkFilter
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.meta import Facts, static_key
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.retrieval.meaning import Meaning, choose_meaning
from cairn.settings.tree import EmbeddingSettings

OWN, TABLE = "m@1", "small"


class Shelf(MadeUpModels):
    """A user's own model and a table, of which it is recorded whether the model is loaded."""

    loads = 0

    def encoder(self) -> TextEncoder | None:
        self.loads += 1
        return super().encoder()


def facts(model: str | None, queued: int = 0, chunks: int = 100) -> Facts:
    """Return the facts of an index; `model` is None without vectors."""
    key = 0 if model is None else static_key(model)
    return Facts(chunks=chunks, has_static=int(model is not None), static_queued=queued, static_key=key)


@pytest.mark.parametrize(
    ("indexes", "chosen"),
    [
        ([], None),
        ([Facts()], None),
        ([facts(None)], None),
        ([facts(TABLE)], TABLE),
        ([facts(TABLE, queued=99)], TABLE),
        ([facts(TABLE, queued=100)], None),
        ([facts(OWN)], OWN),
        ([facts(OWN, queued=99)], OWN),
        ([facts(OWN), Facts()], OWN),
        ([facts(OWN, queued=100), facts(OWN)], OWN),
        ([facts("former")], None),  # vectors of another model are not comparable
        ([facts(TABLE), facts("former")], None),
        ([facts(TABLE), facts(OWN)], None),
    ],
)
def test_the_model_of_all_indexes_is_chosen_and_no_other_loaded(
    indexes: Sequence[Facts], chosen: str | None
) -> None:
    shelf = Shelf(table=small_table(TABLE))
    meaning = choose_meaning(indexes, shelf)
    assert (meaning and meaning.encoder.id) == chosen
    assert meaning is None or meaning.table is shelf.table
    assert bool(shelf.loads) == (chosen == OWN)


@pytest.mark.parametrize(("name", "table"), [(None, "other"), (None, None), ("other", None)])
def test_only_available_models_are_chosen(name: str | None, table: str | None) -> None:
    models = MadeUpModels(name, small_table(table) if table else None)
    assert choose_meaning([facts(OWN)], models) is choose_meaning([facts(TABLE)], models) is None


def test_texts_are_found_by_meaning(tmp_path: Path) -> None:
    writer, models = IndexWriter(tmp_path), MadeUpModels(None, load_packaged())
    vectors = VectorIntake(writer, models, lambda: ())
    vectors.select(EmbeddingSettings())
    texts = {
        "tides.md": "# Tides\n\nThe sea rises and falls twice a day.\n",
        "pay.md": "# Wages\n\nEvery worker is paid on the last day of the month.\n",
    }
    vectors.added(writer.write([indexed(*each) for each in texts.items()], ()), EmbeddingSettings())
    writer.close()
    reader = SqliteReader(tmp_path)
    meaning = choose_meaning([reader.facts()], models)
    assert meaning == Meaning(models.table)
    for vector, path in zip(
        meaning.vectors(["when is the ocean high", "salary payment"]), texts, strict=True
    ):
        hits = reader.nearest_static(vector, 2, ChunkFilter())
        assert reader.chunks([hits[0].chunk_id])[hits[0].chunk_id].path == path
        compared = reader.static_similarities([hit.chunk_id for hit in hits], vector)
        assert compared == pytest.approx({hit.chunk_id: hit.score for hit in hits}, abs=1e-5)
        assert np.all(np.diff([hit.score for hit in hits]) <= 0)
