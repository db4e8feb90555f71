"""`cairn/change` over a real repository: what changed, what depends on it, and what is said of trouble."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import indexed
from tests.harbour import HARBOUR, write_files

from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from cairn.protocol import ChangeAnswer, ChangePlace

BERTHS, SCHEDULE, TESTS = "src/harbour/berths.py", "src/harbour/schedule.py", "tests/test_berths.py"
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The harbour with two commits."""
    folder = write_files(tmp_path / "harbour", {**HARBOUR, "pytest.ini": "[pytest]\n"})
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=Harbour")
    edit(folder, BERTHS, {"taken": "occupied"})
    edit(folder, TESTS, {"Ada": "Ida"})
    git(folder, "commit", "--quiet", "--all", "--message=Other words")
    return folder


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    with indexed(folder) as engine:
        yield engine


def edit(folder: Path, path: str, words: Mapping[str, str]) -> None:
    text = (folder / path).read_text(encoding="utf-8")
    for old, new in words.items():
        assert old in text
        text = text.replace(old, new)
    (folder / path).write_text(text, encoding="utf-8")


def changed(folder: Path, path: str, words: Mapping[str, str]) -> str:
    """Return the diff of an edit that is not made."""
    edit(folder, path, words)
    found = subprocess.run(["git", "diff"], cwd=folder, check=True, capture_output=True, text=True).stdout
    git(folder, "checkout", "--quiet", ".")
    return found


def change(engine: Engine, **params: Any) -> ChangeAnswer:
    for folder in engine.folders:
        folder.rescan()
    answer = ask(engine, "change", {"seconds": 60, **params})  # The machine may be busy.
    assert isinstance(answer, ChangeAnswer)
    return answer


def places(found: tuple[ChangePlace, ...]) -> list[tuple[str, int, bool]]:
    return [(each.path, each.range.start.line + 1, each.is_stale) for each in found]


RENAME = {"def moor_ship": "def moor"}


def test_a_renamed_method_leads_to_the_places_that_still_use_it(folder: Path, engine: Engine) -> None:
    edit(folder, BERTHS, RENAME)
    answer = change(engine)
    assert [(each.kind.value, each.symbol) for each in answer.changed] == [("renamed", "Berth.moor")]
    assert places(answer.dependents) == [(SCHEDULE, 11, True), (TESTS, 6, True)]
    assert answer.dependents[0].reasons == ("still calls `moor_ship`, now `moor`",)
    assert answer.dependents[0].symbol == "assign_berths"
    assert answer.tests[0].path == TESTS
    assert answer.commands[0].command.startswith("pytest tests/test_berths.py")
    assert answer.unreached == ()
    assert answer.complete


def test_a_diff_as_text_is_looked_at_before_it_is_applied(folder: Path, engine: Engine) -> None:
    answer = change(engine, diff=changed(folder, BERTHS, RENAME))
    assert [(each.kind.value, each.symbol) for each in answer.changed] == [("renamed", "Berth.moor")]
    assert places(answer.dependents) == [(SCHEDULE, 11, True), (TESTS, 6, True)]
    assert answer.base == ""


def test_a_diff_as_text_is_looked_at_after_it_is_applied(folder: Path, engine: Engine) -> None:
    diff = changed(folder, BERTHS, RENAME)
    edit(folder, BERTHS, RENAME)
    assert places(change(engine, diff=diff).dependents) == [(SCHEDULE, 11, True), (TESTS, 6, True)]


def test_uses_that_are_renamed_too_are_no_faults(folder: Path, engine: Engine) -> None:
    for path in (BERTHS, SCHEDULE, TESTS):
        edit(folder, path, {"moor_ship": "moor"})
    answer = change(engine)
    assert not any(each.is_stale for each in answer.dependents)
    assert (SCHEDULE, 11, False) in places(answer.dependents)


def test_a_name_that_comes_from_elsewhere_now_is_not_stale(folder: Path, engine: Engine) -> None:
    in_annotation = (SCHEDULE, 6, True)
    (folder / BERTHS).unlink()
    assert in_annotation in places(change(engine).dependents)
    edit(folder, SCHEDULE, {"from harbour.berths import Berth": "from elsewhere import Berth"})
    assert in_annotation not in places(change(engine).dependents)


def test_callers_of_a_new_signature_come_first_unless_they_changed(folder: Path, engine: Engine) -> None:
    edit(folder, BERTHS, {"def moor_ship(self, ship)": "def moor_ship(self, ship, pilot)"})
    edit(folder, SCHEDULE, {"moor_ship(ship)": "moor_ship(ship, None)"})
    answer = change(engine)
    assert places(answer.dependents) == [(TESTS, 6, True), (SCHEDULE, 11, False)]
    assert answer.dependents[0].reasons == (
        "calls `Berth.moor_ship` as before, but it has the new parameter `pilot`",
    )


def test_a_removed_file_leads_to_its_importers(folder: Path, engine: Engine) -> None:
    (folder / BERTHS).unlink()
    answer = change(engine)
    found = places(answer.dependents)
    assert (SCHEDULE, 3, True) in found
    assert (TESTS, 1, True) in found
    assert all(is_stale for _, _, is_stale in found)


def test_a_moved_file_leads_to_imports_of_its_old_path(folder: Path, engine: Engine) -> None:
    git(folder, "mv", BERTHS, "src/harbour/places.py")
    edit(folder, TESTS, {"harbour.berths": "harbour.places"})
    answer = change(engine)
    assert {each.path for each in answer.dependents if each.is_stale} == {SCHEDULE}


def test_staged_changes_alone_are_looked_at_if_wanted(folder: Path, engine: Engine) -> None:
    edit(folder, BERTHS, RENAME)
    git(folder, "add", BERTHS)
    edit(folder, SCHEDULE, {"-ship.length": "ship.length"})
    assert {each.path for each in change(engine, staged=True).files} == {BERTHS}
    assert {each.path for each in change(engine).files} == {BERTHS, SCHEDULE}


def test_new_files_and_earlier_commits_count(folder: Path, engine: Engine) -> None:
    (folder / "src/harbour/locks.py").write_text("def fill_lock():\n    return 1\n", encoding="utf-8")
    answer = change(engine, base="HEAD~1")
    assert {each.path for each in answer.files} == {BERTHS, TESTS, "src/harbour/locks.py"}
    assert [each.symbol for each in answer.unreached] == ["fill_lock"]
    assert len(answer.base) == 40


def test_what_a_tested_function_calls_is_reached_though_both_changed(folder: Path, engine: Engine) -> None:
    edit(
        folder,
        BERTHS,
        {"    def moor_ship(": "    def _free(self):\n        return not self.ship\n\n    def moor_ship("},
    )
    edit(folder, BERTHS, {"if self.ship is not None": "if not self._free()"})
    assert change(engine).unreached == ()


def test_the_prompt_has_the_change_and_keeps_its_budget(folder: Path, engine: Engine) -> None:
    edit(folder, BERTHS, RENAME)
    answer = change(engine, maxTokens=1_000)
    assert "-    def moor_ship(self, ship):" in answer.prompt
    assert "still calls `moor_ship`, now `moor`" in answer.prompt
    assert 100 < answer.prompt_tokens <= 1_000
    assert 0 < change(engine, maxTokens=150).prompt_tokens <= 150


def test_places_refer_to_definitions_of_the_answer_alone(folder: Path, engine: Engine) -> None:
    edit(
        folder,
        BERTHS,
        {"def moor_ship(self, ship)": "def moor_ship(self, ship, pilot)", "self.length =": "self.size ="},
    )
    answer = change(engine, limit=1)
    assert answer.left_out["changed"] >= 1
    assert {index for each in (*answer.dependents, *answer.tests) for index in each.about} <= {0}


def test_nothing_changed_is_an_empty_answer(engine: Engine) -> None:
    answer = change(engine)
    assert (answer.files, answer.changed, answer.dependents, answer.tests, answer.prompt) == (
        (),
        (),
        (),
        (),
        "",
    )
    assert answer.complete


def test_an_empty_diff_is_said(engine: Engine) -> None:
    answer = change(engine, diff="\n")
    assert answer.files == ()
    assert "empty" in answer.messages[0]


def test_a_folder_without_history_says_what_is_missing(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "plain", HARBOUR)
    diff = (
        f"--- a/{BERTHS}\n+++ b/{BERTHS}\n@@ -10,3 +10,3 @@\n"
        "-    def moor_ship(self, ship):\n+    def moor(self, ship):\n"
        '         """Moor a ship here; raises ValueError if the berth is taken already."""\n'
        "         if self.ship is not None:\n"
    )
    with indexed(folder) as engine:
        answer = change(engine, diff=diff)
        assert places(answer.dependents) == [(SCHEDULE, 11, True), (TESTS, 6, True)]
        assert any("usually changes" in each for each in answer.messages)
        with pytest.raises(InvalidRequestError, match="diff"):
            change(engine)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"base": "no-such-branch"}, "no-such-branch"),
        ({"diff": "Hello, this is not a diff.\n"}, "git diff"),
        ({"base": "HEAD", "diff": "x"}, "either"),
        ({"staged": True, "diff": "x"}, "stage"),
    ],
)
def test_wrong_requests_get_errors_that_say_what_to_do(
    engine: Engine, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        change(engine, **params)
