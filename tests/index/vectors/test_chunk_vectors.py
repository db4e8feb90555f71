"""Readers return the vectors of chunks, with and without unsaved text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.index_builders import MadeUpModels

from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.intake import Intake
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import never
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import VectorStore
from cairn.settings.tree import Settings

MODEL = "m@1"
DIMENSION = 4
NAMES = ("berths", "cranes", "ships", "tides")
TEXTS = {f"{name}.md": f"# {name}\n\nAll about {name} in a port.\n" for name in NAMES}
LATE = "tides.md"
"""The file whose chunk has no vector."""


class Port:
    """An index whose chunks have made-up vectors of various lengths, except for that of LATE."""

    def __init__(self, base: Path) -> None:
        self.root = base / "port"
        self.root.mkdir()
        (base / "data").mkdir()
        for path, text in TEXTS.items():
            (self.root / path).write_text(text)
        self.writer = IndexWriter(base / "data")
        Intake(self.root, self.writer, Progress(), never, lambda: None).reconcile(Settings().index)
        self.overlay = Overlay(self.root, Settings, MadeUpModels(name=None))
        self.reader = OverlaidReader(SqliteReader(base / "data"), self.overlay)
        self.alone = SqliteReader(base / "data")
        store = VectorStore(self.writer.db)
        model = store.use_model(MODEL, DIMENSION)
        ids = [self.id_of(path) for path in TEXTS if path != LATE]
        keys = [text.key for text in store.texts(ids, model)]
        self.stored = np.array([[3, 4, 0, 0], [0, 0.5, 0, 0], [1, 1, 1, 1]], np.float32)
        store.store(model, keys, self.stored, queued=1)

    def id_of(self, path: str) -> int:
        (stored,) = self.reader.page(path)
        return stored.id

    def type(self, path: str, text: str) -> int:
        """Open the file with this text; return the id of the unsaved chunk."""
        self.overlay.changed(path, text)
        self.reader.show_unsaved()
        return self.id_of(path)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    port = Port(tmp_path)
    yield port
    port.overlay.close()
    port.writer.close()


def unit(row: NDArray[np.float32]) -> NDArray[np.float32]:
    return row / np.linalg.norm(row)  # type: ignore[no-any-return]


@pytest.mark.parametrize("overlaid", [False, True])
def test_reader_returns_vectors_of_unit_length(port: Port, overlaid: bool) -> None:
    reader = port.reader if overlaid else port.alone
    berths, cranes, ships, tides = map(port.id_of, TEXTS)
    of = dict(zip((berths, cranes, ships), port.stored, strict=True))
    for wanted in ([berths, cranes, ships], [ships, berths], [cranes], [ships, tides, berths], [tides], []):
        ids, vectors = reader.vectors(wanted, DIMENSION, MODEL)
        assert ids == [each for each in wanted if each != tides]
        assert (vectors.shape, vectors.dtype) == ((len(ids), DIMENSION), np.float32)
        for chunk, vector in zip(ids, vectors, strict=True):
            assert vector == pytest.approx(unit(of[chunk]), abs=1e-6)


@pytest.mark.parametrize("overlaid", [False, True])
def test_unknown_chunks_and_models_have_no_vectors(port: Port, overlaid: bool) -> None:
    reader = port.reader if overlaid else port.alone
    berths = port.id_of("berths.md")
    unknown = [10_000, -10_000] if overlaid else [10_000]
    ids, vectors = reader.vectors([berths, *unknown], DIMENSION, MODEL)
    assert (ids, vectors.shape) == ([berths], (1, DIMENSION))
    ids, vectors = reader.vectors([berths], DIMENSION, "other@1")
    assert (ids, vectors.shape) == ([], (0, DIMENSION))


def test_missing_index_has_no_vectors(tmp_path: Path) -> None:
    ids, vectors = SqliteReader(tmp_path).vectors([1, 2], DIMENSION, MODEL)
    assert (ids, vectors.shape) == ([], (0, DIMENSION))


def test_unsaved_text_has_the_vector_of_an_equal_indexed_text(port: Port) -> None:
    berths, cranes = port.id_of("berths.md"), port.id_of("cranes.md")
    typed = port.type("cranes.md", TEXTS["cranes.md"] + "\n")
    new = port.type("ships.md", "# Ships\n\nThis text is new.\n")
    assert len({berths, cranes, typed, new}) == 4
    ids, vectors = port.reader.vectors([new, typed, berths], DIMENSION, MODEL)
    assert sorted(ids) == sorted([typed, berths])
    of = dict(zip(ids, vectors, strict=True))
    assert of[typed] == pytest.approx(unit(port.stored[1]), abs=1e-6)
    assert of[berths] == pytest.approx(unit(port.stored[0]), abs=1e-6)
    ids, vectors = port.reader.vectors([new], DIMENSION, MODEL)
    assert (ids, vectors.shape) == ([], (0, DIMENSION))
