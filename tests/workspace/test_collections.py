"""Collections follow from manifests, paths and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.workspace.collections import FileKind, file_kind, find_projects


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/flask/app.py", FileKind.SOURCE),
        ("src/flask/testing.py", FileKind.SOURCE),
        ("latest.py", FileKind.SOURCE),
        ("tests/test_basic.py", FileKind.TESTS),
        ("pkg/command_test.go", FileKind.TESTS),
        ("src/app.spec.ts", FileKind.TESTS),
        ("src/FooTest.java", FileKind.TESTS),
        ("README.md", FileKind.DOCS),
        ("docs/conf.py", FileKind.DOCS),
        ("examples/tutorial/app.py", FileKind.EXAMPLES),
        ("pyproject.toml", FileKind.CONFIG),
        (".github/workflows/ci.yml", FileKind.CONFIG),
    ],
)
def test_path_gives_the_kind_of_a_file(path: str, kind: FileKind) -> None:
    assert file_kind(path) is kind


@pytest.mark.parametrize(
    ("manifest", "text", "name"),
    [
        ("pyproject.toml", '[project]\nname = "flask"\n', "flask"),
        ("pyproject.toml", '[tool.poetry]\nname = "poem"\n', "poem"),
        ("package.json", '{"name": "@scope/widget"}', "widget"),
        ("Cargo.toml", '[package]\nname = "serde"\n', "serde"),
        ("go.mod", "module github.com/spf13/cobra/v2\n", "cobra"),
        ("pom.xml", '<project xmlns="x"><artifactId>gson</artifactId></project>', "gson"),
        ("package.json", "{broken", "root"),
        ("Cargo.toml", '[workspace]\nmembers = ["a"]\n', "root"),
    ],
)
def test_projects_are_named_by_their_manifest(tmp_path: Path, manifest: str, text: str, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / manifest).write_text(text)
    assert find_projects(root, [manifest]).collection("src/a.py") == f"{name}-source"


def test_file_belongs_to_its_nearest_project(tmp_path: Path) -> None:
    (tmp_path / "packages" / "core").mkdir(parents=True)
    (tmp_path / "package.json").write_text('{"name": "outer"}')
    (tmp_path / "packages" / "core" / "package.json").write_text('{"name": "core"}')
    projects = find_projects(tmp_path, ["package.json", "packages/core/package.json"])
    assert projects.collection("packages/core/src/a.ts") == "core-source"
    assert projects.collection("packages/other/README.md") == "outer-docs"


def test_settings_define_collections_by_glob(tmp_path: Path) -> None:
    own = {"handbook": ("docs/handbook/", "!docs/handbook/old/"), "all-docs": ("docs/",)}
    projects = find_projects(tmp_path, [], own)
    name = tmp_path.name
    assert projects.collection("docs/handbook/a.md") == "handbook"
    assert projects.collection("docs/handbook/old/a.md") == "all-docs"
    assert projects.collection("src/a.py") == f"{name}-source"
    assert projects.is_current_collection("handbook", "docs/handbook/a.md")
    assert not projects.is_current_collection(f"{name}-docs", "docs/handbook/a.md")
    # A collection that was removed from the settings contains no file.
    assert not find_projects(tmp_path, []).is_current_collection("handbook", "docs/handbook/a.md")
    assert not find_projects(tmp_path, []).is_current_collection(f"{name}-handbook", "docs/handbook/a.md")
    assert find_projects(tmp_path, []).is_current_collection(f"{name}-docs", "docs/handbook/a.md")
