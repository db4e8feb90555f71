"""The index follows a folder's git history and its imports, and reads each commit once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve
from tests.index.index_builders import Repository, file_touches, indexed, numbers

from cairn.index.indexing import git_history as surroundings_module
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.links import count_links, store_links
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter

LINES = "".join(f"line {number} = {number}\n" for number in range(40))


def never() -> bool:
    return False


@pytest.fixture(autouse=True)
def _no_configuration_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


class Project:
    """A repository and an index of its files."""

    def __init__(self, base: Path) -> None:
        self.repository = Repository(base / "project")
        self.root = self.repository.root
        (base / "index").mkdir()
        self.writer = IndexWriter(base / "index")
        self.db = self.writer.db
        self.history = GitHistory(self.db, self.root)

    def look(self, stopped: Callable[[], bool] = never) -> bool:
        """Index the files that are there, and follow the history."""
        present = [path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts]
        texts = {path.relative_to(self.root).as_posix(): path.read_text() for path in present}
        known = set(self.writer.files())
        self.writer.write(
            [indexed(path, text) for path, text in texts.items() if path not in known],
            sorted(known - set(texts)),
        )
        return self.history.update(stopped)

    def subjects(self, *paths: str) -> dict[str, list[str]]:
        touches = file_touches(self.db, paths)
        return {path: [touch.subject for touch in touches[path]] for path in touches}

    def blocks(self) -> list[int]:
        return numbers(self.db, "SELECT first FROM commits ORDER BY first")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    project.writer.close()


def test_each_file_knows_the_commits_that_touched_it(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES, "docs/tides.md": "# Tides\n"})
    project.repository.commit("Deepen the port", {"port.py": LINES + "deep = 1\n"})
    assert project.look()
    assert project.subjects("port.py", "docs/tides.md", "unknown.py") == {
        "port.py": ["Deepen the port", "Add the port"],
        "docs/tides.md": ["Add the port"],
    }
    (newest, oldest) = file_touches(project.db, ["port.py"])["port.py"]
    assert (newest.time, newest.files, oldest.time, oldest.files) == (1_700_000_002, 1, 1_700_000_001, 2)
    rows = project.db.execute("SELECT path, count, last_time FROM file_history ORDER BY path").fetchall()
    assert rows == [("docs/tides.md", 1, 1_700_000_001), ("port.py", 2, 1_700_000_002)]


def test_a_renamed_file_keeps_its_history(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.look()
    project.repository.commit("Rename it", {"harbour.py": LINES}, gone=["port.py"])
    assert project.look()
    assert project.subjects("harbour.py", "port.py") == {"harbour.py": ["Rename it", "Add the port"]}


def test_where_nothing_moved_nothing_is_done(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    assert project.look()
    before = project.writer.facts()
    assert not project.history.update(never)
    assert not GitHistory(project.db, project.root).update(never), "it is known over a restart as well"
    assert project.writer.facts() == before


def test_a_commit_adds_one_block_and_changes_the_rows_of_its_files(project: Project) -> None:
    project.repository.commit("Add all", {f"src/{number}.py": f"{LINES}{number}\n" for number in range(20)})
    project.look()
    (block,) = project.blocks()
    project.repository.commit("Change one", {"src/7.py": LINES + "changed = 7\n"})
    before = project.db.total_changes()
    assert project.history.update(never)
    # Rows of its block, of its file's history and subjects, and of the facts; none of the other 19 files.
    assert project.db.total_changes() - before < 20
    assert len(project.blocks()) == 2
    assert project.blocks()[0] == block
    assert project.subjects("src/7.py", "src/8.py") == {
        "src/7.py": ["Change one", "Add all"],
        "src/8.py": ["Add all"],
    }


def test_a_switch_to_another_branch_and_back_reads_nothing_anew(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.repository.git("switch", "--quiet", "--create", "side")
    project.repository.commit("On the side", {"port.py": LINES + "side = 1\n"})
    project.look()
    project.repository.git("switch", "--quiet", "main")
    project.repository.commit("On main", {"port.py": LINES + "main = 1\n"})
    project.look()
    blocks = project.blocks()
    assert project.subjects("port.py") == {"port.py": ["On main", "Add the port"]}
    project.repository.git("switch", "--quiet", "side")
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["On the side", "Add the port"]}
    project.repository.git("switch", "--quiet", "main")
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["On main", "Add the port"]}
    assert project.blocks() == blocks


def test_files_that_come_and_go_are_followed_without_a_commit(project: Project) -> None:
    project.repository.commit("Add both", {"port.py": LINES, "tides.py": LINES[::-1]})
    project.look()
    (project.root / "port.py").unlink()
    assert project.look()
    assert set(project.subjects("port.py", "tides.py")) == {"tides.py"}
    project.repository.git("checkout", "--quiet", "--", "port.py")
    assert project.look()
    assert project.subjects("port.py") == {"port.py": ["Add both"]}
    blocks = project.blocks()
    assert len(blocks) == 1


def test_commits_are_packed_in_blocks_and_found_in_each(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings_module, "COMMITS_IN_BLOCK", 2)
    for number in range(5):
        project.repository.commit(f"Commit {number}", {"port.py": f"{LINES}{number}\n"})
    project.look()
    assert project.blocks() == [1, 3, 5]
    assert project.subjects("port.py") == {"port.py": [f"Commit {number}" for number in (4, 3, 2, 1, 0)]}


def test_of_too_many_commits_those_go_that_head_does_not_reach(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings_module, "COMMITS_IN_BLOCK", 1)
    monkeypatch.setattr(surroundings_module, "_KEPT_COMMITS", 4)
    project.repository.commit("Add the port", {"port.py": LINES})
    project.repository.git("switch", "--quiet", "--create", "side")
    for number in range(3):
        project.repository.commit(f"Side {number}", {"port.py": f"{LINES}side = {number}\n"})
    project.look()
    aside = project.subjects("port.py")
    project.repository.git("switch", "--quiet", "main")
    subjects = ["Add the port"]
    for number in range(5):
        project.repository.commit(f"Main {number}", {"port.py": f"{LINES}main = {number}\n"})
        project.look()
        subjects.insert(0, f"Main {number}")
        assert project.subjects("port.py") == {"port.py": subjects}
    assert len(project.blocks()) == 6
    project.repository.git("switch", "--quiet", "side")
    project.look()
    assert project.subjects("port.py") == aside


def test_an_interruption_keeps_what_was_read_and_the_next_look_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        project.repository.commit(f"Commit {number}", {"port.py": f"{LINES}{number}\n"})
    assert project.look(stopped=lambda: True)
    assert project.subjects("port.py") == {}
    assert project.history.problem == ""
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["Commit 2", "Commit 1", "Commit 0"]}
    assert not project.history.update(never)


@pytest.mark.parametrize("repository", ["none", "unborn"])
def test_where_there_are_no_commits_there_is_no_history_and_no_problem(
    tmp_path: Path, repository: str
) -> None:
    root, folder = tmp_path / "plain", tmp_path / "index"
    folder.mkdir()
    if repository == "unborn":
        Repository(root)
    writer = IndexWriter(folder)
    writer.write([indexed("a.py", LINES)], ())
    history, before = GitHistory(writer.db, root), writer.facts()
    assert history.update(never)
    assert not history.update(never)
    after = evolve(before, history=before.paths)
    assert (history.problem, file_touches(writer.db, ["a.py"]), writer.facts()) == ("", {}, after)
    writer.close()


def test_a_history_that_cannot_be_read_says_why_until_it_can(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    monkeypatch.setenv("PATH", "")
    assert project.look()
    assert "git was not found" in project.history.problem
    monkeypatch.undo()
    project.repository.commit("Again", {"port.py": LINES + "again = 1\n"})
    assert project.history.update(never)
    assert project.history.problem == ""
    assert project.subjects("port.py") == {"port.py": ["Again", "Add the port"]}


def test_a_repository_that_goes_takes_its_history_and_its_problem_along(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.look()
    (project.root / ".git").rename(project.root.parent / "elsewhere")
    assert project.history.update(never)
    assert (project.subjects("port.py"), project.history.problem) == ({}, "")


# --- imports ---------------------------------------------------------------------------------------


def save(writer: IndexWriter, path: str, text: str) -> None:
    record = FileRecord(path, len(text), 0, "00" * 16, "project-source")
    writer.write([IndexedFile.of(record, text)], ())


def in_degrees(writer: IndexWriter) -> dict[object, object]:
    store_links(writer.db, count_links(writer.db))
    return dict(writer.db.execute("SELECT path, in_degree FROM file_imports").fetchall())


def test_in_degrees_follow_edits(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    save(writer, "port/berth.py", "SIZE = 1\n")
    save(writer, "port/ship.py", "from port import berth\n")
    save(writer, "port/crane.py", "from port.berth import SIZE\nimport port.ship\n")
    assert in_degrees(writer) == {"port/berth.py": 2, "port/ship.py": 1}
    save(writer, "port/crane.py", "import os\n")
    assert in_degrees(writer) == {"port/berth.py": 1}
    writer.write((), ["port/berth.py"])
    assert in_degrees(writer) == {}
    writer.close()


def test_counting_imports_again_changes_nothing(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    save(writer, "a.py", "import b\n")
    save(writer, "b.py", "x = 1\n")
    before = writer.facts()
    assert in_degrees(writer) == {"b.py": 1}
    counted = writer.facts()
    assert counted.generation > before.generation
    assert counted.content == before.content
    assert in_degrees(writer) == {"b.py": 1}
    assert writer.facts() == counted
    writer.close()
