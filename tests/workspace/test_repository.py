"""Which folders count as a git repository, and which of its files are read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest
from tests.git_repository import GitRepository

from cairn.workspace.git import GitError, is_hash
from cairn.workspace.git_index import entries
from cairn.workspace.git_log import head, read_commits
from cairn.workspace.repository import NoRepositoryError, Repository, locate, open_bare, open_repository

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Links and pipes are those of Unix.")


@pytest.fixture
def private(tmp_path: Path) -> GitRepository:
    """A repository that the hostile one wants to be taken for."""
    project = GitRepository(tmp_path / "home" / "private")
    project.commit("Private", secret="1")
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "home" / "side"))
    return project


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    project = GitRepository(tmp_path_factory.mktemp("original") / "project")
    project.commit("Public", public="1")
    return project


@pytest.fixture
def project(original: GitRepository, tmp_path: Path) -> GitRepository:
    found = copy(original)
    found.folder = tmp_path / "project"
    shutil.copytree(original.folder, found.folder)
    return found


def unread(folder: Path) -> str:
    """Return why a folder has no history, and check that it has none."""
    reading = read_commits(folder, ())
    assert list(reading) == []
    assert reading.problem
    return reading.problem


# --- a `.git` that names another repository ---------------------------------------------------------------


@pytest.mark.parametrize("named", ["private/.git", "private/.git/worktrees/side", "side/.git"])
def test_git_file_cannot_name_a_repository_of_another_folder(
    private: GitRepository, tmp_path: Path, named: str
) -> None:
    target = tmp_path / "home" / named
    text = target.read_text() if target.is_file() else f"gitdir: {target}\n"
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / ".git").write_text(text)
    assert "is not this folder's" in unread(tmp_path / "archive")
    assert head(tmp_path / "archive") is None
    assert locate(tmp_path / "archive") is None


@pytest.mark.parametrize("own", [".git", "elsewhere"])
def test_commondir_cannot_name_another_repository(private: GitRepository, tmp_path: Path, own: str) -> None:
    archive = tmp_path / "archive"
    folder = archive / own
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "commondir").write_text(f"{private.folder}/.git\n")
    (folder / "gitdir").write_text(f"{archive}/.git\n")
    if own != ".git":
        (archive / ".git").write_text(f"gitdir: {own}\n")
    assert head(archive) is None
    assert "is not read" in unread(archive)


@pytest.mark.parametrize(
    "part",
    ["", "HEAD", "objects", "refs", "refs/heads", "refs/heads/main", "packed-refs", "shallow", "config"],
)
def test_links_out_of_a_repository_are_not_followed(
    private: GitRepository, tmp_path: Path, part: str
) -> None:
    private.git("pack-refs", "--all")
    private.git("update-ref", "refs/heads/main", private.commit("Loose", secret="2"))
    archive = tmp_path / "archive"
    shutil.copytree(private.folder, archive)
    place, target = archive / ".git" / part, private.folder / ".git" / part
    target.touch()
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    if part == "packed-refs":
        (archive / ".git" / "refs" / "heads" / "main").unlink()
    place.symlink_to(target)
    assert "link" in unread(archive)


@pytest.mark.parametrize("kind", ["folder", "pack", "packs", "object", "commit-graph"])
def test_linked_objects_are_refused(private: GitRepository, tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "archive"
    if kind in ("pack", "packs"):
        private.git("gc", "--quiet")
    shutil.copytree(private.folder, archive)
    objects = archive / ".git" / "objects"
    commit = head(private.folder)
    assert commit
    place = {
        "folder": objects / commit[:2],
        "object": objects / commit[:2] / commit[2:],
        "packs": objects / "pack",
        "pack": next(iter((objects / "pack").glob("*.pack")), objects),
        "commit-graph": objects / "info" / "commit-graph",
    }[kind]
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.symlink_to(private.folder / place.relative_to(archive))
    assert str(place) in unread(archive)


def test_borrowed_objects_are_refused_with_a_remedy(private: GitRepository, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    private.git("clone", "--quiet", "--shared", str(private.folder), str(clone))
    assert head(clone) == head(private.folder)
    assert "git repack -a -d" in unread(clone)
    private.git("-C", str(clone), "repack", "-a", "-d", "--quiet")
    (clone / ".git" / "objects" / "info" / "alternates").unlink()
    assert [commit.subject for commit in read_commits(clone, ())] == ["Private"]


def test_index_of_packs_cannot_name_packs_elsewhere(private: GitRepository, project: GitRepository) -> None:
    commit = head(private.folder)
    private.git("repack", "-a", "-d", "--quiet")
    (pack,) = (private.folder / ".git/objects/pack").glob("*.idx")
    objects = project.folder / ".git" / "objects"
    up = os.path.relpath(pack, objects / "pack")
    # An index of packs is made where the pack is, and its name replaced by one of the same length.
    inside = objects / "pack" / ("x" * (len(up) - 4) + ".idx")
    shutil.copy(pack, inside)
    shutil.copy(pack.with_suffix(".pack"), inside.with_suffix(".pack"))
    private.git("-C", str(project.folder), "multi-pack-index", "write")
    for each in objects.rglob(f"{inside.stem}.*"):
        each.unlink()
    index = objects / "pack" / "multi-pack-index"
    index.chmod(0o644)
    index.write_bytes(index.read_bytes().replace(inside.name.encode(), up.encode()))
    (project.folder / ".git" / "HEAD").write_text(f"{commit}\n")
    assert head(project.folder) == commit
    unread(project.folder)


# --- what is one's own ----------------------------------------------------------------------------------


def test_worktree_and_submodule_belong_to_their_repository(
    private: GitRepository, project: GitRepository, tmp_path: Path
) -> None:
    allowed = ("-c", "protocol.file.allow=always")
    project.git(*allowed, "submodule", "--quiet", "add", str(private.folder), "deep/lib")
    project.commit("Add a library")
    assert [c.subject for c in read_commits(project.folder / "deep" / "lib", ())] == ["Private"]
    assert [c.subject for c in read_commits(tmp_path / "home" / "side", ())] == ["Private"]
    # The submodule of a worktree is in the git folder of the worktree.
    tree = tmp_path / "tree"
    project.git("worktree", "add", "--quiet", "--detach", str(tree))
    project.git("-C", str(tree), *allowed, "submodule", "--quiet", "update", "--init")
    assert [c.subject for c in read_commits(tree / "deep" / "lib", ())] == ["Private"]


def test_separate_git_folder_is_read_once_it_names_its_folder(tmp_path: Path) -> None:
    project = GitRepository(tmp_path / "project")
    project.commit("One", a="1")
    (project.folder / ".git").rename(tmp_path / "separate")
    (project.folder / ".git").write_text("gitdir: ../separate\n")
    assert "git config core.worktree" in unread(project.folder)
    project.git("config", "core.worktree", str(project.folder))
    assert [commit.subject for commit in read_commits(project.folder, ())] == ["One"]


def test_moved_worktree_is_read_once_it_is_repaired(private: GitRepository, tmp_path: Path) -> None:
    (tmp_path / "home" / "side").rename(tmp_path / "moved")
    assert "git worktree repair" in unread(tmp_path / "moved")
    private.git("-C", str(tmp_path / "moved"), "worktree", "repair")
    assert [commit.subject for commit in read_commits(tmp_path / "moved", ())] == ["Private"]


def test_old_link_as_head_is_read(project: GitRepository) -> None:
    commit = head(project.folder)
    (project.folder / ".git" / "HEAD").unlink()
    (project.folder / ".git" / "HEAD").symlink_to("refs/heads/main")
    assert head(project.folder) == commit


def test_bare_repository_is_opened_only_by_its_own_path(project: GitRepository, tmp_path: Path) -> None:
    project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    bare = open_bare(tmp_path / "bare")
    assert bare is not None
    assert bare.resolve("HEAD") == head(project.folder)
    assert open_bare(project.folder) is None
    with pytest.raises(NoRepositoryError):
        open_repository(tmp_path / "bare")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="Only root can give files away.")
def test_repository_of_another_user_counts_only_in_its_own_folder(project: GitRepository) -> None:
    inner = project.folder / "inner"
    inner.mkdir()
    os.chown(project.folder / ".git", 12345, 12345)
    assert "another user" in unread(inner)
    assert [commit.subject for commit in read_commits(project.folder, ())] == ["Public"]
    os.chown(inner, 12345, 12345)
    assert head(inner) == head(project.folder)


# --- files that are no files ------------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 << 30)


@pytest.mark.parametrize("make", [_pipe, _device, _huge])
@pytest.mark.parametrize(
    "part",
    ["HEAD", "refs/heads/main", "packed-refs", "shallow", "config", "index", "objects/info/alternates"],
)
def test_special_and_huge_files_do_not_hang(
    project: GitRepository, part: str, make: Callable[[Path], None]
) -> None:
    place = project.folder / ".git" / part
    place.unlink(missing_ok=True)
    make(place)
    if part == "packed-refs":
        (project.folder / ".git" / "refs" / "heads" / "main").unlink()
    found, began = open_repository(project.folder), time.monotonic()

    def read() -> None:
        found.git(found.resolve("HEAD") or "", began + 60)
        entries(found)

    with pytest.raises(GitError, match=r"special file|more than"):
        read()
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("make", [_pipe, _device, _huge])
def test_special_git_file_does_not_hang(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / ".git")
    assert locate(tmp_path) is None


@pytest.mark.parametrize("name", ["commondir", "gitdir"])
def test_pipe_in_the_folder_of_a_worktree_does_not_hang(
    private: GitRepository, tmp_path: Path, name: str
) -> None:
    file = private.folder / ".git" / "worktrees" / "side" / name
    file.unlink()
    os.mkfifo(file)
    assert locate(tmp_path / "home" / "side") is None


# --- names and hashes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "refs/../../../private", "refs/heads/../../config", "refs//heads/main", "/etc/passwd", "config",
        "../HEAD", "refs/heads/main.lock", "refs/heads/.hidden", "refs/heads/a..b",
        "refs/heads/@{x", "refs/heads/a\nb",
        "refs/heads/", "refs", "-x", "refs/heads/a:b", "refs/heads/a\\b", "ORIG_HEAD", "refs/heads/a\0",
    ],
)  # fmt: skip
def test_impossible_references_are_not_read(project: GitRepository, name: str) -> None:
    commit = project.git("rev-parse", "refs/heads/main")
    (project.folder / ".git" / "HEAD").write_text(f"ref: {name}\n")
    for path in ("refs/heads/main.lock", "ORIG_HEAD", "refs/heads/.hidden"):
        (project.folder / ".git" / path).write_text(commit)
    assert head(project.folder) is None
    assert open_repository(project.folder).resolve(name) is None


def test_loop_of_references_ends(project: GitRepository) -> None:
    (project.folder / ".git" / "refs" / "heads" / "main").write_text("ref: refs/heads/main\n")
    assert head(project.folder) is None


@pytest.mark.parametrize("commit", ["--output=x", "-h", "HEAD", "abc", "A" * 40, "a" * 41, "a" * 40 + "\n"])
def test_only_a_full_hash_becomes_a_commit(project: GitRepository, commit: str) -> None:
    assert not is_hash(commit)
    with pytest.raises(GitError, match="not the hash of a commit"):
        open_repository(project.folder).git(commit, time.monotonic() + 60)


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_references_in_a_table_are_read(tmp_path: Path, hashes: str) -> None:
    try:
        project = GitRepository(
            tmp_path / "project", options=["--ref-format=reftable", f"--object-format={hashes}"]
        )
    except subprocess.CalledProcessError:
        pytest.skip("This version of git keeps no references in a table.")
    first = project.commit("One", a="1")
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    second = project.commit("Two", a="2")
    project.git("tag", "-a", "-m", "v", "v1")
    found, side = open_repository(project.folder), open_repository(tmp_path / "side")
    assert (found.branch(), side.branch()) == ("refs/heads/main", "refs/heads/side")
    assert (head(project.folder), head(tmp_path / "side")) == (second, first)
    assert side.names("refs/heads", "refs/tags") == {"refs/heads/main", "refs/heads/side", "refs/tags/v1"}
    assert found.resolve("refs/heads/nowhere") is None
    assert [commit.subject for commit in read_commits(tmp_path / "side", ())] == ["One"]
    project.git("checkout", "--quiet", "--detach", first)
    assert (head(project.folder), found.branch()) == (first, "")
    (project.folder / ".git" / "reftable" / "tables.list").unlink()
    os.mkfifo(project.folder / ".git" / "reftable" / "tables.list")
    assert head(project.folder) is None


def test_names_are_those_of_git(project: GitRepository) -> None:
    for name in ("a", "b/c", "größe"):
        project.git("branch", name)
    project.git("pack-refs", "--all")
    project.git("branch", "loose/one")
    project.git("tag", "-a", "-m", "v", "v1")
    (project.folder / ".git" / "refs" / "heads" / "x.lock").touch()
    listed = project.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags").split("\n")
    found = open_repository(project.folder)
    assert found.names("refs/heads", "refs/tags") == set(listed)
    assert found.names("refs/heads") == {name for name in listed if name.startswith("refs/heads/")}
    assert isinstance(found, Repository)
    assert found.branch() == "refs/heads/main"
