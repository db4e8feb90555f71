"""What differs between a commit and the files of a folder is found as git finds it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.git_repository import GitRepository
from tests.git_traps import Traps, snapshot

from cairn.errors import InvalidRequestError
from cairn.settings.tree import IndexSettings
from cairn.workspace import comparison, tracked_files
from cairn.workspace.changes import working_tree_change
from cairn.workspace.diff import Change, FileChange, Hunk
from cairn.workspace.scan import FileRules, permitted_text, read_bytes
from cairn.workspace.tracked_files import IndexedFiles

TEXT = "".join(f"line {number} of the harbour\n" for number in range(30))


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
    unsaved: Mapping[str, str] | None = None,
    indexed: IndexedFiles | None = None,
    seconds: float = 60,
    pause: float = 0,
) -> Change:
    rules, texts = FileRules(root, IndexSettings()), unsaved or {}

    def text_of(path: str) -> str | None:
        time.sleep(pause)
        try:
            return texts[path] if path in texts else permitted_text(root, path, rules)
        except OSError:
            return None

    deadline = time.monotonic() + seconds
    return working_tree_change(
        root, rules, text_of, base=base, staged=staged, unsaved=texts, indexed=indexed, deadline=deadline
    )


def only(change: Change) -> FileChange:
    (file,) = change.files
    return file


def paths(change: Change) -> list[str]:
    return [file.path for file in change.files]


# --- what counts ------------------------------------------------------------------------------------------


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


def test_staged_change_ignores_the_files(project: GitRepository) -> None:
    project.write({"a.py": "A\n", "new.py": "n\n"})
    project.git("add", "a.py", "new.py")
    project.git("rm", "--quiet", "--cached", "b.py")
    project.write({"a.py": "later\n", "later.py": ""})
    found = changed(project.folder, staged=True, unsaved={"a.py": "unsaved\n"})
    assert [(file.path, file.after) for file in found.files] == [
        ("a.py", "A\n"), ("b.py", None), ("new.py", "n\n"),
    ]  # fmt: skip


def test_files_that_are_as_before_are_no_change(project: GitRepository) -> None:
    project.write({"a.py": "staged\n"})
    project.git("add", "a.py")
    project.write({"a.py": "a\nb\nc\n"})  # The file is as in the commit again, though not as in the index.
    os.utime(project.folder / "b.py", (1, 1))
    assert changed(project.folder, unsaved={"b.py": "b\n"}).files == ()


def test_file_that_was_edited_and_got_a_new_path_is_one_file(project: GitRepository) -> None:
    project.commit("Second", {"harbour.py": TEXT})
    (project.folder / "harbour.py").unlink()
    project.write({"port/quay.py": TEXT.replace("line 7 of", "line seven of")})
    file = only(changed(project.folder))
    assert (file.before_path, file.path, file.is_removed) == ("harbour.py", "port/quay.py", False)
    assert file.hunks == (Hunk(7, ("line 7 of the harbour",), 7, ("line seven of the harbour",)),)
    project.git("add", "--all")
    assert changed(project.folder, staged=True).files == (file,)


def test_change_of_line_ends_or_mode_alone_is_no_change(project: GitRepository) -> None:
    (project.folder / "a.py").write_bytes(b"a\r\nb\r\nc\r\n")
    (project.folder / "b.py").chmod(0o755)
    assert changed(project.folder).files == ()
    project.git("add", "--all")
    assert changed(project.folder).files == ()
    (project.folder / "a.py").write_bytes(b"a\r\nB\r\nc\r\n")
    assert only(changed(project.folder)).hunks == (Hunk(1, ("b",), 1, ("B",)),)


def test_files_converted_by_git_are_no_change(project: GitRepository) -> None:
    project.git("config", "core.autocrlf", "true")
    (project.folder / "a.py").unlink()
    project.git("checkout", "a.py")
    assert b"\r\n" in (project.folder / "a.py").read_bytes()
    os.utime(project.folder / "a.py", (1, 1))
    assert changed(project.folder).files == ()


def test_binary_and_large_files_of_git_lfs_have_no_hunks(project: GitRepository) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    project.commit("Second", {"a.data": b"\0\1\2\3", "b.data": b"\0", "c.txt": pointer})
    project.write({"a.data": b"\0\1\2\3\4", "c.txt": "what it stands for\n", "new.data": b"\0\1\2\5"})
    found = [
        (file.path, file.before_path, file.problem, file.hunks) for file in changed(project.folder).files
    ]
    assert found == [
        ("a.data", "a.data", "binary file", ()),
        ("c.txt", "c.txt", "its content is kept by Git LFS", ()),
        ("new.data", None, "binary file", ()),
    ]


def test_secrets_and_excluded_files_are_left_out(project: GitRepository) -> None:
    token = "ghp_" + "Q7vR2mXc9LtB4kWz8HsD1nYp5JfG3aUe6TqZ"
    project.commit(
        "Second",
        {".env": "KEY=1\n", "settings.json": f'{{"a": "{token}"}}\n', "c.json": "{}\n", "x.min.js": "1"},
    )
    project.write({".env": "KEY=2\n", "settings.json": "{}\n", "x.min.js": "2", "id_rsa": "new"})
    project.write({"c.json": f'{{"a": "{token}"}}\n', ".gitignore": "*.log\n", "run.log": "x", "a.py": "A\n"})
    assert paths(changed(project.folder)) == [".gitignore", "a.py"]
    project.git("add", "--all")
    assert paths(changed(project.folder, staged=True)) == [".gitignore", "a.py"]
    for name in (".env", "settings.json", "x.min.js"):
        (project.folder / name).unlink()
    assert paths(changed(project.folder)) == [".gitignore", "a.py"]


def stamps(root: Path, *names: str) -> dict[str, tuple[int, int]]:
    return {name: ((status := (root / name).stat()).st_size, status.st_mtime_ns) for name in names}


@pytest.mark.parametrize("few", [0, 20_000])
def test_files_of_the_index_are_used_instead_of_a_walk(
    project: GitRepository, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(tracked_files, "_NOTICED_NS", -(10**15))
    monkeypatch.setattr(tracked_files, "_FEW", few)
    project.write({"a.py": "A\n", "new.py": "n\n", "unknown.py": "u\n"})
    known, taken = stamps(project.folder, "a.py", "b.py", "new.py"), list[bool]()
    for version in (1, 1, 2):
        indexed = IndexedFiles(version, lambda: (taken.append(True), known)[1])
        assert paths(changed(project.folder, indexed=indexed)) == ["a.py", "new.py"]
    assert len(taken) == 2
    project.write({"b.py": "B\n", "newer.py": "n\n"})
    (project.folder / "new.py").unlink()
    unread = IndexedFiles(2, dict, frozenset({"b.py", "newer.py", "new.py"}))
    assert paths(changed(project.folder, indexed=unread)) == ["a.py", "b.py", "newer.py"]
    project.commit("Second")
    assert changed(project.folder, indexed=unread).files == ()


def test_latest_files_are_found_though_the_index_lacks_them(project: GitRepository) -> None:
    project.commit("Second", {"deep/c.py": "c\n", ".gitignore": "out/\n"})
    known = stamps(project.folder, "a.py", "b.py", "deep/c.py", ".gitignore")
    indexed = IndexedFiles(1, lambda: known)
    project.write({"new.py": "n\n", "deep/new.py": "n\n", "deep/er/still/new.py": "n\n", "out/x.py": "x\n"})
    project.write({"b.py": "B\n"})
    found = paths(changed(project.folder, indexed=indexed))
    assert found == ["b.py", "deep/er/still/new.py", "deep/new.py", "new.py"]
    long_ago = time.time() - 3_600
    for folder in ("", "deep", "deep/er"):
        os.utime(project.folder / folder, (long_ago, long_ago))
    assert paths(changed(project.folder, indexed=indexed)) == ["b.py"]


def test_touched_files_are_read_once(project: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    monkeypatch.setattr(comparison, "read_bytes", lambda path: (read.append(path.name), read_bytes(path))[1])
    os.utime(project.folder / "a.py", (1, 1))
    for _ in range(2):
        assert changed(project.folder).files == ()
    assert read.count("a.py") == 1


def test_change_in_the_moment_of_staging_is_found(project: GitRepository) -> None:
    file = project.folder / "b.py"
    status = file.stat()
    project.git("add", "--all")
    file.write_text("B\n")
    os.utime(file, ns=(status.st_mtime_ns, status.st_mtime_ns))
    os.utime(project.folder / ".git" / "index", ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert paths(changed(project.folder)) == ["b.py"]


# --- the base ---------------------------------------------------------------------------------------------


def test_base_is_any_commit_branch_or_tag(project: GitRepository, tmp_path: Path) -> None:
    first = project.git("rev-parse", "HEAD")
    project.git("tag", "--annotate", "--message=One", "v1.0")
    project.git("branch", "old/branch")
    second = project.commit("Second", a__py="a\n")
    clone = project.clone(tmp_path / "clone")
    third = clone.commit("Third", c__py="c\n")
    clone.write({"d.py": "d\n"})
    names = {
        first: [
            "v1.0",
            "tags/v1.0",
            "HEAD~2",
            "HEAD^^",
            "@~2",
            first,
            first[:7],
            "origin/old/branch",
            "v1.0~0",
        ],
        second: [
            "origin/main",
            "origin",
            "HEAD^",
            "HEAD@{1}",
            "refs/remotes/origin/main",
            "origin/main...HEAD",
        ],
        third: ["HEAD", "@", "main", "heads/main", third[:12].upper()],
    }
    for commit, texts in names.items():
        for text in texts:
            assert changed(clone.folder, base=text).base == commit, text
    assert paths(changed(clone.folder, base="v1.0")) == ["a.py", "c.py", "d.py"]
    assert paths(changed(clone.folder, base="v1.0", staged=True)) == ["a.py", "c.py"]


def test_base_is_a_stash(project: GitRepository) -> None:
    for text in ("x\n", "y\n"):
        project.write({"a.py": text})
        project.git("stash")
    assert changed(project.folder, base="stash@{1}").files[0].before == "x\n"
    assert changed(project.folder, base="stash").files[0].before == "y\n"


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("mian", "`mian` is not a commit, branch or tag; did you mean `main`"),
        ("relaese/2", "did you mean `release/2`"),
        ("main~9", "goes back further than the history"),
        ("stash@{3}", "is not a commit"),
        ("main..HEAD", "is a range"),
        ("deadbeef", "is not a commit"),
        ("0" * 40, "is not a commit"),
        ("--output=x", "is not a commit"),
        ("-h", "is not a commit"),
        ("main:a.py", "is not a commit"),
        ("HEAD^{/First}", "is not understood"),
        ("../../etc/passwd", "is a range"),
        ("x" * 900, "is not a commit"),
        ("a\nb\0c", "is not a commit"),
        ("HEAD...release/2", "does not end at the commit that is checked out"),
        ("alien...", "have no common commit"),
    ],
)
def test_unknown_base_is_refused(project: GitRepository, base: str, problem: str) -> None:
    project.git("switch", "--quiet", "--orphan", "alien")
    project.commit("Alien", z__py="")
    project.git("switch", "--quiet", "main")
    project.git("branch", "release/2")
    project.commit("Second", a__py="")
    with pytest.raises(InvalidRequestError, match=problem) as raised:
        changed(project.folder, base=base)
    assert raised.value.field == "base"
    assert len(str(raised.value)) < 300


def test_shallow_clone_says_that_history_ends(project: GitRepository, tmp_path: Path) -> None:
    project.commit("Second", a__py="A\n")
    GitRepository(tmp_path).git("clone", "--quiet", "--depth=1", project.folder.as_uri(), "shallow")
    assert changed(tmp_path / "shallow").files == ()
    with pytest.raises(InvalidRequestError, match="shallow clone: run `git fetch"):
        changed(tmp_path / "shallow", base="HEAD~1")


# --- kinds of repositories --------------------------------------------------------------------------------


def test_folder_without_repository_is_refused(project: GitRepository, tmp_path: Path) -> None:
    project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    for folder in (tmp_path, tmp_path / "bare"):
        with pytest.raises(InvalidRequestError, match="text of a diff"):
            changed(folder)


def test_everything_is_new_before_the_first_commit(tmp_path: Path) -> None:
    project = GitRepository(tmp_path / "project")
    assert changed(project.folder) == Change(())
    project.write({"a.py": "a\n", "b.py": "b\n"})
    project.git("add", "a.py")
    assert [(file.path, file.before_path) for file in changed(project.folder).files] == [
        ("a.py", None), ("b.py", None),
    ]  # fmt: skip
    assert paths(changed(project.folder, staged=True)) == ["a.py"]
    with pytest.raises(InvalidRequestError, match="is not a commit"):
        changed(project.folder, base="HEAD~1")


def test_subfolder_has_its_own_files_alone(project: GitRepository) -> None:
    project.commit("Second", {"app/a.py": "a\n", "app/b.py": "b\n", "application.py": "x\n"})
    project.write({"app/a.py": "A\n", "app/new.py": "n\n", "a.py": "A\n", "application.py": "y\n"})
    project.git("rm", "--quiet", "app/b.py")
    found = changed(project.folder / "app", base="HEAD")
    assert paths(found) == ["a.py", "b.py", "new.py"]
    assert paths(changed(project.folder / "app", staged=True)) == ["b.py"]


def test_worktree_has_its_own_commit(project: GitRepository, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "side"), "HEAD")
    head = project.git("rev-parse", "HEAD")
    project.commit("Second", a__py="A\n")
    (tmp_path / "side" / "b.py").write_text("B\n")
    found = changed(tmp_path / "side")
    assert found.base == head
    assert paths(found) == ["b.py"]
    assert paths(changed(tmp_path / "side", base="main")) == ["a.py", "b.py"]


def test_merge_in_conflict_compares_with_the_commit(project: GitRepository) -> None:
    project.git("switch", "--quiet", "--create", "side")
    project.commit("Side", a__py="a\nside\nc\n", s__py="s\n")
    project.git("switch", "--quiet", "main")
    head = project.commit("Main", a__py="a\nmain\nc\n")
    with pytest.raises(Exception, match="merge"):
        project.git("merge", "side")
    found = changed(project.folder)
    assert found.base == head
    assert found.problems == ("The marks of a merge in conflict count as text: a.py.",)
    assert paths(found) == ["a.py", "s.py"]
    assert found.files[0].before == "a\nmain\nc\n"
    assert "<<<<<<<" in (found.files[0].after or "")
    project.write({"a.py": "a\nboth\nc\n"})
    assert changed(project.folder).files[0].hunks == (Hunk(1, ("main",), 1, ("both",)),)


def test_rebase_and_detached_head_compare_with_the_commit_at_hand(project: GitRepository) -> None:
    first = project.git("rev-parse", "HEAD")
    project.git("switch", "--quiet", "--create", "side")
    project.commit("Side", a__py="a\nside\nc\n")
    project.git("switch", "--quiet", "main")
    head = project.commit("Main", a__py="a\nmain\nc\n")
    project.git("switch", "--quiet", "side")
    with pytest.raises(Exception, match="rebase"):
        project.git("rebase", "main")
    assert changed(project.folder).base == head
    project.git("rebase", "--abort")
    project.git("checkout", "--quiet", "--detach", first)
    project.write({"b.py": "B\n"})
    found = changed(project.folder)
    assert (found.base, paths(found)) == (first, ["b.py"])


def test_submodules_and_inner_repositories_are_left_out(project: GitRepository, tmp_path: Path) -> None:
    library = GitRepository(tmp_path / "library")
    library.commit("Library", y__py="y\n")
    project.git("submodule", "--quiet", "add", str(library.folder), "lib")
    project.commit("Second")
    GitRepository(project.folder / "inner").commit("Inner", {"deep/x.py": "x\n"})
    project.write({"lib/y.py": "Y\n"})
    assert changed(project.folder).files == ()
    GitRepository(project.folder / "lib").commit("Newer")
    found = changed(project.folder)
    assert found.files == ()
    assert found.problems == ("Submodules are left out: lib.",)
    project.git("add", "lib")
    assert changed(project.folder, staged=True) == found


@pytest.mark.parametrize("index", ["--no-sparse-index", "--sparse-index"])
def test_files_that_are_not_checked_out_are_not_removed(project: GitRepository, index: str) -> None:
    project.commit("Second", {"in/a.py": "a\n", "out/b.py": "b\n", "out/deep/c.py": "c\n"})
    project.git("sparse-checkout", "set", "--cone", index, "in")
    assert not (project.folder / "out").exists()
    assert changed(project.folder).files == ()
    project.write({"in/a.py": "A\n"})
    assert paths(changed(project.folder)) == ["in/a.py"]
    assert paths(changed(project.folder, base="HEAD~1")) == ["in/a.py", "out/b.py", "out/deep/c.py"]


@pytest.mark.parametrize("option", ["--skip-worktree", "--assume-unchanged"])
def test_files_that_git_need_not_look_for_are_not_removed(project: GitRepository, option: str) -> None:
    project.git("update-index", option, "a.py", "b.py")
    (project.folder / "a.py").unlink()
    assert changed(project.folder).files == ()


def test_file_that_is_only_intended_to_be_added_is_new(project: GitRepository) -> None:
    project.write({"new.py": "n\n"})
    project.git("add", "--intent-to-add", "new.py")
    file = only(changed(project.folder))
    assert (file.path, file.before_path, file.after) == ("new.py", None, "n\n")


@pytest.mark.parametrize("form", ["2", "3", "4", "split", "sha256"])
def test_every_form_of_index_is_read(tmp_path: Path, form: str) -> None:
    project = GitRepository(
        tmp_path / "project", options=["--object-format=sha256"] if form == "sha256" else []
    )
    project.commit("First", {"a.py": "a\n", "b.py": "b\n", "deep/é b.py": "c\n", "deep/ef.py": "d\n"})
    if form == "split":
        project.git("update-index", "--split-index")
    elif form != "sha256":
        project.git("update-index", f"--index-version={form}")
    if form == "3":
        project.git("update-index", "--skip-worktree", "deep/ef.py")
    project.write({"a.py": "A\n", "deep/é b.py": "C\n"})
    assert paths(changed(project.folder)) == ["a.py", "deep/é b.py"]
    project.git("add", "--all")
    assert paths(changed(project.folder)) == ["a.py", "deep/é b.py"]


@pytest.mark.parametrize("cut", [5, 40, 100])
def test_damaged_index_is_an_error(project: GitRepository, cut: int) -> None:
    index = project.folder / ".git" / "index"
    index.write_bytes(index.read_bytes()[:cut])
    with pytest.raises(Exception, match=r"git|index"):
        changed(project.folder)


def test_partial_clone_says_which_contents_are_missing(project: GitRepository, tmp_path: Path) -> None:
    project.commit("Second", a__py="A\n")
    project.git("config", "uploadpack.allowFilter", "true")
    url = project.folder.as_uri()
    GitRepository(tmp_path).git("clone", "--quiet", "--filter=blob:none", url, "partial")
    (tmp_path / "partial" / "b.py").write_text("B\n")
    found = changed(tmp_path / "partial", base="HEAD~1").files
    assert [(file.path, bool(file.problem)) for file in found] == [("a.py", True), ("b.py", False)]


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no links")
def test_links_are_left_out(project: GitRepository) -> None:
    (project.folder / "link.py").symlink_to("a.py")
    project.commit("A link")
    (project.folder / "link.py").unlink()
    (project.folder / "link.py").symlink_to("b.py")
    (project.folder / "other.py").symlink_to("b.py")
    (project.folder / "a.py").unlink()
    (project.folder / "a.py").symlink_to("b.py")
    assert changed(project.folder).files == ()


@pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")
def test_hostile_repository_runs_and_writes_nothing(
    project: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traps = Traps(tmp_path / "traps")
    project.commit("Second", a__py="A\n")
    project.write({".gitattributes": "* filter=trap diff=trap merge=trap ident\n", "b.py": "B\n"})
    traps.set(project.folder)
    other = GitRepository(tmp_path / "other", {"x.py": "x\n"})
    for name, value in traps.variables(other.folder).items():
        monkeypatch.setenv(name, value)
    before = snapshot(project.folder)
    for base in (None, "HEAD~1", "main", "HEAD~1...HEAD"):
        assert "b.py" in paths(changed(project.folder, base=base))
    changed(project.folder, staged=True)
    with pytest.raises(InvalidRequestError):
        changed(project.folder, base="trap")
    assert snapshot(project.folder) == before
    assert traps.sprung == set()


# --- the deadline -----------------------------------------------------------------------------------------


def test_change_is_incomplete_after_the_deadline(project: GitRepository) -> None:
    project.write({f"new/{number}.py": f"{number}\n" for number in range(200)})
    began = time.monotonic()
    found = changed(project.folder, seconds=1, pause=0.02)
    assert time.monotonic() - began < 2
    assert not found.complete
    assert len(found.files) == 200
    assert {file.problem for file in found.files} == {"", "not compared in time"}
    assert "took too long" in found.problems[0]


def test_lines_are_compared_coarsely_after_the_deadline(
    project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": "A\nb\nC\n"})
    monkeypatch.setattr("cairn.workspace.line_differ._COMMAND", ("no-such-command",))
    found = changed(project.folder)
    assert not found.complete
    assert only(found).hunks == (Hunk(0, ("a", "b", "c"), 0, ("A", "b", "C")),)


def test_thousands_of_new_files_are_found(project: GitRepository) -> None:
    project.write({f"new/{number // 100}/{number}.py": f"{number}\n" for number in range(3_000)})
    found = changed(project.folder)
    assert len(found.files) == 3_000
    assert found.complete


def test_moved_folder_is_found_again(project: GitRepository, tmp_path: Path) -> None:
    """Keep the memory of a folder apart from that of another one at the same path."""
    assert changed(project.folder).files == ()
    shutil.rmtree(project.folder)
    GitRepository(project.folder).commit("Other", {"x.py": "x\n"})
    project.write({"x.py": "X\n"})
    assert paths(changed(project.folder)) == ["x.py"]
