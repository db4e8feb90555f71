"""A file for somebody who reads it: its outline, its history, and what belongs to one of its lines."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.test_references import PORT, opened

from cairn.engine.around_line import AroundLine, around_line
from cairn.engine.engine import Engine
from cairn.engine.file_history import FileHistory, file_history
from cairn.engine.file_outline import innermost, outline_of_text
from cairn.engine.file_page import FilePage, file_page, folders_holding
from cairn.errors import InvalidRequestError

BERTHS, SCHEDULE, PORT_PATH = "src/harbour/berths.py", "src/harbour/schedule.py", "src/harbour/port.py"
HOSTILE = 'Moor <script>alert(1)</script> & "ships"'


def commit(root: Path, subject: str, day: int) -> None:
    """Commit everything, on a day of January 2024."""
    date = f"2024-01-{day:02}T12:00:00 +0000"
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("add", "-A"), (*identity, "commit", "-qm", subject)):
        subprocess.run(
            ("git", "-C", str(root), *arguments),
            check=True,
            env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path) -> Iterator[Engine]:
    """Over the harbour with a port and three commits, indexed."""
    (workspace / PORT_PATH).write_text(PORT, encoding="utf-8")
    subprocess.run(("git", "init", "-q", str(workspace)), check=True)
    commit(workspace, "Begin the harbour", 1)
    for day, subject in ((2, HOSTILE), (3, "Deepen the berths")):
        for path in (BERTHS, SCHEDULE):
            (workspace / path).write_text((workspace / path).read_text() + f"# {day}\n", encoding="utf-8")
        commit(workspace, subject, day)
    engine = opened(workspace)
    yield engine
    engine.stop()


def shown(engine: Engine, path: str) -> FilePage:
    return file_page(engine, path, front="http")


def around(engine: Engine, path: str, line: int) -> AroundLine:
    """What belongs to a line, counted from 1."""
    return around_line(engine, shown(engine, path), line - 1, front="http")


def history(engine: Engine, path: str) -> FileHistory:
    return file_history(engine.folders[0].reader, path)


def names(found: FilePage) -> list[tuple[int, str, str]]:
    return [(entry.depth, entry.kind, entry.qualified) for entry in found.outline]


def test_outline_of_code_nests_its_definitions(engine: Engine) -> None:
    found = shown(engine, BERTHS)
    assert names(found) == [
        (0, "class", "Berth"),
        (1, "method", "Berth.__init__"),
        (1, "method", "Berth.moor_ship"),
    ]
    moor = found.outline[2]
    assert found.page.text.split("\n")[moor.line][moor.character :].startswith("moor_ship")
    assert (moor.start_line, moor.end_line) == (10, 15)


def test_outline_of_a_document_has_each_heading_up_to_the_next(engine: Engine) -> None:
    found = shown(engine, "README.md")
    assert names(found) == [(0, "heading", "Harbour"), (1, "heading", "Berths")]
    assert [(each.start_line, each.end_line) for each in found.outline] == [(0, 7), (4, 7)]


def test_outline_follows_a_text_that_is_not_indexed_yet(engine: Engine, workspace: Path) -> None:
    before = shown(engine, BERTHS)
    text = (workspace / BERTHS).read_text(encoding="utf-8")
    (workspace / BERTHS).write_text("import os\n\n\ndef wharf():\n    pass\n\n\n" + text, encoding="utf-8")
    after = shown(engine, BERTHS)
    assert (before.page.changed, after.page.changed) == (False, True)
    assert names(after) == [(0, "function", "wharf"), *names(before)]
    assert after.outline[1].start_line == before.outline[0].start_line + 7
    panel = around(engine, BERTHS, after.outline[3].line + 1)
    assert panel.is_stale
    assert panel.definition is not None
    assert panel.definition.qualified == "Berth.moor_ship"
    assert panel.users is not None
    assert (SCHEDULE, "assign_berths") in {
        (r.path, r.enclosing and r.enclosing.symbol) for r in panel.users.references
    }
    assert around(engine, BERTHS, 4).users is None  # of a definition that is new, nobody knows callers yet


def test_outline_of_text_equals_that_of_the_index(engine: Engine) -> None:
    for path in (BERTHS, SCHEDULE, PORT_PATH, "README.md", "pyproject.toml"):
        found = shown(engine, path)
        assert found.outline
        assert found.outline == outline_of_text(path, found.page.text)


def test_outline_of_a_notebook_has_headings_and_functions(engine: Engine, workspace: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Dredging\n", "How a basin is dredged."]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["def dredge():\n", "    pass"],
        },
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (workspace / "dredging.ipynb").write_text(text, encoding="utf-8")
    engine.changed(workspace / "dredging.ipynb")
    found = shown(engine, "dredging.ipynb")
    assert not found.page.changed
    lines = found.page.text.split("\n")
    assert [(e.kind, e.name) for e in found.outline] == [("heading", "Dredging"), ("function", "dredge")]
    assert "def dredge" in lines[found.outline[1].line]
    (workspace / "dredging.ipynb").write_text(text.replace("def dredge()", "def dig()"), encoding="utf-8")
    assert shown(engine, "dredging.ipynb").page.changed


def test_innermost_entry_is_the_deepest_around_a_line(engine: Engine) -> None:
    outline = shown(engine, BERTHS).outline
    found = [innermost(outline, line) for line in (0, 4, 12)]
    assert [each and each.qualified for each in found] == [None, "Berth", "Berth.moor_ship"]


def test_file_page_says_where_the_file_lies(engine: Engine, workspace: Path) -> None:
    found = shown(engine, BERTHS)
    assert found.repository == "harbour"
    assert found.uri == (workspace / BERTHS).as_uri()
    assert (found.kind, found.collection) == ("source", "harbour-source")
    assert found.size == len((workspace / BERTHS).read_bytes())
    assert not found.is_gone


def test_file_page_shows_a_gone_file_as_it_was_indexed(engine: Engine, workspace: Path) -> None:
    (workspace / BERTHS).unlink()
    found = shown(engine, BERTHS)
    assert found.is_gone
    assert "class Berth" in found.page.text


@pytest.mark.parametrize(
    "path", ["src/harbour/none.py", "../outside.py", "src/harbour", "a\0b", "/etc/passwd"]
)
def test_file_page_refuses_what_is_not_an_indexed_file(engine: Engine, path: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        shown(engine, path)
    assert refused.value.field == "path"


def test_file_page_never_shows_a_file_with_secrets(engine: Engine, workspace: Path) -> None:
    (workspace / ".env").write_text("TOKEN=abcdef\n", encoding="utf-8")
    with pytest.raises(InvalidRequestError, match="such files are never shown"):
        shown(engine, ".env")


def test_file_page_asks_which_of_two_folders_is_meant(
    engine: Engine, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("# Other\n\nAnother project.\n", encoding="utf-8")
    both = opened(workspace, other)
    try:
        with pytest.raises(InvalidRequestError) as refused:
            shown(both, "README.md")
        assert refused.value.field == "folder"
        assert [uri for uri, _ in folders_holding(both, "README.md")] == [workspace.as_uri(), other.as_uri()]
        assert folders_holding(both, "src") == []
        assert shown(both.over(other.as_uri()), "README.md").repository == "other"
    finally:
        both.stop()


def test_history_has_the_latest_commits_first(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert [(c.subject, c.files) for c in found.commits] == [
        ("Deepen the berths", 2),
        (HOSTILE, 2),
        ("Begin the harbour", 7),
    ]
    assert found.commit_count == 3
    assert found.last_time == found.commits[0].time == 1704283200
    assert all(len(commit.hash) == 40 for commit in found.commits)


def test_history_names_files_that_change_together(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert found.changed_with[0].path == SCHEDULE
    assert found.changed_with[0].likeness == pytest.approx(1.0)


def test_history_names_importers_and_imports(engine: Engine) -> None:
    found = history(engine, BERTHS)
    assert found.imported_by == (PORT_PATH, SCHEDULE, "tests/test_berths.py")
    assert found.imports == ()
    assert history(engine, PORT_PATH).imports == (BERTHS, SCHEDULE)


def test_history_of_an_unknown_file_is_empty(engine: Engine) -> None:
    assert history(engine, "none.py") == FileHistory()


def test_line_in_a_function_shows_its_callers_and_callees(engine: Engine) -> None:
    panel = around(engine, SCHEDULE, 9)
    assert panel.definition is not None
    assert panel.definition.qualified == "assign_berths"
    assert panel.users is not None
    assert panel.callees is not None
    callers = {(each.path, each.enclosing and each.enclosing.symbol) for each in panel.users.references}
    assert callers == {(PORT_PATH, "open_port")}
    targets = {each.target.symbol for each in panel.callees.references if each.target}
    assert "Berth.moor_ship" in targets
    assert not panel.is_stale


def test_line_with_related_passages_names_other_files(engine: Engine) -> None:
    panel = around(engine, SCHEDULE, 9)
    assert not panel.problem
    assert {result.path for result in panel.related} & {BERTHS, PORT_PATH}


def test_line_at_the_top_level_has_no_callers(engine: Engine) -> None:
    panel = around(engine, SCHEDULE, 1)
    assert (panel.definition, panel.users, panel.callees) == (None, None, None)


def test_line_under_a_heading_has_related_passages_alone(engine: Engine) -> None:
    panel = around(engine, "README.md", 7)
    assert panel.definition is not None
    assert panel.definition.name == "Berths"
    assert panel.users is None


@pytest.mark.parametrize("line", [0, 1_000])
def test_line_that_is_not_there_is_refused(engine: Engine, line: int) -> None:
    with pytest.raises(InvalidRequestError, match="has no line"):
        around(engine, SCHEDULE, line)
