"""What differs between a commit and the files of a folder is found as git finds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git_repository import GitRepository

from cairn.errors import InvalidRequestError
from cairn.settings.tree import IndexSettings
from cairn.workspace.changes import working_tree_change
from cairn.workspace.diff import Change, FileChange, Hunk
from cairn.workspace.scan import FileRules, permitted_text


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    found = GitRepository(tmp_path / "project")
    found.commit("First", a__py="a\nb\nc\n", b__py="b\n")
    return found


def changed(
    root: Path,
    *,
    base: str | None = None,
    staged: bool = False,
    unsaved: dict[str, str] | None = None,
    known: dict[str, tuple[int, int]] | None = None,
    deadline: float | None = None,
) -> Change:
    rules, texts = FileRules(root, IndexSettings()), unsaved or {}

    def text_of(path: str) -> str | None:
        try:
            return texts.get(path) or permitted_text(root, path, rules)
        except OSError:
            return None

    return working_tree_change(
        root, rules, text_of, base=base, staged=staged, unsaved=texts, known=known, deadline=deadline
    )


def only(change: Change) -> FileChange:
    (file,) = change.files
    return file


def paths(change: Change) -> list[str]:
    return [file.path for file in change.files]


def test_change_has_staged_unstaged_new_and_unsaved_files(project: GitRepository) -> None:
    commit = project.commit("Second", c__py="c\n", d__py="d\n")
    assert changed(project.folder) == Change((), commit)
    project.write({"a.py": "a\nB\nc\n", "new.py": "n\n"})
    project.git("add", "a.py")
    project.write({"a.py": "a\nB\nc\nd\n"})
    (project.folder / "b.py").unlink()
    found = changed(project.folder, unsaved={"c.py": "c\nC\n", "unsaved.py": "u\n"})
    assert found.complete
    assert found.base == commit
    assert found.files == (
        FileChange(
            "a.py", "a.py", False, "a\nb\nc\n", "a\nB\nc\nd\n",
            (Hunk(1, ("b",), 1, ("B",)), Hunk(3, (), 3, ("d",))),
        ),
        FileChange("b.py", "b.py", True, "b\n", None, (Hunk(0, ("b",), 0, ()),)),
        FileChange("c.py", "c.py", False, "c\n", "c\nC\n", (Hunk(1, (), 1, ("C",)),)),
        FileChange("new.py", None, False, None, "n\n", (Hunk(0, (), 0, ("n",)),)),
        FileChange("unsaved.py", None, False, None, "u\n", (Hunk(0, (), 0, ("u",)),)),
    )  # fmt: skip
    (staged,) = changed(project.folder, staged=True, unsaved={"a.py": "x\n"}).files
    assert staged.after == "a\nB\nc\n"


def test_folder_without_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="text of a diff"):
        changed(tmp_path)
