"""A command in a subfolder finds the project that the folder belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.command_line import run_cairn, without_progress
from tests.engine.engines import indexed
from tests.git_repository import GitRepository
from tests.harbour import write_files

from cairn.operations.places import project_of
from cairn.paths import workspace_dir

FILES = {
    "docs/berths.md": "# Berths\n\nShips moor at a berth.\n",
    "src/berths.py": "def moor_ship(ship):\n    return ship\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An indexed project with two subfolders."""
    root = write_files(tmp_path / "harbour", FILES)
    with indexed(root):
        return root


def test_a_search_in_a_subfolder_is_of_the_project_below_the_subfolder(project: Path) -> None:
    ran = run_cairn("search", "moor a ship at a berth", cwd=project / "src")
    assert "src/berths.py" in ran.stdout
    assert "docs/berths.md" not in ran.stdout
    assert without_progress(ran.stderr).startswith(f"cairn: in src/ of {project}")
    assert not workspace_dir(project / "src").exists()


def test_a_named_subfolder_becomes_a_workspace(project: Path) -> None:
    ran = run_cairn("search", "moor a ship at a berth", "-C", ".", cwd=project / "src")
    assert ran.stdout.startswith("berths.py")
    assert "cairn: in src" not in ran.stderr


def test_a_status_in_a_subfolder_is_of_the_project(project: Path) -> None:
    ran = run_cairn("status", cwd=project / "docs")
    assert "2 of 2 files" in ran.stdout
    assert without_progress(ran.stderr).startswith(f"cairn: in docs/ of {project}")


def test_a_path_in_a_subfolder_is_relative_to_the_subfolder(project: Path) -> None:
    ran = run_cairn("page", "berths.py", cwd=project / "src")
    assert "moor_ship" in ran.stdout


def test_a_folder_of_a_git_tree_belongs_to_its_top(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "harbour")
    repository.commit("Begin", FILES)
    assert project_of(repository.folder / "src") == repository.folder


def test_a_folder_that_the_project_excludes_is_a_project(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "harbour")
    repository.commit("Begin", {**FILES, "node_modules/crane/index.js": "export const lift = 1\n"})
    package = repository.folder / "node_modules" / "crane"
    assert project_of(package) == package


def test_a_git_tree_below_an_indexed_folder_is_a_project(project: Path) -> None:
    repository = GitRepository(project / "cranes")
    repository.commit("Begin", FILES)
    assert project_of(repository.folder / "src") == repository.folder


@pytest.mark.parametrize("arguments", [(), ("--in", "piers"), ("--in", "piers/piers.py")])
def test_a_search_in_a_new_folder_waits_until_it_is_indexed(
    project: Path, arguments: tuple[str, ...]
) -> None:
    write_files(project / "piers", {"piers.py": "def build_pier():\n    return 1\n"})
    ran = run_cairn("search", "build_pier", *arguments, cwd=project if arguments else project / "piers")
    assert "piers/piers.py" in ran.stdout


def test_a_path_that_does_not_exist_is_refused_in_a_new_folder(tmp_path: Path) -> None:
    root = write_files(tmp_path / "harbour", FILES)
    assert "pires" in run_cairn("search", "moor", "--in", "pires", "-C", str(root), code=1).stderr
    ran = run_cairn("search", "moor", "--in", "pires", "--in", "**/*.py", "-C", str(root))
    assert ran.stdout.startswith("Left out: there is no 'pires' in the workspace")


def test_a_part_of_paths_is_accepted_in_a_new_folder(tmp_path: Path) -> None:
    root = write_files(tmp_path / "harbour", FILES)
    for arguments in ((), ("--exact",)):
        ran = run_cairn("search", "moor", "--in", "berth", "-C", str(root), *arguments)
        assert ran.stdout.startswith("No path is called berth: searched the 2 files whose path holds it.")


def test_a_question_in_the_home_folder_indexes_nothing(project: Path) -> None:
    home = project.parent
    variables = {"HOME": str(home), "USERPROFILE": str(home)}
    assert "home folder" in run_cairn("search", "moor", cwd=home, code=1, **variables).stderr
    assert not workspace_dir(home).exists()


def test_an_index_of_the_home_folder_takes_no_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(project))
    assert project_of(project / "src") == project / "src"


def test_a_home_folder_in_git_is_not_the_project_of_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = GitRepository(tmp_path / "home")
    home.commit("Dotfiles", {"notes/harbour.md": "# Harbour\n"})
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home.folder))
    assert project_of(home.folder / "notes") == home.folder / "notes"
