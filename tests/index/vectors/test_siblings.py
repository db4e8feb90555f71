"""Vectors are found in other indexes on the machine."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import DIMENSION, embed_rest, functions, made_up

from cairn.index.store.database import DATABASE_NAME, PREVIOUS_NAME
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors import vector_intake as siblings_module
from cairn.index.vectors.vector_intake import Siblings
from cairn.index.vectors.vector_store import VectorStore

MODEL = "m@1"


class Place:
    """A folder with the indexes of one user."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.here = base / "here"
        self.here.mkdir(parents=True)

    def index(self, name: str, word: str = "ship", model: str = MODEL) -> dict[bytes, bytes]:
        """Create an index; return its vectors by key."""
        (self.base / name).mkdir(exist_ok=True)
        writer = IndexWriter(self.base / name)
        ids = writer.write([functions(f"{word}.py", 3, word)], ())
        store = VectorStore(writer.db)
        texts = store.texts(ids)
        embed_rest(store, store.use_model(model, DIMENSION))
        writer.close()
        return {text.key: made_up(text.text).tobytes() for text in texts}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "workspaces")


def look_up(place: Place, keys: dict[bytes, bytes], model: str = MODEL) -> dict[bytes, bytes]:
    with closing(Siblings(place.here, model)) as siblings:
        return siblings.look_up(keys)


def test_look_up_finds_vectors_in_all_other_indexes(place: Place) -> None:
    first, second = place.index("first", "ship"), place.index("second", "tide")
    assert look_up(place, {**first, **second, b"0" * 16: b""}) == {**first, **second}


def test_look_up_finds_only_requested_vectors(place: Place) -> None:
    known = place.index("first")
    key, vector = next(iter(known.items()))
    assert look_up(place, {key: b""}) == {key: vector}
    assert np.frombuffer(vector, np.float32).shape == (DIMENSION,)
    assert look_up(place, {}) == {}


def test_look_up_ignores_vectors_of_another_model(place: Place) -> None:
    known = place.index("first", model="m@2")
    assert look_up(place, known) == {}
    assert look_up(place, known, "m@2") == known


def test_look_up_reads_the_previous_index_of_the_folder(place: Place) -> None:
    known = place.index("here")
    assert look_up(place, known) == {}
    (place.here / DATABASE_NAME).rename(place.here / PREVIOUS_NAME)
    assert look_up(place, known) == known


@pytest.mark.parametrize("content", [b"", b"no database at all" * 500])
def test_look_up_ignores_invalid_files(place: Place, content: bytes) -> None:
    known = place.index("second")
    (place.base / "first").mkdir()
    (place.base / "first" / DATABASE_NAME).write_bytes(content)
    (place.base / "third" / DATABASE_NAME).mkdir(parents=True)
    assert look_up(place, known) == known


def test_look_up_ignores_an_index_that_breaks(place: Place) -> None:
    known = place.index("second")
    place.index("first")
    os.utime(place.base / "second" / DATABASE_NAME, (1, 1))  # so that the other one is read first
    with closing(Siblings(place.here, MODEL)) as siblings:
        writer = IndexWriter(place.base / "first")
        writer.db.execute("DROP TABLE vectors_1")
        writer.close()
        assert siblings.look_up(known) == known


def test_other_indexes_are_writable_during_look_ups(place: Place) -> None:
    known = place.index("first")
    with closing(Siblings(place.here, MODEL)) as siblings:
        assert siblings.look_up(known) == known
        writer = IndexWriter(place.base / "first")
        store = VectorStore(writer.db)
        more = writer.write([functions("late.py", 2, "late")], ())
        embed_rest(store, store.use_model(MODEL, DIMENSION))
        keys = {text.key: made_up(text.text).tobytes() for text in store.texts(more)}
        assert siblings.look_up(keys) == keys
        writer.close()


def test_look_up_reads_the_latest_of_many_indexes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siblings_module, "_MOST", 1)
    old, new = place.index("old", "ship"), place.index("new", "tide")
    os.utime(place.base / "old" / DATABASE_NAME, (1, 1))
    assert look_up(place, {**old, **new}) == new
