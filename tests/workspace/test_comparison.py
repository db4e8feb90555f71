"""The indexed files of a folder are compared with a commit, without git's filters and settings."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.git_repository import GitRepository

from cairn.settings.tree import IndexSettings
from cairn.workspace import comparison
from cairn.workspace.comparison import Compared, Comparison
from cairn.workspace.git import GitError
from cairn.workspace.repository import open_repository
from cairn.workspace.scan import FileRules, read_bytes


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    found = GitRepository(tmp_path / "project")
    found.commit("First", a__py="a\n", b__py="b\n")
    return found


def compared(project: GitRepository, kept: Comparison | None = None, **settings: tuple[str, ...]) -> Compared:
    commit = project.git("rev-parse", "HEAD")
    rules = FileRules(project.folder, IndexSettings(**settings))  # type: ignore[arg-type]
    used = kept or Comparison(project.folder)
    return used.compare(open_repository(project.folder), commit, rules, time.monotonic() + 60)


def test_changed_new_and_missing_files_differ(project: GitRepository) -> None:
    assert compared(project) == Compared((), frozenset({"a.py", "b.py"}))
    project.write({"a.py": "A\n", "new/c.py": "c\n"})
    (project.folder / "b.py").unlink()
    assert compared(project) == Compared(("a.py", "new/c.py"), frozenset())


def test_excluded_files_are_neither_the_same_nor_differing(project: GitRepository) -> None:
    project.write({".gitignore": "*.log\n", "run.log": "x", ".env": "KEY=1", "a.py": "A\n"})
    assert compared(project, exclude=("a.py",)) == Compared((".gitignore",), frozenset({"b.py"}))


def test_line_ends_of_windows_are_no_difference(project: GitRepository) -> None:
    (project.folder / "a.py").write_bytes(b"a\r\n")
    (project.folder / "b.py").write_bytes(b"b\r\nc\r\n")
    assert compared(project) == Compared(("b.py",), frozenset({"a.py"}))


def test_long_hashes_are_compared(tmp_path: Path) -> None:
    project = GitRepository(tmp_path / "project", options=["--object-format=sha256"])
    assert len(project.commit("First", a__py="a\n", b__py="b\n")) == 64
    project.write({"b.py": "B\n"})
    assert compared(project) == Compared(("b.py",), frozenset({"a.py"}))


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no links")
def test_links_are_left_out_unless_they_became_files(project: GitRepository) -> None:
    (project.folder / "link.py").symlink_to("a.py")
    project.commit("A link")
    assert compared(project) == Compared((), frozenset({"a.py", "b.py"}))
    (project.folder / "link.py").unlink()
    project.write({"link.py": "a.py"})  # git writes this file on systems without links.
    assert "link.py" in compared(project).same


def test_files_of_inner_repositories_are_left_out(project: GitRepository, tmp_path: Path) -> None:
    inner = GitRepository(project.folder / "inner")
    inner.write({"deep/x.py": "x\n"})
    inner.commit("Inner")
    library = GitRepository(tmp_path / "library")
    library.commit("Library", y__py="y\n")
    allowed = ("-c", "protocol.file.allow=always")
    project.git(*allowed, "submodule", "--quiet", "add", str(library.folder), "lib")
    assert compared(project).differing == (".gitmodules",)


def test_unchanged_files_are_read_once(project: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    monkeypatch.setattr(comparison, "read_bytes", lambda path: (read.append(path.name), read_bytes(path))[1])
    old = time.time() - 60
    os.utime(project.folder / "a.py", (old, old))
    kept = Comparison(project.folder)
    for _ in range(2):
        compared(project, kept)
    # The file b.py is younger than two seconds, so it may have changed since without a new time.
    assert read == ["a.py", "b.py", "b.py"]
    project.write({"a.py": "A\n"})
    assert compared(project, kept) == Compared(("a.py",), frozenset({"b.py"}))


def test_commit_of_files_without_end_is_refused(
    project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = project.git("rev-parse", "HEAD^{tree}")
    for _ in range(10):  # A folder that contains the same folder ten times has 20 thousand million files.
        listing = "".join(f"040000 tree {tree}\t{number}\n" for number in range(10))
        tree = project.git("mktree", given=listing.encode())
    project.git("update-ref", "HEAD", project.git("commit-tree", tree, "-m", "Bomb"))
    monkeypatch.setattr(comparison, "_MOST_FILES", 20_000)
    with pytest.raises(GitError, match="over 20,000 files"):
        compared(project)
