"""Unified diffs are parsed, and fitted to the files of a folder in the state before or after them."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.git_repository import GitRepository

from cairn.errors import InvalidRequestError
from cairn.workspace.diff import FileChange, Hunk
from cairn.workspace.diff_change import change_of_diff
from cairn.workspace.diff_text import parse_diff

BEFORE = {
    "a.py": "".join(f"{number}\n" for number in range(40)),
    "old name.py": "".join(f"{number} of the harbour\n" for number in range(20)),
    "gone.py": "x\ny\n",
    "empty.py": "",
    "kept.py": "k\n",
    "tail.py": "one\ntwo",
    "é.py": "a\n",
    "mode.sh": "echo\n",
    "logo.png": b"\0\1\2",
}
AFTER = {
    "a.py": BEFORE["a.py"].replace("\n5\n", "\nfive\n").replace("\n30\n", "\n30\n30a\n--- x\n+++ y\n"),  # type: ignore[union-attr]
    "new name.py": BEFORE["old name.py"].replace("7 of", "seven of"),  # type: ignore[union-attr]
    "new.py": "n\n-- \nm\n",
    "copy of kept.py": "k\n",
    "empty.py": "",
    "kept.py": "K\n",
    "tail.py": "one\ntwo\nthree",
    "é.py": "b\n",
    "mode.sh": "echo\n",
    "logo.png": b"\0\1\3",
    "new empty.py": "",
}


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    found = GitRepository(tmp_path / "project", BEFORE)
    (found.folder / "mode.sh").chmod(0o755)
    found.commit("Second", AFTER, gone=BEFORE.keys() - AFTER.keys())
    return found


def at(state: Mapping[str, str | bytes]) -> Callable[[str], str | None]:
    return lambda path: text if isinstance(text := state.get(path), str) else None


def fitted(diff: str, state: Mapping[str, str | bytes]) -> list[FileChange]:
    return list(change_of_diff(diff, at(state), lambda _: True).files)


def only(diff: str, state: Mapping[str, str | bytes]) -> FileChange:
    (file,) = fitted(diff, state)
    return file


def diff_of(before: str, after: str, *options: str, path: str = "a.py") -> str:
    """Return git's diff between two texts."""
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder) / "one", Path(folder) / "other"
        one.write_bytes(before.encode())
        other.write_bytes(after.encode())
        command = ("git", "diff", "--no-index", *options, "one", "other")
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.stdout.decode().replace("a/one", f"a/{path}").replace("b/other", f"b/{path}")


# --- the forms of diffs ---------------------------------------------------------------------------------

FORMS = {
    "git": ("diff", "HEAD~1", "--find-renames"),
    "copies": ("diff", "HEAD~1", "--find-copies-harder", "--find-copies=40%"),
    "no renames": ("diff", "HEAD~1", "--no-renames"),
    "no prefix": ("diff", "HEAD~1", "--no-prefix"),
    "other prefixes": ("-c", "diff.mnemonicPrefix=true", "diff", "HEAD~1"),
    "no context": ("diff", "HEAD~1", "--unified=0"),
    "much context": ("diff", "HEAD~1", "--unified=99"),
    "plain names": ("-c", "core.quotePath=false", "diff", "HEAD~1"),
    "binary": ("diff", "HEAD~1", "--binary"),
    "colours": ("diff", "HEAD~1", "--color=always"),
    "mail": ("format-patch", "-1", "--stdout", "HEAD"),
    "log": ("log", "-p", "-1", "--stat"),
    "show": ("show", "--stat", "-p"),
    "statistics": ("diff", "HEAD~1", "--patch-with-stat", "--summary"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_applied", [True, False])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_form_of_git_is_fitted_to_both_states(
    project: GitRepository, form: str, is_applied: bool, ends: str
) -> None:
    diff = project.git(*FORMS[form]).replace("\n", ends)
    found = fitted(diff, AFTER if is_applied else BEFORE)
    texts = [file for file in found if not file.problem]
    assert {file.path: file.problem for file in found if file.problem} == {"logo.png": "binary file"}
    assert {file.is_applied for file in texts if file.hunks} == {is_applied}
    before = {file.before_path: _ended(file.before) for file in texts if file.before_path}
    after = {file.path: _ended(file.after) for file in texts if not file.is_removed}
    changed = {"a.py", "tail.py", "é.py", "kept.py", "mode.sh"}
    assert before == {path: _ended(BEFORE[path]) for path in {*changed, "old name.py", "gone.py"}}
    new = {"new.py", "new name.py", "copy of kept.py", "new empty.py"}
    assert after == {path: _ended(AFTER[path]) for path in changed | new}
    for file in texts:
        _check_hunks(file)


def _ended(text: str | bytes | None) -> str:
    assert isinstance(text, str)
    return text if text.endswith("\n") or not text else f"{text}\n"


def _check_hunks(file: FileChange) -> None:
    """Check that the hunks turn the text before into the text after, and have no context."""
    before, after = (file.before or "").splitlines(), (file.after or "").splitlines()
    built, start = list[str](), 0
    for hunk in file.hunks:
        assert before[hunk.before_start : hunk.before_end] == list(hunk.removed)
        built += before[start : hunk.before_start]
        assert len(built) == hunk.after_start
        built += hunk.added
        start = hunk.before_end
        assert hunk.removed or hunk.added
    assert built + before[start:] == after


@pytest.mark.parametrize("options", [("-u",), ("-ruN",), ("-U0", "-rN")])
@pytest.mark.parametrize("is_applied", [True, False])
def test_diffs_of_two_folders_are_fitted(tmp_path: Path, options: tuple[str, ...], is_applied: bool) -> None:
    texts = [{path: text for path, text in each.items() if path != "logo.png"} for each in (BEFORE, AFTER)]
    for name, files in zip(("harbour.orig", "harbour"), texts, strict=True):
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(exist_ok=True)
            (tmp_path / name / path).write_text(str(text))
    command = ("diff", *options, "harbour.orig", "harbour")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    found = fitted(done.stdout.decode(), texts[is_applied])
    names = {"a.py", "tail.py", "é.py", "kept.py"}
    more = (
        {"new.py", "new name.py", "copy of kept.py", "old name.py", "gone.py"}
        if "N" in options[-1]
        else set()
    )
    assert {file.path for file in found} == names | more
    assert [file.problem for file in found if file.problem] == []
    assert {file.path for file in found if file.is_removed} == more & {"old name.py", "gone.py"}
    assert {file.is_applied for file in found} == {is_applied}


SUBVERSION = """\
Index: src/a.py
===================================================================
--- src/a.py\t(revision 12)
+++ src/a.py\t(working copy)
@@ -1,2 +1,2 @@
 a
-b
+B

Property changes on: src/a.py
___________________________________________________________________
Modified: svn:keywords
## -1 +1 ##
-Id
+Id Rev
Index: src/new.py
===================================================================
--- src/new.py\t(nonexistent)
+++ src/new.py\t(working copy)
@@ -0,0 +1 @@
+n
Index: logo.png
===================================================================
Cannot display: file marked as a binary type.
svn:mime-type = application/octet-stream
"""
MERCURIAL = """\
diff -r 0123456789ab src/a.py
--- a/src/a.py\tThu Jan 01 10:00:00 2026 +0000
+++ b/src/a.py\tFri Jan 02 10:00:00 2026 +0000
@@ -1,2 +1,2 @@
 a
-b
+B
"""


def test_diffs_of_other_systems_are_parsed() -> None:
    a, new, logo = parse_diff(SUBVERSION)
    assert (a.path, a.before_path, a.hunks[0].lines) == ("src/a.py", "src/a.py", (" a", "-b", "+B"))
    assert (new.path, new.before_path, new.hunks[0].lines) == ("src/new.py", None, ("+n",))
    assert (logo.path, logo.is_binary) == ("logo.png", True)
    assert parse_diff(MERCURIAL)[0] == a


HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n"


@pytest.mark.parametrize(
    "diff",
    [
        "--- a.py\n+++ a.py\n" + HUNK,
        "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+a\n+B\n",
        "--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,9 @@ wrong numbers\n a\n-b\n+B\n",
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n a\n-b\n+B\n",
        "--- a/a.py\n+++ b/a.py\n@@ ... @@\n a\n-b\n+B\n",
        "--- a/a.py\n+++ b/a.py\n@@\n a\n-b\n+B\n",
        "--- a/a.py\n+++ b/a.py\n@@ -71,2 +71,2 @@\n a\n-b\n+B\n",
        "Here is the change:\n\n```diff\n--- a/a.py\n+++ b/a.py\n" + HUNK + "```\nIt renames b.\n",
        "--- a.py.orig\t2026-01-01 00:00:00 +0000\n+++ a.py\t2026-01-01 00:00:01 +0000\n" + HUNK,
        "--- a\\sub\\..\n+++ a.py\n" + HUNK,
        "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n" + HUNK + "-- \n2.40.0\n\n",
        "\ufeff--- a/a.py\n+++ b/a.py\n" + HUNK,
    ],
)
def test_diffs_written_by_hand_are_fitted(diff: str) -> None:
    file = only(diff, {"a.py": "a\nB\n"})
    assert (file.path, file.problem, file.is_applied) == ("a.py", "", True)
    assert file.hunks[-1].added[-1] == "B"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("What does this touch?\n", "no changes of files in the unified format"),
        ("--- a\n+++ b\nno hunk\n", "no changes of files"),
        ("3c3\n< a\n---\n> b\n", "not a unified diff"),
        (
            "*** a.py\t2026\n--- a.py\t2026\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
            "not a unified",
        ),
        (
            "diff --cc a.py\nindex 1,2..3\n--- a/a.py\n+++ b/a.py\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n",
            "merge",
        ),
        ("diff --combined a.py\n", "merge"),
    ],
)
def test_other_text_is_refused_with_a_remedy(text: str, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem) as raised:
        parse_diff(text)
    assert raised.value.field == "diff"
    assert "git diff" in str(raised.value) or "diff -u" in str(raised.value)


def test_long_diffs_are_parsed_and_fitted_in_linear_time() -> None:
    before = "".join(f"{number % 97}\n" for number in range(200_000))
    lines = before.splitlines()
    after = "".join(f"{'x' if number % 9 == 4 else line}\n" for number, line in enumerate(lines))
    diff = diff_of(before, after)
    assert diff.count("\n") > 200_000
    for text in (before, after, f"moved\n{after}"):
        began = time.process_time()
        assert only(diff, {"a.py": text}).problem == ""
        assert time.process_time() - began < 2


def test_hostile_diffs_take_little_time() -> None:
    same = "x\n" * 20_000
    hunk = "@@ -9000,3 +9000,3 @@\n x\n-y\n+x\n x\n"
    texts = [
        "--- a/a.py\n+++ b/a.py\n" + hunk * 5_000,
        "--- a\n" * 100_000,
        "diff --git " + "a " * 50_000 + "\n" + HUNK,
        "@@" * 200_000,
        'diff --git "a/' + "\\" * 100_000 + "\n",
        "Index: \n" * 50_000 + HUNK,
    ]
    for text in texts:
        began = time.process_time()
        with suppress(InvalidRequestError):
            fitted(text, {"a.py": same})
        assert time.process_time() - began < 2, text[:40]


# --- fitting --------------------------------------------------------------------------------------------


def test_moved_lines_are_found_by_the_lines_around() -> None:
    before = str(BEFORE["a.py"])
    after = before.replace("\n30\n", "\nthirty\n").replace("\n5\n", "\n")
    diff = diff_of(before, after)
    for state, is_applied in ((before, False), (after, True)):
        moved = "import x\nimport y\n" + state
        file = only(diff, {"a.py": moved})
        assert (file.problem, file.is_applied) == ("", is_applied)
        assert file.hunks == (Hunk(7, ("5",), 7, ()), Hunk(32, ("30",), 31, ("thirty",)))
        assert (file.after if is_applied else file.before) == moved


def test_file_in_neither_state_keeps_the_numbers_of_the_diff() -> None:
    diff = diff_of("a\nb\nc\n", "a\nB\nc\n")
    file = only(diff, {"a.py": "something\nelse\n"})
    assert (file.before, file.after) == (None, None)
    assert file.hunks == (Hunk(1, ("b",), 1, ("B",)),)
    assert "neither as before the diff nor as after it" in file.problem
    assert "not in the folder" in only(diff, {}).problem


def test_each_file_has_its_own_state() -> None:
    diff = diff_of("a\nb\n", "a\nB\n") + diff_of("c\nd\n", "c\nD\n", path="sub/b.py")
    found = fitted(diff, {"a.py": "a\nB\n", "sub/b.py": "c\nd\n"})
    assert [(file.path, file.is_applied) for file in found] == [("a.py", True), ("sub/b.py", False)]


def test_state_follows_from_lines_that_only_one_state_has() -> None:
    before, after = "a\nb\nc\nd\n", "a\nd\n"
    diff = diff_of(before, after, "--unified=0")
    assert only(diff, {"a.py": before}).is_applied is False
    assert only(diff, {"a.py": after}).is_applied is True


def test_secret_and_excluded_files_of_a_diff_are_left_out() -> None:
    diff = diff_of("a\n", "b\n", path=".env") + diff_of("c\n", "d\n")
    found = change_of_diff(diff, at({"a.py": "d\n"}), lambda path: path != ".env")
    assert [file.path for file in found.files] == ["a.py"]
    assert found.problems == ("Files that the rules exclude are left out: .env.",)


def test_late_files_keep_the_numbers_of_the_diff() -> None:
    diff = "".join(diff_of("a\n", "b\n", path=f"{number}.py") for number in range(3))
    found = change_of_diff(diff, at({}), lambda _: True, deadline=0)
    assert not found.complete
    assert [file.problem for file in found.files] == ["not compared in time"] * 3
    assert [len(file.hunks) for file in found.files] == [1, 1, 1]


def test_several_commits_are_fitted_as_one_change(project: GitRepository) -> None:
    texts = {name: str(AFTER[name]) for name in ("a.py", "new.py", "tail.py")}
    later = {"a.py": texts["a.py"].replace("\nfive\n", "\nV\n"), "newer.py": texts["new.py"] + "more\n"}
    project.commit("Third", later, gone=["new.py", "tail.py"])
    final = {**AFTER, **later, "new.py": b"", "tail.py": b""}
    diff = project.git("format-patch", "--stdout", "--root", "-2", "HEAD")
    for state, is_applied in ((final, True), (BEFORE, False)):
        found = {file.path: file for file in fitted(diff, state)}
        assert {file.problem for path, file in found.items() if path != "logo.png"} == {""}
        a, newer, tail = (found[path] for path in ("a.py", "newer.py", "tail.py"))
        assert (a.before, a.after, a.is_applied) == (BEFORE["a.py"], later["a.py"], is_applied)
        assert a.hunks[0] == Hunk(5, ("5",), 5, ("V",))
        assert (newer.before_path, newer.after) == (None, later["newer.py"])
        assert (tail.is_removed, _ended(tail.before)) == (True, _ended(BEFORE["tail.py"]))
        for file in found.values():
            _check_hunks(file)
    other = {**final, "a.py": "other\n"}
    assert {file.path for file in fitted(diff, other) if "neither" in file.problem} == {"a.py"}


def test_paths_are_found_from_the_folder(project: GitRepository) -> None:
    diff = diff_of("a\n", "b\n", path="app/src/a.py") + diff_of("c\n", "d\n", path="docs/b.md")
    state = at({"src/a.py": "b\n", "b.md": "z\n"})
    found = change_of_diff(diff, state, lambda _: True, below="app/")
    assert [(file.path, file.problem) for file in found.files] == [("src/a.py", "")]
    assert found.problems == ("Files outside of the folder are left out: docs/b.md.",)
    first, second = fitted(diff, {"src/a.py": "b\n", "b.md": "z\n"})
    assert (first.path, first.before_path, first.problem) == ("src/a.py", "src/a.py", "")
    assert (second.path, second.problem) == ("docs/b.md", "the file is not in the folder")
    absolute = "--- /tmp/x/a.py\n+++ /home/ada/town/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert only(absolute, {"src/a.py": "a\n"}).path == "src/a.py"


_LINES = st.lists(st.sampled_from(["a", "b", "", " ", "-", "+x", "--- y", "@@", "\\ z", "é"]), max_size=30)


@given(_LINES, _LINES, st.sampled_from(["-U0", "-U1", "-U3"]), st.booleans())
def test_fitted_diffs_turn_one_text_into_the_other(
    before: list[str], after: list[str], context: str, is_after: bool
) -> None:
    texts = ["".join(f"{line}\n" for line in lines) for lines in (before, after)]
    if before != after and all(texts):
        file = only(diff_of(*texts, context), {"a.py": texts[is_after]})
        assert file.problem == ""
        _check_hunks(file)
        if file.is_applied == is_after:  # Without context, a text may fit both states.
            assert (file.before, file.after) == (texts[0], texts[1])
