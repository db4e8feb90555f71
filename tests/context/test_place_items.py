"""The editor's state and the project's concepts as items of a context."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.retrieval.indexed_folder import IndexedFolder

from cairn.context.builder import Item
from cairn.context.place_items import (
    CursorPassage,
    concept_items,
    diagnostic_items,
    editor_items,
    query_items,
    readmes_above,
)
from cairn.index.queries.file_queries import readme_paths
from cairn.protocol import Diagnostic, Position, Range
from cairn.settings.discovery import ReadmePromotionConfig

SHOWN = CursorPassage(
    "src/berths.py",
    "def moor(ship):\n    return ship\n",
    (4, 6),
    cursor=5,
    language="python",
    title="moor",
    header_path="Berth > moor",
    symbol="moor",
)


def problem(first: int, last: int, severity: int, message: str, **others: Any) -> Diagnostic:
    return Diagnostic(Range(Position(first, 0), Position(last, 0)), message, severity, **others)


def best_first(items: tuple[Item, ...]) -> list[str]:
    return [item.title for item in sorted(items, key=lambda item: -item.score)]


def test_place_comes_first_then_documents_then_the_passage() -> None:
    opened = ["src/berths.py", *(f"open{n}.py" for n in range(7)), "open0.py"]
    items = editor_items(SHOWN, opened)
    assert items[0].text == "- Cursor: `src/berths.py`, line 6, in `Berth > moor`"
    assert best_first(items) == [
        "src/berths.py", *(f"open{n}.py" for n in range(5)), "at the cursor", "open5.py", "open6.py",
    ]  # fmt: skip
    passage = next(item for item in items if item.quoted)
    assert (passage.citation, passage.focus) == ("src/berths.py#L5-L6", 1)


def test_selection_is_named_as_such() -> None:
    selected = CursorPassage("a.md", "Text\n", (2, 3), cursor=2, selected=True, title="Tides")
    place, passage = editor_items(selected, [])
    assert place.text == "- Selection: `a.md`, lines 3 to 3, in `Tides`"
    assert passage.title == "selected"


def test_empty_document_has_a_place_and_no_passage() -> None:
    (place,) = editor_items(CursorPassage("new.py", "", (0, 0), 0), [])
    assert place.text == "- Cursor: `new.py`, line 1"


def test_severe_diagnostics_come_first_then_near_ones() -> None:
    problems = [
        problem(50, 51, 1, "far error"),
        problem(4, 5, 4, "hint at the cursor"),
        problem(9, 12, 1, "near error", source="ruff", code="F821"),
        problem(9, 12, 1, "near error", source="ruff", code="F821"),
        problem(5, 6, 2, "warning"),
    ]
    items = diagnostic_items("a.py", problems, cursor=6)
    assert best_first(items) == ["near error", "far error", "warning", "hint at the cursor"]
    assert items[0].text == "- Error, `a.py#L10-L12` (ruff F821): near error"


def test_message_stays_in_its_list_item() -> None:
    (item,) = diagnostic_items("a.py", [problem(0, 1, 2, "no such name\n\n```\n# Heading")], cursor=0)
    assert item.text == "- Warning, `a.py#L1-L1`: no such name\n  ```\n  # Heading"
    (empty,) = diagnostic_items("a.py", [problem(0, 1, 3, "")], cursor=0)
    assert empty.text == "- Information, `a.py#L1-L1`: "


def test_queries_are_one_line_each() -> None:
    items = query_items(["where are\nships", " ", "`moor`", "where are ships"])
    assert [item.text for item in items] == ["- `where are ships`", "- `` `moor` ``"]
    assert items[0].score > items[1].score


PATTERNS = ReadmePromotionConfig().readme_patterns
BADGES = (
    "# Harbour\n\n[![PyPI](https://img.example/pypi.svg)](https://example.com) ![Build](build.svg)\n\n"
    "[Docs](docs/index.md) | [Chat](https://example.com/chat) | [Website](https://example.com)\n\n"
    "[Available for every harbour on the seven seas](https://example.com/sponsor)<br>\n\n"
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
    assert concept_items(folder.reader, "", (), ["README.md"])[-1].text == ABOUT
    folder.close()
