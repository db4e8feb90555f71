"""What an index knows of how files belong together, and of what stands around a chunk."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import functions, indexed

from cairn.chunking.model import content_key
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.queries import relations
from cairn.index.queries.relations import (
    file_stem,
    imports_around,
    same_stem,
    vector_of_texts,
)
from cairn.index.queries.symbols import definitions_of
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.settings.tree import Settings
from cairn.workspace.imports import ImportGraph


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
def test_what_a_file_is_called_after(path: str, stem: str) -> None:
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

    class NoModels:
        def installed(self) -> None:
            return None

        def embedder(self) -> None:
            return None

        def packaged(self) -> None:
            return None

        def static_table(self) -> None:
            return None

    return OverlaidReader(SqliteReader(tmp_path / "data"), Overlay(tmp_path / "port", Settings, NoModels()))


def test_the_vector_of_several_texts_has_what_they_have_in_common() -> None:
    found = vector_of_texts("table", np.array([[127, 0, 0], [0, 127, 0]], np.int8))
    np.testing.assert_array_equal(found.static, np.rint(127 * np.array([1, 1, 0]) / np.sqrt(2)))
    assert vector_of_texts("table", np.array([[127, 0], [-127, 0]], np.int8)).static is None


def test_neighbours_of_many_chunks_are_those_of_each(reader: OverlaidReader) -> None:
    places = [
        ("src/long.py", 0),
        ("src/long.py", 2),
        ("src/other.py", 2),
        ("src/gone.py", 0),
        ("src/test_long.py", 0),
    ]
    found = reader.neighbours(places, 1)
    for path, position in places:
        beside = [stored for stored in reader.page(path) if abs(stored.chunk.position - position) == 1]
        assert found.get((path, position), []) == beside
    assert [stored.chunk.position for stored in found["src/long.py", 2]] == [1, 3]
    assert reader.neighbours([], 1) == {}


def test_neighbours_are_those_on_the_screen(reader: OverlaidReader) -> None:
    typed = functions("src/other.py", 4, "anchor")
    reader.overlay.changed("src/other.py", "".join(chunk.text for chunk in typed.chunks))
    reader.show_unsaved()
    found = reader.neighbours([("src/other.py", 1), ("src/long.py", 1)], 1)
    assert [stored.chunk.symbol for stored in found["src/other.py", 1]] == ["anchor_0", "anchor_2"]
    assert [stored.chunk.symbol for stored in found["src/long.py", 1]] == ["ship_0", "ship_2"]


def test_files_of_the_same_name_are_found(reader: OverlaidReader) -> None:
    assert same_stem(reader, "src/long.py") == ["src/test_long.py"]
    assert same_stem(reader, "src/__init__.py") == []


def test_definitions_are_of_the_very_name(reader: OverlaidReader) -> None:
    found = definitions_of(reader, ["ship_1", "SHIP_2", "rope_0", "nothing"])
    assert {(each.name, each.path) for each in found} == {
        ("ship_1", "src/long.py"),
        ("rope_0", "src/other.py"),
    }


def test_the_graph_of_imports_agrees_with_their_counts() -> None:
    imports = {
        "a.py": ("py:b", "py:c"),
        "b.py": ("py:c",),
        "c.py": ("py:c", "py:nowhere"),
        "d.py": (),
    }
    graph = ImportGraph(imports)
    counts = {path: len(graph.importers(path)) for path in imports}
    assert {path: count for path, count in counts.items() if count} == graph.in_degrees()
    assert graph.importers("c.py") == ("a.py", "b.py")
    assert graph.imported("a.py", imports["a.py"]) == {"b.py", "c.py"}
    assert graph.imported("new.py", ("py:d",)) == {"d.py"}


def test_a_graph_that_takes_changes_in_is_the_one_made_anew() -> None:
    imports = {"a.py": ("py:b",), "b.py": (), "c.py": ("py:b",), "Up.java": ("=java:x/Up",)}
    graph = ImportGraph(imports)
    assert graph.changed("a.py", ("py:c",))
    anew = ImportGraph({**imports, "a.py": ("py:c",)})
    assert all(graph.importers(path) == anew.importers(path) for path in imports)
    assert graph.importers("b.py") == ("c.py",)
    assert not graph.changed("Up.java", ("=java:y/Up",)), "others find it by its name"


def test_the_graph_follows_the_index(reader: OverlaidReader, tmp_path: Path) -> None:
    assert imports_around(reader, "src/long.py") == (frozenset(), ())
    writer = IndexWriter(tmp_path / "data")
    text = "import long\n"
    record = FileRecord("src/other.py", len(text), 1, content_key(text), "p-source")
    writer.write([IndexedFile.of(record, text)], ())
    assert imports_around(reader, "src/long.py") == (frozenset(), ("src/other.py",))
    assert imports_around(reader, "src/other.py") == (frozenset({"src/long.py"}), ())
    writer.write([], ["src/other.py"])
    assert imports_around(reader, "src/long.py") == (frozenset(), ())
    writer.close()


def test_imports_of_a_large_index_are_those_of_a_moment_ago_while_a_thread_reads_them(
    reader: OverlaidReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MANY_CHUNKS", 0)
    monkeypatch.setattr(relations, "due_again", lambda began: began)
    assert imports_around(reader, "src/long.py") == (frozenset(), ())
    writer = IndexWriter(tmp_path / "data")
    text = "import long\n"
    record = FileRecord("src/other.py", len(text), 1, content_key(text), "p-source")
    writer.write([IndexedFile.of(record, text)], ())
    with monkeypatch.context() as paused:
        paused.setattr(relations, "_make_graph", lambda reader: None)
        assert imports_around(reader, "src/long.py") == (frozenset(), ())
    ends = time.monotonic() + 60
    while imports_around(reader, "src/long.py") != (frozenset(), ("src/other.py",)):
        assert time.monotonic() < ends, "they were never read"
        time.sleep(0.005)
    writer.close()
