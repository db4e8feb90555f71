"""Commits are read from real repositories, made by git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.git_repository import GitRepository

from cairn.workspace import git_log
from cairn.workspace.git import Git, git_folder
from cairn.workspace.git_log import (
    Change,
    Checkout,
    Commit,
    FileHistory,
    follow,
    head,
    read_commits,
    watched_files,
)
from cairn.workspace.repository import locate

LINES = "".join(f"line {number}\n" for number in range(50))


@pytest.fixture(autouse=True)
def _no_configuration_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "project")


def histories(root: Path, *present: str) -> dict[str, list[str]]:
    """Return the subjects of each file's commits, newest first."""
    reading = read_commits(root, ())
    commits = list(reading)
    assert reading.problem == ""
    subjects = {commit.hash: commit.subject for commit in commits}
    return {
        path: [subjects[t.hash] for t in found.touches] for path, found in follow(commits, present).items()
    }


class TestReading:
    def test_commits_have_subject_time_and_changes_newest_first(self, project: GitRepository) -> None:
        first = project.commit("Add the parser", parser__py=LINES)
        second = project.commit("Fix the parser\n\nAt length.", parser__py=LINES + "x", lexer__py="y")

        reading = read_commits(project.folder, ())

        assert reading.hashes == (second, first)
        assert list(reading) == [
            Commit(second, 1_700_000_120, "Fix the parser", (Change("lexer.py"), Change("parser.py"))),
            Commit(first, 1_700_000_060, "Add the parser", (Change("parser.py"),)),
        ]
        assert reading.problem == ""

    def test_renames_name_the_old_path_and_deletions_are_marked(self, project: GitRepository) -> None:
        project.commit("Add", old__py=LINES, gone__py="z")
        project.git("mv", "old.py", "new.py")
        project.git("rm", "--quiet", "gone.py")
        project.commit("Move", new__py=LINES + "x\n")

        assert next(iter(read_commits(project.folder, ()))).changes == (
            Change("gone.py", deleted=True),
            Change("new.py", before="old.py"),
        )

    def test_known_commits_are_listed_but_not_read_again(self, project: GitRepository) -> None:
        known = [project.commit("One", a="1"), project.commit("Two", a="2")]
        new = project.commit("Three", a="3")

        reading = read_commits(project.folder, known)

        assert reading.hashes == (new, known[1], known[0])
        assert [commit.hash for commit in reading] == [new]

    def test_other_branch_adds_only_its_own_commits(self, project: GitRepository) -> None:
        base = project.commit("Base", a="1")
        project.git("checkout", "--quiet", "-b", "topic")
        project.commit("Topic", a="2")
        project.git("checkout", "--quiet", "main")
        other = project.commit("Main", b="1")

        assert read_commits(project.folder, (base,)).hashes == (other, base)

    def test_commits_without_changes_are_read(self, project: GitRepository) -> None:
        project.commit("Empty")
        assert [commit.changes for commit in read_commits(project.folder, ())] == [()]

    def test_merges_are_left_out(self, project: GitRepository) -> None:
        project.commit("Base", a="1")
        project.git("checkout", "--quiet", "-b", "topic")
        project.commit("Topic", b="1")
        project.git("checkout", "--quiet", "main")
        project.commit("Main", c="1")
        project.git("merge", "--quiet", "--no-edit", "topic")

        assert [commit.subject for commit in read_commits(project.folder, ())] == ["Main", "Topic", "Base"]

    def test_number_of_commits_is_limited(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hashes = [project.commit(f"Number {n}", a=str(n)) for n in range(3)]
        monkeypatch.setattr(git_log, "_COMMITS", 2)
        assert read_commits(project.folder, ()).hashes == (hashes[2], hashes[1])

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
    def test_any_file_name_and_subject_encoding_is_read(self, project: GitRepository) -> None:
        project.write({"tab\there\nand there.py": "1", "größe 日本.py": "2"})
        project.git("config", "i18n.commitEncoding", "ISO-8859-1")
        project.commit("Größe".encode("latin-1"))
        project.git("config", "i18n.commitEncoding", "UTF-8")
        project.write({"a": "1"})
        project.commit(b"broken \xff\xfe bytes")

        newest, oldest = read_commits(project.folder, ())

        assert newest.subject.startswith("broken ")
        assert oldest.subject == "Größe"
        assert {change.path for change in oldest.changes} == {"tab\there\nand there.py", "größe 日本.py"}

    def test_user_settings_of_git_have_no_effect(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.commit("Add", old__py=LINES, copied__py="".join(reversed(LINES)))
        project.git("mv", "old.py", "new.py")
        project.commit("Move", copied__py="x", copy__py="".join(reversed(LINES)))
        expected = list(read_commits(project.folder, ()))
        settings = """
            diff.renames=false diff.noprefix=true color.ui=always core.quotePath=true log.date=relative
            log.showSignature=true diff.external=false i18n.logOutputEncoding=UTF-16 core.pager=false
            format.pretty=fuller notes.displayRef=* diff.renameLimit=1 diff.orderFile=/nowhere
        """
        for setting in settings.split():
            project.git("config", *setting.split("=", 1))
        monkeypatch.setenv("GIT_DIR", "/nowhere")
        monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")

        reading = read_commits(project.folder, ())

        assert list(reading) == expected
        assert reading.problem == ""

    def test_subfolder_sees_only_changes_below_it(self, project: GitRepository) -> None:
        project.write({"elsewhere/moved.py": LINES})
        project.commit("Outside")
        project.git("mv", "elsewhere", "app")
        project.commit("Move in")
        project.git("mv", "app/moved.py", "app/renamed.py")
        project.write({"README": "1"})
        project.commit("Rename")

        commits = list(read_commits(project.folder / "app", ()))

        assert [(commit.subject, commit.changes) for commit in commits] == [
            ("Rename", (Change("renamed.py", before="moved.py"),)),
            ("Move in", (Change("moved.py"),)),
        ]


class TestProblems:
    def test_folder_without_repository_reports_a_problem(self, tmp_path: Path) -> None:
        reading = read_commits(tmp_path, ())
        assert (reading.hashes, list(reading)) == ((), [])
        assert "not in a git repository" in reading.problem
        assert head(tmp_path) is None
        assert watched_files(tmp_path) == []

    def test_repository_without_commits_reports_a_problem(self, project: GitRepository) -> None:
        reading = read_commits(project.folder, ())
        assert list(reading) == []
        assert "no commit yet" in reading.problem
        assert head(project.folder) is None

    def test_missing_git_reports_a_remedy(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = project.commit("One", a="1")
        monkeypatch.setenv("PATH", "")
        reading = read_commits(project.folder, ())
        assert list(reading) == []
        assert "install it" in reading.problem
        assert head(project.folder) == commit

    def test_broken_repository_reports_a_problem(self, project: GitRepository) -> None:
        commit = project.commit("One", a="1")
        shutil.rmtree(project.folder / ".git" / "objects" / commit[:2])
        reading = read_commits(project.folder, ())
        assert list(reading) == []
        assert reading.problem.startswith("git: ")

    @pytest.mark.parametrize("text", ["", "gitdir: /nowhere", "gitdir: \0", "\xff"])
    def test_invalid_git_file_gives_no_history(self, tmp_path: Path, text: str) -> None:
        (tmp_path / ".git").write_text(text, encoding="latin-1")
        assert head(tmp_path) is None
        assert read_commits(tmp_path, ()).problem

    def test_missing_text_only_loses_renames_of_its_commit(self, project: GitRepository) -> None:
        oldest = project.commit("Add", a__py=LINES, b__py=LINES + "b")
        project.git("mv", "b.py", "c.py")
        project.commit("Alike", c__py=LINES + "c")
        blob = project.git("rev-parse", "HEAD:c.py")
        project.git("mv", "a.py", "d.py")
        newest = project.commit("Move", d__py=LINES + "d")
        (project.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

        reading = read_commits(project.folder, ())
        commits = list(reading)

        assert [commit.hash for commit in commits] == list(reading.hashes)
        assert (reading.hashes[0], reading.hashes[-1]) == (newest, oldest)
        assert commits[1].changes == (Change("b.py", deleted=True), Change("c.py"))
        assert reading.problem == ""

    def test_last_commit_of_a_shallow_clone_is_left_out(self, project: GitRepository, tmp_path: Path) -> None:
        for number in range(3):
            project.commit(f"Number {number}", a=str(number))
        source, clone = f"file://{project.folder.as_posix()}", tmp_path / "clone"
        project.git("clone", "--quiet", "--depth=2", source, str(clone))

        reading = read_commits(clone, ())

        assert [commit.subject for commit in reading] == ["Number 2"]
        assert len(reading.hashes) == 1

    def test_partial_clone_fetches_nothing(self, project: GitRepository, tmp_path: Path) -> None:
        project.git("config", "uploadpack.allowFilter", "true")
        project.commit("Add", a__py=LINES)
        project.git("mv", "a.py", "b.py")
        project.commit("Move", b__py=LINES + "b")
        project.commit("Change", b__py="other")
        source, clone = f"file://{project.folder.as_posix()}", tmp_path / "clone"
        project.git("clone", "--quiet", "--filter=blob:none", source, str(clone))
        before = sorted((clone / ".git" / "objects").rglob("*"))

        reading = read_commits(clone, ())

        assert [commit.subject for commit in reading] == ["Change", "Move", "Add"]
        assert reading.problem == ""
        assert sorted((clone / ".git" / "objects").rglob("*")) == before


class TestStopping:
    def test_stop_ends_git_and_reports_it(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.commit("One", a="1")
        _hang(monkeypatch, project)
        reading = read_commits(project.folder, (), stop=lambda: True)
        assert "stopped" in reading.problem

    def test_commits_read_before_the_deadline_are_kept(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.commit("One", a="1")
        _hang(monkeypatch, project)
        monkeypatch.setattr(git_log, "_SECONDS", 0.2)
        reading = read_commits(project.folder, ())
        assert len(reading.hashes) == 1
        assert "took too long" in reading.problem

    def test_closing_the_reader_stops_git(
        self, project: GitRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.commit("One", a="1")
        _hang(monkeypatch, project)
        begun = time.monotonic()
        with closing(Git(git_folder(), begun + 300).run(("log",))) as blocks:
            assert next(blocks).strip().decode() == head(project.folder)
        assert time.monotonic() - begun < 60
        assert not [thread for thread in threading.enumerate() if thread.name == "cairn-git"]


def _hang(monkeypatch: pytest.MonkeyPatch, project: GitRepository) -> None:
    """Put a git on the PATH that lists HEAD and then waits for ever."""
    if os.name == "nt":
        pytest.skip("The fake git is a shell script.")
    folder = project.folder.parent / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(f"#!/bin/sh\necho {head(project.folder)}\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


class TestHead:
    def test_head_is_read_from_packed_references(self, project: GitRepository) -> None:
        commit = project.commit("One", a="1")
        project.git("branch", "main-2")
        project.git("tag", "-a", "-m", "v", "v1")
        project.git("pack-refs", "--all")
        assert not (project.folder / ".git/refs/heads/main").exists()
        assert head(project.folder) == commit

    def test_head_starts_no_process(self, project: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
        commit = project.commit("One", a="1")
        monkeypatch.setattr(subprocess, "Popen", None)
        assert head(project.folder) == commit

    def test_empty_git_folder_is_not_a_repository(self, project: GitRepository) -> None:
        commit = project.commit("One", a="1")
        (project.folder / "inner" / ".git").mkdir(parents=True)
        assert head(project.folder / "inner") == commit
        found = locate(project.folder / "inner")
        assert found is not None
        assert found.top == project.folder.resolve()

    def test_watched_file_changes_with_each_commit_and_checkout(
        self, project: GitRepository, tmp_path: Path
    ) -> None:
        project.commit("One", a="1")
        project.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
        tree = tmp_path / "tree"

        def state() -> list[bytes]:
            return [file.read_bytes() if file.exists() else b"" for file in watched_files(tree)]

        states = [state()]
        for command in ("commit --allow-empty -m Two", "checkout --detach", "reset --hard HEAD~1"):
            project.git("-C", str(tree), *command.split(), "--quiet")
            states.append(state())
        assert len({tuple(each) for each in states}) == 4


class TestFollowing:
    def test_file_continues_under_its_old_names(self, project: GitRepository) -> None:
        project.commit("Add", a=LINES)
        project.git("mv", "a", "b")
        project.commit("First move", b=LINES + "b\n")
        project.commit("Change", b=LINES + "b\nc\n")
        project.git("mv", "b", "c")
        project.commit("Second move")

        assert histories(project.folder, "c") == {"c": ["Second move", "Change", "First move", "Add"]}

    def test_reused_name_does_not_inherit(self, project: GitRepository) -> None:
        project.commit("Add", a=LINES)
        project.git("mv", "a", "b")
        project.commit("Move away")
        project.commit("Take the name again", a="something else")

        assert histories(project.folder, "a", "b") == {
            "a": ["Take the name again"],
            "b": ["Move away", "Add"],
        }

        project.git("rm", "--quiet", "b")
        project.commit("Remove")

        assert histories(project.folder, "a") == {"a": ["Take the name again"]}

    @pytest.mark.parametrize(
        ("newest_first", "expected"),
        [
            pytest.param(
                [
                    (Change("b", before="a"),),
                    (Change("b", deleted=True),),  # the first b, which today's b does not continue
                    (Change("a"), Change("b")),
                    (Change("b"),),
                ],
                {"b": ["3", "1"]},
                id="the old owner of a new name is another file",
            ),
            pytest.param(
                [(Change("a", before="b"), Change("b", before="a")), (Change("a"),), (Change("b"),)],
                {"a": ["2", "0"], "b": ["2", "1"]},
                id="files that change places",
            ),
            pytest.param(
                [(Change("b", before="a"),), (Change("b", before="a"),), (Change("a"),)],
                {"b": ["2", "0"]},
                id="the same rename on two branches counts once",
            ),
        ],
    )
    def test_renames_lead_to_the_commits_of_the_current_file(
        self, newest_first: list[tuple[Change, ...]], expected: dict[str, list[str]]
    ) -> None:
        last = len(newest_first) - 1
        commits = [Commit(str(last - n), last - n, "", changes) for n, changes in enumerate(newest_first)]
        found = follow(commits, expected)
        assert {name: [touch.hash for touch in found[name].touches] for name in found} == expected

    def test_copy_does_not_inherit(self, project: GitRepository) -> None:
        project.commit("Add", a=LINES)
        project.commit("Copy", b=LINES)
        assert histories(project.folder, "a", "b") == {"a": ["Add"], "b": ["Copy"]}

    def test_sweeping_commits_only_rename(self) -> None:
        moved = tuple(Change(f"new/{n}", before=f"old/{n}") for n in range(61))
        commits = [
            Commit("2", 20, "Move all", moved),
            Commit("1", 10, "One thing", (Change("old/7"), Change("x"))),
        ]

        found = follow(commits, ["new/7", "new/8"])

        assert [touch.hash for touch in found["new/7"].touches] == ["1"]
        assert (found["new/7"].count, found["new/7"].last_time, found["new/7"].touches[0].files) == (1, 10, 2)
        assert found["new/8"] == FileHistory((), 0, 20)

    def test_file_keeps_latest_commits_and_counts_all(self) -> None:
        commits = [Commit(str(n), n, "", (Change("a"),)) for n in range(402, 0, -1)]
        found = follow(commits, ["a"])["a"]
        assert [touch.hash for touch in found.touches] == [str(n) for n in range(402, 2, -1)]
        assert (found.count, found.last_time) == (402, 402)

    def test_missing_files_are_not_reported(self) -> None:
        assert follow([Commit("1", 1, "", (Change("a"), Change("b", deleted=True)))], []) == {}


def test_a_checkout_has_a_number_for_each_commit(project: GitRepository) -> None:
    checkout = Checkout(project.folder)
    assert checkout.number() == 0
    commits = [project.commit(subject, berths__py=f"# {subject}\n") for subject in ("Moor", "Guide")]
    first, second = int(commits[0][:15], 16), int(commits[1][:15], 16)
    assert checkout.number() == second
    project.git("checkout", "--quiet", "HEAD~1")
    assert checkout.number() == first
    project.git("checkout", "--quiet", "main")
    assert checkout.number() == second
    # git writes the log of HEAD before the reference of the branch.
    (project.folder / ".git" / "refs" / "heads" / "main").write_text(f"{commits[0]}\n")
    assert checkout.number() == first
