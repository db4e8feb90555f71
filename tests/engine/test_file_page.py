"""The page about a file has its outline, its history, and what belongs to each of its lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.engine.engines import indexed
from tests.engine.test_references import PORT
from tests.git_repository import GitRepository

from cairn.engine.engine import Engine
from cairn.engine.file_outline import innermost, outline_of_text
from cairn.engine.file_page import (
    AroundLine,
    FileHistory,
    FilePage,
    around_line,
    file_history,
    file_page,
    folders_holding,
)
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError

BERTHS, SCHEDULE, PORT_PATH = "src/harbour/berths.py", "src/harbour/schedule.py", "src/harbour/port.py"
HOSTILE = 'Moor <script>alert(1)</script> & "ships"'


@pytest.fixture(scope="module")
def engine(harbour: Path) -> Iterator[Engine]:
    """The harbour with a port and three commits, indexed."""
    repository = GitRepository(harbour)
    repository.commit("Begin the harbour", {PORT_PATH: PORT})
    for subject in (HOSTILE, "Deepen the berths"):
        texts = {path: (harbour / path).read_text() + "# deeper\n" for path in (BERTHS, SCHEDULE)}
        repository.commit(subject, texts)
    with indexed(harbour) as engine:
        yield engine


@contextmanager
def restored(file: Path) -> Iterator[str]:
    """Yield the text of a file, and write it back after the block changed or deleted the file."""
    text = file.read_text(encoding="utf-8")
    try:
        yield text
    finally:
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def reader(engine: Engine, harbour: Path) -> Iterator[Engine]:
    """A second engine of the indexed harbour, which indexes nothing that changes."""
    reading = Engine()
    reading.add_folder(harbour, keep_indexed=False)
    yield reading
    reading.stop()


def page_of(asked: Engine | Request, path: str) -> FilePage:
    request = asked if isinstance(asked, Request) else asked.request()
    return file_page(request, path, front="http")


def around(engine: Engine, path: str, line: int) -> AroundLine:
    """Return what belongs to a 1-based line."""
    return around_line(engine.request(), page_of(engine, path), line - 1, front="http")


def history(engine: Engine, path: str) -> FileHistory:
    return file_history(engine.folders[0].reader, path)


def names(page: FilePage) -> list[tuple[int, str, str]]:
    return [(entry.depth, entry.kind, entry.qualified) for entry in page.outline]


# --- outline -------------------------------------------------------------------------------------------


def test_outline_of_code_nests_definitions(engine: Engine) -> None:
    page = page_of(engine, BERTHS)
    assert names(page) == [
        (0, "class", "Berth"), (1, "method", "Berth.__init__"), (1, "method", "Berth.moor_ship"),
    ]  # fmt: skip
    moor = page.outline[2]
    assert page.page.text.split("\n")[moor.line][moor.character :].startswith("moor_ship")
    assert (moor.start_line, moor.end_line) == (10, 15)


def test_outline_of_a_document_has_its_headings(engine: Engine) -> None:
    page = page_of(engine, "README.md")
    assert names(page) == [(0, "heading", "Harbour"), (1, "heading", "Berths")]
    assert [(each.start_line, each.end_line) for each in page.outline] == [(0, 7), (4, 7)]


def test_outline_follows_a_text_that_is_not_indexed_yet(reader: Engine, harbour: Path) -> None:
    before = page_of(reader, BERTHS)
    with restored(harbour / BERTHS) as text:
        (harbour / BERTHS).write_text("import os\n\n\ndef wharf():\n    pass\n\n\n" + text, encoding="utf-8")
        after = page_of(reader, BERTHS)
        assert (before.page.changed, after.page.changed) == (False, True)
        assert names(after) == [(0, "function", "wharf"), *names(before)]
        assert after.outline[1].start_line == before.outline[0].start_line + 7
        panel = around(reader, BERTHS, after.outline[3].line + 1)
        assert panel.is_stale
        assert panel.definition is not None
        assert panel.definition.qualified == "Berth.moor_ship"
        assert panel.users is not None
        callers = {(each.path, each.enclosing and each.enclosing.symbol) for each in panel.users.references}
        assert (SCHEDULE, "assign_berths") in callers
        assert around(reader, BERTHS, 4).users is None  # the callers of a new definition are not known yet


def test_outline_of_a_text_equals_that_of_the_index(engine: Engine) -> None:
    for path in (BERTHS, SCHEDULE, PORT_PATH, "README.md", "pyproject.toml"):
        page = page_of(engine, path)
        assert page.outline
        assert page.outline == outline_of_text(path, page.page.text)


def test_each_function_of_a_language_without_a_symbol_table_has_its_lines() -> None:
    script = """HARBOUR=north

moor() {
    if berth_is_free; then
        make_fast
    fi
}

# Let go of the rope.
leave() {
    cast_off
}

log() { echo "$1"; }
"""
    outline = outline_of_text("quay.sh", script)
    assert [(each.name, each.start_line, each.end_line) for each in outline] == [
        ("HARBOUR", 0, 1),
        ("moor", 2, 7),
        ("leave", 9, 12),
        ("log", 13, 14),
    ]


def test_outline_of_a_notebook_has_headings_and_functions(engine: Engine, harbour: Path) -> None:
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Dredging\n", "How a basin is dredged."]},
        {**code, "source": ["def dredge():\n", "    pass"]},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    notebook = harbour / "dredging.ipynb"
    notebook.write_text(text, encoding="utf-8")
    engine.changed(notebook)
    page = page_of(engine, "dredging.ipynb")
    assert not page.page.changed
    assert [(e.kind, e.name) for e in page.outline] == [("heading", "Dredging"), ("function", "dredge")]
    assert "def dredge" in page.page.text.split("\n")[page.outline[1].line]
    notebook.write_text(text.replace("def dredge()", "def dig()"), encoding="utf-8")
    assert page_of(engine, "dredging.ipynb").page.changed


def test_innermost_returns_the_deepest_entry_around_a_line(engine: Engine) -> None:
    outline = page_of(engine, BERTHS).outline
    found = [innermost(outline, line) for line in (0, 4, 12)]
    assert [each and each.qualified for each in found] == [None, "Berth", "Berth.moor_ship"]


# --- the page ------------------------------------------------------------------------------------------


def test_page_names_folder_collection_and_size(engine: Engine, harbour: Path) -> None:
    page = page_of(engine, BERTHS)
    assert (page.repository, page.uri) == ("harbour", (harbour / BERTHS).as_uri())
    assert (page.kind, page.collection) == ("source", "harbour-source")
    assert page.size == len((harbour / BERTHS).read_bytes())
    assert not page.is_gone


def test_page_shows_the_indexed_text_of_a_deleted_file(engine: Engine, harbour: Path) -> None:
    with restored(harbour / BERTHS):
        (harbour / BERTHS).unlink()
        page = page_of(engine, BERTHS)
    assert page.is_gone
    assert "class Berth" in page.page.text


@pytest.mark.parametrize(
    "path", ["src/harbour/none.py", "../outside.py", "src/harbour", "a\0b", "/etc/passwd"]
)
def test_page_refuses_a_path_that_is_not_an_indexed_file(engine: Engine, path: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        page_of(engine, path)
    assert refused.value.field == "path"


def test_page_says_that_an_absolute_path_is_a_directory(engine: Engine, harbour: Path) -> None:
    with pytest.raises(InvalidRequestError, match="is a directory; give one of its files, or search in it"):
        page_of(engine, str(harbour / "src"))


def test_page_never_shows_a_file_with_secrets(engine: Engine, harbour: Path) -> None:
    (harbour / ".env").write_text("TOKEN=abcdef\n", encoding="utf-8")
    with pytest.raises(InvalidRequestError, match="such files are never shown"):
        page_of(engine, ".env")


def test_page_asks_which_of_two_folders_is_meant(engine: Engine, harbour: Path, module_folder: Path) -> None:
    other = module_folder / "other"
    other.mkdir()
    (other / "README.md").write_text("# Other\n\nAnother project.\n", encoding="utf-8")
    with indexed(harbour, other) as both:
        with pytest.raises(InvalidRequestError) as refused:
            page_of(both, "README.md")
        assert refused.value.field == "folder"
        assert [uri for uri, _ in folders_holding(both.request(), "README.md")] == [
            harbour.as_uri(),
            other.as_uri(),
        ]
        assert folders_holding(both.request(), "src") == []
        assert page_of(both.request(other.as_uri()), "README.md").repository == "other"


# --- history -------------------------------------------------------------------------------------------


def test_history_has_the_latest_commits_first(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert [(each.commit.subject, each.files) for each in found.commits.touches] == [
        ("Deepen the berths", 2), (HOSTILE, 2), ("Begin the harbour", 7),
    ]  # fmt: skip
    assert found.commits.count == 3
    times = [each.commit.time for each in found.commits.touches]
    assert found.commits.last_time == times[0] > times[1] > times[2]
    assert all(len(each.commit.hash) == 40 for each in found.commits.touches)


def test_history_names_files_that_change_together(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert found.changed_with[0] == (SCHEDULE, pytest.approx(1.0))


def test_history_names_importers_and_imports(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert found.imported_by == (PORT_PATH, SCHEDULE, "tests/test_berths.py")
    assert found.imports == ()
    assert history(engine, PORT_PATH).imports == (BERTHS, SCHEDULE)


def test_history_of_an_unknown_file_is_empty(engine: Engine) -> None:
    assert history(engine, "none.py") == FileHistory()


# --- one line ------------------------------------------------------------------------------------------


def test_line_in_a_function_has_callers_callees_and_related_passages(engine: Engine) -> None:
    panel = around(engine, SCHEDULE, 9)
    assert panel.definition is not None
    assert panel.definition.qualified == "assign_berths"
    assert panel.users is not None
    assert panel.callees is not None
    callers = {(each.path, each.enclosing and each.enclosing.symbol) for each in panel.users.references}
    assert callers == {(PORT_PATH, "open_port")}
    targets = {each.target.symbol for each in panel.callees.references if each.target}
    assert "Berth.moor_ship" in targets
    assert (panel.is_stale, panel.problem) == (False, "")
    assert {result.path for result in panel.related} & {BERTHS, PORT_PATH}


def test_line_at_the_top_level_has_no_callers(engine: Engine) -> None:
    panel = around(engine, SCHEDULE, 1)
    assert (panel.definition, panel.users, panel.callees) == (None, None, None)


def test_line_under_a_heading_has_no_callers(engine: Engine) -> None:
    panel = around(engine, "README.md", 7)
    assert panel.definition is not None
    assert panel.definition.name == "Berths"
    assert panel.users is None


@pytest.mark.parametrize("line", [0, 1_000])
def test_line_that_does_not_exist_is_refused(engine: Engine, line: int) -> None:
    with pytest.raises(InvalidRequestError, match="has no line"):
        around(engine, SCHEDULE, line)
