"""The index follows a folder's git history and reads each commit once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve
from tests.git_repository import GitRepository
from tests.index.index_builders import file_touches, indexed, numbers

from cairn.index.indexing import git_history as git_history_module
from cairn.index.indexing.git_history import GitHistory, stored_commits
from cairn.index.store.deadline import never
from cairn.index.store.writer import IndexedFile, IndexWriter

LINES = "".join(f"line {number} = {number}\n" for number in range(40))


@pytest.fixture(autouse=True)
def _without_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


class Project:
    """A git repository and an index of its files."""

    def __init__(self, base: Path) -> None:
        self.repository = GitRepository(base / "project")
        self.root = self.repository.folder
        (base / "index").mkdir()
        self.writer = IndexWriter(base / "index")
        self.db = self.writer.db
        self.history = GitHistory(self.db, self.root)

    def update(self, stopped: Callable[[], bool] = never) -> bool:
        """Index the present files and update the history."""
        present = [path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts]
        texts = {path.relative_to(self.root).as_posix(): path.read_text() for path in present}
        known = set(self.writer.files())
        new = [indexed(path, text) for path, text in texts.items() if path not in known]
        self.writer.write(new, sorted(known - set(texts)))
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


def test_file_has_the_commits_that_touched_it(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES, "docs/tides.md": "# Tides\n"})
    project.repository.commit("Deepen the port", {"port.py": LINES + "deep = 1\n"})
    assert project.update()
    assert project.subjects("port.py", "docs/tides.md", "unknown.py") == {
        "port.py": ["Deepen the port", "Add the port"],
        "docs/tides.md": ["Add the port"],
    }
    (newest, oldest) = file_touches(project.db, ["port.py"])["port.py"]
    assert (newest.time, newest.files, oldest.time, oldest.files) == (1_700_000_120, 1, 1_700_000_060, 2)
    rows = project.db.execute("SELECT path, count, last_time FROM file_history ORDER BY path").fetchall()
    assert rows == [("docs/tides.md", 1, 1_700_000_060), ("port.py", 2, 1_700_000_120)]


def test_renamed_file_keeps_its_history(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.update()
    project.repository.commit("Rename it", {"harbour.py": LINES}, gone=["port.py"])
    assert project.update()
    assert project.subjects("harbour.py", "port.py") == {"harbour.py": ["Rename it", "Add the port"]}


def test_update_without_changes_does_nothing(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    assert project.update()
    before = project.writer.facts()
    assert not project.history.update(never)
    assert not GitHistory(project.db, project.root).update(never), "the history is known after a restart"
    assert project.writer.facts() == before


def test_commit_adds_a_block_and_changes_rows_of_its_files(project: Project) -> None:
    project.repository.commit("Add all", {f"src/{number}.py": f"{LINES}{number}\n" for number in range(20)})
    project.update()
    (block,) = project.blocks()
    project.repository.commit("Change one", {"src/7.py": LINES + "changed = 7\n"})
    before = project.db.total_changes()
    assert project.history.update(never)
    # The changed rows are its block, its file's history and subjects, and facts, but none of 19 other files.
    assert project.db.total_changes() - before < 20
    assert len(project.blocks()) == 2
    assert project.blocks()[0] == block
    assert project.subjects("src/7.py", "src/8.py") == {
        "src/7.py": ["Change one", "Add all"],
        "src/8.py": ["Add all"],
    }


def test_switching_back_to_a_branch_reads_nothing_again(project: Project) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.repository.git("switch", "--quiet", "--create", "side")
    project.repository.commit("On the side", {"port.py": LINES + "side = 1\n"})
    project.update()
    project.repository.git("switch", "--quiet", "main")
    project.repository.commit("On main", {"port.py": LINES + "main = 1\n"})
    project.update()
    blocks = project.blocks()
    assert project.subjects("port.py") == {"port.py": ["On main", "Add the port"]}
    project.repository.git("switch", "--quiet", "side")
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["On the side", "Add the port"]}
    project.repository.git("switch", "--quiet", "main")
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["On main", "Add the port"]}
    assert project.blocks() == blocks


def kept_subjects(project: Project) -> list[str]:
    return [commit.subject for _, commit in stored_commits(project.db)]


def test_subjects_of_commits_of_secrets_are_neither_kept_nor_read_again(project: Project) -> None:
    project.repository.commit("The lock is swordfish", {".env": "LOCK=swordfish\n"})
    project.repository.commit("Read the lock", {".env": "LOCK=tide\n", "port.py": LINES})
    project.repository.commit("Set the crane's code to swordfish", {"crane.yaml": "code: none\n"})
    project.update()
    assert kept_subjects(project) == ["Set the crane's code to swordfish", "Read the lock", ""]

    secret = indexed("crane.yaml", "code: none\n")
    project.writer.write([IndexedFile.left_out(secret.record)], ())
    assert project.history.update(never), "a file without text is as good as removed"
    assert kept_subjects(project) == ["", "Read the lock", ""]
    assert project.subjects("port.py", "crane.yaml") == {"port.py": ["Read the lock"]}
    words = project.db.execute("SELECT count(*) FROM subjects_fts WHERE subjects_fts MATCH 'swordfish'").get
    assert words == 0


def test_history_follows_files_without_a_commit(project: Project) -> None:
    project.repository.commit("Add both", {"port.py": LINES, "tides.py": LINES[::-1]})
    project.update()
    (project.root / "port.py").unlink()
    assert project.update()
    assert set(project.subjects("port.py", "tides.py")) == {"tides.py"}
    project.repository.git("checkout", "--quiet", "--", "port.py")
    assert project.update()
    assert project.subjects("port.py") == {"port.py": ["Add both"]}
    assert len(project.blocks()) == 1


def test_commits_are_found_in_all_blocks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_history_module, "COMMITS_IN_BLOCK", 2)
    for number in range(5):
        project.repository.commit(f"Commit {number}", {"port.py": f"{LINES}{number}\n"})
    project.update()
    assert project.blocks() == [1, 3, 5]
    assert project.subjects("port.py") == {"port.py": [f"Commit {number}" for number in (4, 3, 2, 1, 0)]}


def test_oldest_unreachable_commits_are_dropped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_history_module, "COMMITS_IN_BLOCK", 1)
    monkeypatch.setattr(git_history_module, "_KEPT_COMMITS", 4)
    project.repository.commit("Add the port", {"port.py": LINES})
    project.repository.git("switch", "--quiet", "--create", "side")
    for number in range(3):
        project.repository.commit(f"Side {number}", {"port.py": f"{LINES}side = {number}\n"})
    project.update()
    of_side = project.subjects("port.py")
    project.repository.git("switch", "--quiet", "main")
    subjects = ["Add the port"]
    for number in range(5):
        project.repository.commit(f"Main {number}", {"port.py": f"{LINES}main = {number}\n"})
        project.update()
        subjects.insert(0, f"Main {number}")
        assert project.subjects("port.py") == {"port.py": subjects}
    assert len(project.blocks()) == 6
    project.repository.git("switch", "--quiet", "side")
    project.update()
    assert project.subjects("port.py") == of_side


def test_update_continues_after_an_interruption(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        project.repository.commit(f"Commit {number}", {"port.py": f"{LINES}{number}\n"})
    assert project.update(stopped=lambda: True)
    assert project.subjects("port.py") == {}
    assert project.history.problem == ""
    assert project.history.update(never)
    assert project.subjects("port.py") == {"port.py": ["Commit 2", "Commit 1", "Commit 0"]}
    assert not project.history.update(never)


@pytest.mark.parametrize("repository", ["none", "unborn"])
def test_folder_without_commits_has_no_history_and_no_problem(tmp_path: Path, repository: str) -> None:
    root, folder = tmp_path / "plain", tmp_path / "index"
    folder.mkdir()
    if repository == "unborn":
        GitRepository(root)
    writer = IndexWriter(folder)
    writer.write([indexed("a.py", LINES)], ())
    history, before = GitHistory(writer.db, root), writer.facts()
    assert history.update(never)
    assert not history.update(never)
    after = evolve(before, history=before.paths)
    assert (history.problem, file_touches(writer.db, ["a.py"]), writer.facts()) == ("", {}, after)
    writer.close()


def test_unreadable_history_is_a_problem_that_passes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    monkeypatch.setenv("PATH", "")
    assert project.update()
    assert "git was not found" in project.history.problem
    monkeypatch.undo()
    project.repository.commit("Again", {"port.py": LINES + "again = 1\n"})
    assert project.history.update(never)
    assert project.history.problem == ""
    assert project.subjects("port.py") == {"port.py": ["Again", "Add the port"]}


def test_removed_repository_leaves_no_history_or_problem(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.repository.commit("Add the port", {"port.py": LINES})
    project.update()
    (project.root / ".git").rename(project.root.parent / "elsewhere")
    assert project.history.update(never)
    assert (project.subjects("port.py"), project.history.problem) == ({}, "")


def test_refused_repository_is_reported(project: Project, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / ".git").write_text(f"gitdir: {project.root / '.git'}\n")
    history = GitHistory(project.db, tmp_path / "archive")
    assert history.update(never)
    assert "is not this folder's" in history.problem
