"""Files belong together by name and by imports, and chunks have neighbours and a common vector."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import MadeUpModels, functions, indexed

from cairn.chunking.model import content_key
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.queries import relations
from cairn.index.queries.relations import file_stem, imports_around, vector_of_texts
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.settings.tree import Settings
from cairn.workspace.import_graph import ImportGraph


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("src/foo.c", "foo"),
        ("include/foo.h", "foo"),
        ("tests/test_foo.py", "foo"),
        ("pkg/foo_test.go", "foo"),
        ("web/Foo.module.css", "foo"),
        ("web/foo.spec.ts", "foo"),
        (".foo.yaml", "foo"),
        ("src/foo/index.ts", ""),
        ("src/foo/__init__.py", ""),
        ("README.md", ""),
    ],
)
def test_files_have_a_stem(path: str, stem: str) -> None:
    assert file_stem(path) == stem


@pytest.fixture
def reader(tmp_path: Path) -> OverlaidReader:
    (tmp_path / "data").mkdir()
    writer = IndexWriter(tmp_path / "data")
    files = [
        functions("src/long.py", 5),
        functions("src/other.py", 3, "rope"),
        indexed("src/test_long.py", "x = 1\n"),
    ]
    writer.write([*files, indexed("src/longer.py", "y = 1\n")], ())
    writer.close()
    (tmp_path / "port").mkdir()

    overlay = Overlay(tmp_path / "port", Settings, MadeUpModels(None))
    return OverlaidReader(SqliteReader(tmp_path / "data"), overlay)


def test_several_texts_have_a_mean_vector() -> None:
    found = vector_of_texts("table", np.array([[127, 0, 0], [0, 127, 0]], np.int8))
    np.testing.assert_array_equal(found.static, np.rint(127 * np.array([1, 1, 0]) / np.sqrt(2)))
    assert vector_of_texts("table", np.array([[127, 0], [-127, 0]], np.int8)).static is None


def test_neighbours_include_unsaved_chunks(reader: OverlaidReader) -> None:
    typed = functions("src/other.py", 4, "anchor")
    reader.overlay.changed("src/other.py", "".join(chunk.text for chunk in typed.chunks))
    reader.show_unsaved()
    found = reader.neighbours([("src/other.py", 1), ("src/long.py", 1)], 1)
    assert [stored.chunk.symbol for stored in found["src/other.py", 1]] == ["anchor_0", "anchor_2"]
    assert [stored.chunk.symbol for stored in found["src/long.py", 1]] == ["ship_0", "ship_2"]


def test_the_import_graph_agrees_with_its_counts() -> None:
    imports = {"a.py": ("py:b", "py:c"), "b.py": ("py:c",), "c.py": ("py:c", "py:nowhere"), "d.py": ()}
    graph = ImportGraph(imports)
    counts = {path: len(graph.importers(path)) for path in imports}
    assert {path: count for path, count in counts.items() if count} == graph.in_degrees()
    assert graph.importers("c.py") == ("a.py", "b.py")
    assert graph.imported("a.py", imports["a.py"]) == {"b.py", "c.py"}
    assert graph.imported("new.py", ("py:d",)) == {"d.py"}


def test_an_updated_graph_equals_a_new_one() -> None:
    imports = {"a.py": ("py:b",), "b.py": (), "c.py": ("py:b",), "Up.java": ("=java:x/Up",)}
    graph = ImportGraph(imports)
    assert graph.changed("a.py", ("py:c",))
    new = ImportGraph({**imports, "a.py": ("py:c",)})
    assert all(graph.importers(path) == new.importers(path) for path in imports)
    assert graph.importers("b.py") == ("c.py",)
    assert not graph.changed("Up.java", ("=java:y/Up",)), "other files import it by its name"


def importing(path: str, text: str) -> IndexedFile:
    return IndexedFile.of(FileRecord(path, len(text), 1, content_key(text), "p-source"), text)


def test_the_import_graph_follows_the_index(reader: OverlaidReader) -> None:
    assert imports_around(reader, "src/long.py") == (frozenset(), ())
    with contextlib.closing(IndexWriter(reader.folder)) as writer:
        writer.write([importing("src/other.py", "import long\n")], ())
        assert imports_around(reader, "src/long.py") == (frozenset(), ("src/other.py",))
        assert imports_around(reader, "src/other.py") == (frozenset({"src/long.py"}), ())
        writer.write([], ["src/other.py"])
        assert imports_around(reader, "src/long.py") == (frozenset(), ())


def test_the_import_graph_of_a_large_index_is_refreshed_by_a_thread(
    reader: OverlaidReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MANY_CHUNKS", 0)
    monkeypatch.setattr(relations, "due_again", lambda began: began)
    assert imports_around(reader, "src/long.py") == (frozenset(), ())
    with contextlib.closing(IndexWriter(reader.folder)) as writer:
        writer.write([importing("src/other.py", "import long\n")], ())
    with monkeypatch.context() as paused:
        paused.setattr(relations, "_make_graph", lambda reader: None)
        assert imports_around(reader, "src/long.py") == (frozenset(), ())
    ends = time.monotonic() + 60
    while imports_around(reader, "src/long.py") != (frozenset(), ("src/other.py",)):
        assert time.monotonic() < ends, "the graph was not refreshed"
        time.sleep(0.005)
