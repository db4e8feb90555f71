"""The core concepts of a project, from its index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.retrieval.indexed_folder import IndexedFolder

from cairn.context.builder import Item
from cairn.context.place_items import concept_items, readmes_above
from cairn.index.queries.files import readme_paths
from cairn.settings.discovery import ReadmePromotionConfig

PATTERNS = ReadmePromotionConfig().readme_patterns
BADGES = (
    "# Harbour\n\n[![PyPI](https://img.example/pypi.svg)](https://example.com) ![Build](build.svg)\n\n"
    "[Docs](docs/index.md) | [Chat](https://example.com/chat) | [Website](https://example.com)\n\n"
    '<p align="center">\n  <img src="logo.svg">\n</p>\n\n'
)
ABOUT = "Harbour schedules ships into the berths\nof a port.\n"


def concepts(base: Path, files: Mapping[str, str], path: str, *terms: str) -> tuple[Item, ...]:
    folder = IndexedFolder(base, files)
    readmes = readmes_above(readme_paths(folder.reader, PATTERNS), path)
    collection = folder.reader.contents([path]).get(path, ("", ""))[1]
    items = concept_items(folder.reader, collection, terms, readmes)
    folder.close()
    return items


def test_introduction_is_the_readmes_first_running_text(tmp_path: Path) -> None:
    readme = concepts(tmp_path, {"README.md": BADGES + ABOUT + "\nMore.\n", "a.py": "x = 1\n"}, "a.py")[-1]
    assert readme.text == ABOUT
    assert readme.lines is not None
    first, last = readme.lines
    assert (tmp_path / "port/README.md").read_text().splitlines()[first:last] == ABOUT.splitlines()
    assert readme.quoted


def test_introduction_may_be_in_restructured_text(tmp_path: Path) -> None:
    text = "=======\nHarbour\n=======\n\n.. image:: logo.png\n   :alt: a logo of the harbour\n\n" + ABOUT
    assert concepts(tmp_path, {"Readme.rst": text}, "Readme.rst")[-1].text == ABOUT


def test_terms_and_project_come_before_the_readme(tmp_path: Path) -> None:
    files = {"pyproject.toml": '[project]\nname = "harbour"\n', "README.md": ABOUT, "src/a.py": "x = 1\n"}
    terms, project, readme = concepts(tmp_path, files, "src/a.py", "berth", "tide", "berth")
    assert terms.text == "- Terms: `berth`, `tide`"
    assert project.text.startswith("- Project: `harbour`\n- Collections, with files: ")
    assert "`harbour-source` (1)" in project.text
    assert terms.score > project.score > readme.score


def test_nearest_readme_comes_before_the_folders(tmp_path: Path) -> None:
    files = {
        "README.md": "All the packages of the port together.\n",
        "packages/cranes/README.md": "Cranes lift what ships have brought.\n",
        "packages/cranes/src/deep/a.py": "x = 1\n",
        "packages/tides/a.py": "x = 2\n",
    }
    found = concepts(tmp_path, files, "packages/cranes/src/deep/a.py")
    assert [item.path for item in found if item.quoted] == ["packages/cranes/README.md", "README.md"]
    readmes = sorted(path for path in files if path.endswith(".md"))
    assert readmes_above(readmes, "packages/tides/a.py") == ("README.md",)
    assert readmes_above(readmes, "untitled") == ("README.md",)


def test_folder_without_a_readme_has_its_name(tmp_path: Path) -> None:
    (project,) = concepts(tmp_path, {"a.py": "x = 1\n", "README.md": "# Port\n"}, "a.py")
    assert project.title == "port"


def test_empty_index_has_no_concepts(tmp_path: Path) -> None:
    assert concepts(tmp_path, {}, "") == ()


def test_unsaved_readme_counts(tmp_path: Path) -> None:
    folder = IndexedFolder(tmp_path, {"a.py": "x = 1\n"})
    folder.type("README.md", ABOUT)
    assert readme_paths(folder.reader, PATTERNS) == ["README.md"]
    assert concept_items(folder.reader, "", (), ["README.md"])[-1].text == ABOUT
    folder.close()
