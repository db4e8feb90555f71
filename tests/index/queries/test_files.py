"""Whole files are found by words of their paths, by pieces of paths, and by the subjects of their commits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.index.index_builders import IndexedRepository, indexed

from cairn.chunking.model import content_key
from cairn.errors import QueryCancelledError
from cairn.index.queries.file_queries import (
    best_by_file,
    files_at,
    files_by_path,
    files_by_subjects,
    shortest_ends,
)
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import ended_by, never
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter

FILES = dict.fromkeys(
    (
        "src/moor.py", "src/port/moor_ships.py", "src/port/crane.py", "port/readme.md", "app/[slug]/page.tsx",
        "app/s/page.tsx", "app/[...all]/route.ts", "odd/a*b.py", "odd/aXb.py", "odd/what?.py",
        "odd/100%_done.py",
    ),
    "x = 1\n",
)  # fmt: skip
LINES = "".join(f"line {number} = {number}\n" for number in range(40))


@pytest.fixture(autouse=True)
def _no_configuration_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def writer(writer: IndexWriter) -> IndexWriter:
    """The index of FILES with a picture, which is not text."""
    picture = FileRecord("src/moor.png", 9, 0, content_key("png"), "p-source")
    writer.write([IndexedFile(picture, "source", False, ())], ())
    return writer


# --- ends of paths ---------------------------------------------------------------------------------


def test_an_end_names_one_file_alone(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([indexed("moor.py", "x = 1\n")], ())
    ends = {
        "src/port/crane.py": "crane.py",
        "src/moor.py": "src/moor.py",
        "moor.py": "moor.py",
        "app/[slug]/page.tsx": "[slug]/page.tsx",
        "app/s/page.tsx": "s/page.tsx",
    }
    assert shortest_ends([reader], list(ends)) == ends
    assert shortest_ends([reader, reader], ["src/port/crane.py"]) == {
        "src/port/crane.py": "src/port/crane.py"
    }
    assert shortest_ends([reader], []) == {}


# --- words of paths --------------------------------------------------------------------------------


def test_words_of_names_outrank_words_of_folders(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([indexed("crane/other.py", "x = 1\n")], ())
    assert files_by_path(reader, '"crane"', 10) == ["src/port/crane.py", "crane/other.py"]
    assert files_by_path(reader, '"crane"', 1) == ["src/port/crane.py"]


def test_deleted_files_are_not_found(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write((), ["src/port/crane.py"])
    assert files_by_path(reader, '"crane"', 10) == []
    writer.write([indexed("src/tide.py", "x = 1\n")], ())  # reuses the free row
    assert files_by_path(reader, '"crane"', 10) == []
    assert files_by_path(reader, '"tide"', 10) == ["src/tide.py"]


def test_cancelled_queries_raise(writer: IndexWriter, reader: IndexReader) -> None:
    writer.write([indexed(f"many/moor{n}.py", "x = 1\n") for n in range(1_000)], ())
    with pytest.raises(QueryCancelledError), ended_by(lambda: True):
        files_by_path(reader, '"many"', 10)


# --- pieces of paths -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fragments", "found"),
    [
        (["src/moor.py"], ["src/moor.py"]),
        (["moor.py"], ["src/moor.py"]),
        (["oor.py"], []),
        (["moor"], []),
        (["src/port"], ["src/port/crane.py", "src/port/moor_ships.py"]),
        (["port/"], ["port/readme.md", "src/port/crane.py", "src/port/moor_ships.py"]),
        (["/home/ada/work/src/moor.py"], ["src/moor.py"]),
        (["amoor.py/src/moor.py"], ["src/moor.py"]),
        (["xsrc/moor.py"], []),
        (["moor*.py"], ["src/moor.py", "src/port/moor_ships.py"]),
        (["src/*/crane.py"], ["src/port/crane.py"]),
        (["app/[slug]/page.tsx"], ["app/s/page.tsx", "app/[slug]/page.tsx"]),  # also a glob
        (["[slug]"], ["app/s/page.tsx", "app/[slug]/page.tsx"]),
        (["/work/app/[slug]/page.tsx"], ["app/[slug]/page.tsx"]),
        (["[...all]/route.ts"], ["app/[...all]/route.ts"]),
        (["[unclosed"], []),
        (["a*b.py"], ["odd/a*b.py", "odd/aXb.py"]),
        (["/x/odd/aXb.py"], ["odd/aXb.py"]),  # paths are no globs, so not `odd/a*b.py`
        (["what?.py"], ["odd/what?.py"]),
        (["100%_done.py"], ["odd/100%_done.py"]),
        (["crane.py", "moor.py"], ["src/moor.py", "src/port/crane.py"]),
        (["moor.png"], []),
        ([""], []),
        (["/"], []),
        ([], []),
    ],
)
def test_files_are_found_by_pieces_of_their_paths(
    reader: IndexReader, fragments: Sequence[str], found: list[str]
) -> None:
    assert files_at(reader, fragments, 20) == found


@given(
    path=st.text(
        st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8
    ).filter(lambda name: name.strip("/")),
)  # fmt: skip
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_file_is_found_by_its_path(writer: IndexWriter, reader: IndexReader, path: str) -> None:
    whole = f"any/{path}/file.py"
    writer.write([indexed(whole, "x = 1\n")], ())
    for fragment in (whole, f"{path}/file.py", f"/home/ada/{whole}"):
        assert whole in files_at(reader, [fragment], 1000)
    writer.write((), [whole])


# --- subjects of commits ---------------------------------------------------------------------------


class Project(IndexedRepository):
    def about(self, match: str) -> list[str]:
        return best_by_file(files_by_subjects(SqliteReader(self.writer.folder), match), 10)


@pytest.fixture
def project(tmp_path: Path, writer: IndexWriter) -> Project:
    project = Project(tmp_path / "project", writer)
    project.repository.commit("Moor ships by rope", {"port.py": LINES, "crane.py": LINES[::-1]})
    project.repository.commit("Fix moorShip when the tide is high", {"port.py": LINES + "tide = 1\n"})
    project.repository.commit("Sweep", {f"many/{n}.py": f"{LINES}{n}\n" for n in range(12)})
    project.update()
    return project


def test_files_are_found_by_subjects_of_their_commits(project: Project) -> None:
    assert set(project.about('"rope"')) == {"port.py", "crane.py"}
    assert project.about('"tides"') == ["port.py"]
    assert project.about('"moor" OR "tide"') == ["port.py", "crane.py"]
    assert project.about('"moorShip"') == project.about('"moor" AND "tide"') == ["port.py"]
    assert project.about('"barnacle"') == project.about("") == []


def test_commits_of_very_many_files_do_not_count(project: Project) -> None:
    assert project.about('"sweep"') == []


def test_renamed_files_keep_their_subjects(project: Project) -> None:
    project.repository.commit("Rename it", {"harbour.py": LINES + "tide = 1\n"}, gone=["port.py"])
    project.update()
    assert project.about('"tide"') == ["harbour.py"]


def test_restored_files_are_found_in_a_new_or_their_old_row(project: Project) -> None:
    def restore(*files_between: str) -> list[str]:
        (project.root / "port.py").unlink()
        project.update()
        assert project.about('"tide"') == []
        for path in files_between:
            (project.root / path).write_text("x = 1\n")
        project.update()
        (project.root / "port.py").write_text(LINES)
        project.update()
        return project.about('"tide"')

    assert restore("one.py", "two.py") == ["port.py"]
    assert restore() == ["port.py"]


def test_files_restored_between_two_updates_are_found(project: Project) -> None:
    (last,) = project.writer.db.execute("SELECT path FROM files ORDER BY id DESC LIMIT 1").fetchall()
    path = str(last[0])
    project.repository.commit("About barnacles", {path: "x = 2\n"})
    project.update()
    assert project.about('"barnacles"') == [path]
    before = project.writer.db.execute("SELECT id FROM files WHERE path = ?", (path,)).get
    project.writer.write((), [path])
    project.writer.write([indexed(path, "x = 3\n")], ())
    assert project.writer.db.execute("SELECT id FROM files WHERE path = ?", (path,)).get == before
    project.history.update(never)
    assert project.about('"barnacles"') == [path]
