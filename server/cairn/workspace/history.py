"""Reads what git knows about a workspace folder: which commits touched which file, under whichever name it had then.

No state of a repository raises: what could not be read is missing, and a sentence says why.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from attrs import define, frozen

from cairn.workspace.git import Git, GitError, locate, pieces

_COMMITS = 20_000
"""Most commits that are read, newest first."""
_SECONDS = 30.0
"""Reading 20,000 commits of ansible took 5 to 8 s on two cores; a hung network drive must come to an end too."""
_HEAD_SECONDS = 5.0
_RENAME_LIMIT = 1_000
"""git's own default for `diff.renameLimit`: a commit with more candidates gets exact renames only."""
_RESTARTS = 20
"""How often git is started again after a commit that it cannot compare."""
_SWEEPING = 60
"""A commit that touched more files says nothing about any one of them."""
_LATEST = 400
"""Commits that are kept per file; the subjects of older ones did not rank better."""


@frozen
class Change:
    """One file that a commit touched. Paths are relative to the workspace folder, with `/`."""

    path: str
    before: str | None = None
    """The old path, if the commit renamed the file."""
    deleted: bool = False


@frozen
class Commit:
    hash: str
    time: int
    """Unix seconds, by the committer's clock."""
    subject: str
    changes: tuple[Change, ...]
    """Those below the workspace folder: a file that moved in from outside shows without its old path."""


@frozen
class FileCommit:
    """A commit, as a file that it touched sees it."""

    hash: str
    files: int
    """How many files of the folder the commit touched, deleted ones included; at most 60."""


@frozen
class FileHistory:
    """What the commits say about one file. Commits of more than 60 files are left out."""

    touches: tuple[FileCommit, ...]
    """The latest 400, newest first."""
    count: int
    """How many commits touched the file."""
    last_time: int
    """Unix seconds of the newest of them; of the newest sweeping commit for a file that has no other."""


def head(root: Path) -> str | None:
    """The hash of the commit that is checked out, None where there is no repository or no commit yet.

    Reads two small files and starts no process, except where git keeps references in a table.
    """
    repository = locate(root)
    if repository is None:
        return None
    try:
        if repository.keeps_table:
            git = Git(root, time.monotonic() + _HEAD_SECONDS)
            return next(pieces(git.run(("rev-parse", "--verify", "--quiet", "HEAD")), b"\n"), None)
        return repository.resolve("HEAD")
    except (OSError, ValueError, GitError):  # references change while they are read: a later call finds them
        return None


def watched_files(root: Path) -> list[Path]:
    """The files, there or not yet, of which one changes whenever `head` does: at a commit, checkout, pull or reset.

    git replaces them by renaming, so watch their folders. For a subfolder or a worktree they lie outside `root`.
    """
    repository = locate(root)
    if repository is None:
        return []
    files = [repository.own / "HEAD", repository.own / "logs" / "HEAD"]
    return [*files, repository.common / "reftable" / "tables.list"] if repository.keeps_table else files


def read_commits(
    root: Path,
    known: Collection[str],
    stop: Callable[[], bool] = lambda: False,
) -> CommitReading:
    """The commits that HEAD reaches, the newest 20,000, and a way to read those whose hash is not in `known`.

    Merges are left out: what they merge is there, and their subjects name branches. So are the commits at which a
    shallow clone ends, as what they changed cannot be told. `stop` is asked ten times a second, on another thread.
    After 30 s of wall time what was read stays, and the next call goes on from there.
    """
    repository = locate(root)
    git = Git(root, time.monotonic() + _SECONDS, stop)
    if repository is None:
        return CommitReading((), "The folder is not in a git repository.", [], git, ())
    if head(root) is None:
        return CommitReading((), "The git repository has no commit yet.", [], git, ())
    below = ("--", ".") if repository.top != root.resolve() else ()
    hashes: list[str] = []
    problem = ""
    try:
        shallow = repository.shallow()
        listing = git.run(("rev-list", "--no-merges", f"--max-count={_COMMITS}", "HEAD", *below))
        hashes.extend(each for each in pieces(listing, b"\n") if each not in shallow)
    except (GitError, OSError, ValueError) as error:
        problem = str(error)
    return CommitReading(tuple(hashes), problem, [each for each in hashes if each not in known], git, below)


@define
class CommitReading:
    """What `read_commits` found. Iterate it once for the commits that were not known, newest first."""

    hashes: tuple[str, ...]
    """The commits that HEAD reaches, newest first, known or not."""
    problem: str
    """Why something is missing, "" if nothing is. Final after the iteration."""
    _unread: list[str]
    _git: Git
    _below: tuple[str, ...]
    """Restricts what git tells to the workspace folder."""

    def __iter__(self) -> Iterator[Commit]:
        at = restarts = 0
        comparing = True
        while at < len(self._unread):
            hashes = self._unread[at:] if comparing else self._unread[at : at + 2]
            try:
                for commit in self._read(hashes, "50%" if comparing else "100%"):
                    at += 1
                    yield commit
            except GitError as error:
                if error.final or not comparing or restarts == _RESTARTS:
                    self.problem = str(error)
                    return
                # A text that git would compare to find a rename is missing (a partial clone): on without comparing.
                restarts += 1
                comparing = False
            else:
                if comparing:
                    return
                comparing = True

    def _read(self, hashes: Sequence[str], similarity: str) -> Iterator[Commit]:
        """The commits of these hashes, in this order. Raises GitError after those that could be read."""
        options = (
            "--stdin --root --always -r -z --name-status --relative --no-ext-diff --no-textconv --no-notes"
        )
        arguments = (
            *("diff-tree", *options.split(), f"--find-renames={similarity}", f"-l{_RENAME_LIMIT}"),
            *("--encoding=UTF-8", "--format=%x01%H%x00%ct%x00%s", *self._below),
        )
        return _commits(pieces(self._git.run(arguments, "".join(f"{each}\n" for each in hashes)), b"\0"))


def follow(commits: Iterable[Commit], present: Collection[str]) -> dict[str, FileHistory]:
    """The history of each file in `present` that has one; `commits` newest first.

    A file that came to be by a rename continues under its old name. A name that was taken again after the file had
    moved away starts anew: what happened under it before belongs to the file that moved.
    """
    current = {path: path for path in present}
    touches: dict[str, list[FileCommit]] = defaultdict(list)
    counts: Counter[str] = Counter()
    last: dict[str, int] = {}
    for commit in commits:
        sweeping = len(commit.changes) > _SWEEPING
        touch = FileCommit(commit.hash, len(commit.changes))
        renamed: list[tuple[str, str | None]] = []
        for change in commit.changes:
            name = current.get(change.path)
            if change.before is not None:
                renamed.append((change.before, name))
                current.pop(change.path, None)
            if name is None or change.deleted:
                continue
            if sweeping:
                last.setdefault(name, commit.time)
                continue
            if name not in counts:
                last[name] = commit.time
            counts[name] += 1
            if counts[name] <= _LATEST:
                touches[name].append(touch)
        # Only now: two files may have changed places.
        for before, name in renamed:
            if name is not None:
                current[before] = name
            elif current.get(before) == before:
                del current[before]
    return {name: FileHistory(tuple(touches[name]), counts[name], seconds) for name, seconds in last.items()}


def _commits(tokens: Iterator[str]) -> Iterator[Commit]:
    """`\\1HASH TIME SUBJECT (STATUS PATH PATH?)*` again and again. A commit is out when the next one begins."""
    first, seconds, subject = "", "0", ""
    changes: list[Change] = []
    for token in tokens:
        status = token.lstrip("\n")
        if status.startswith("\x01"):
            if first:
                yield Commit(first, int(seconds), subject, tuple(changes))
            first, seconds, subject, changes = status[1:], next(tokens, "0"), next(tokens, ""), []
        elif status:
            path = sys.intern(next(tokens, ""))  # the same names in thousands of commits
            if status[0] == "R":
                changes.append(Change(sys.intern(next(tokens, "")), path))
            else:
                changes.append(Change(path, None, status[0] == "D"))
    if first:
        yield Commit(first, int(seconds), subject, tuple(changes))
