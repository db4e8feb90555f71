"""Read from git which commits touched each file of a workspace folder, under its name at the time.

A damaged or unusual repository raises no error: unreadable parts are left out, and a sentence says why.
"""

from __future__ import annotations

import stat
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from attrs import define, evolve, frozen

from cairn.workspace.git import Git, GitError, pieces
from cairn.workspace.repository import NoRepositoryError, Repository, locate, open_repository
from cairn.workspace.secret_content import has_token

_COMMITS = 20_000
"""The maximum number of commits that are read, newest first."""
_SECONDS = 30.0
"""The time limit of a reading, in case a network drive hangs. 20,000 commits of ansible took 5 to 8 s on two
cores."""
_RENAME_LIMIT = 1_000
"""The default of git's `diff.renameLimit`: a commit with more candidates gets exact renames only."""
_RESTARTS = 20
"""How often git is restarted after a commit that it cannot compare."""
_SWEEPING = 60
"""A commit that touched more files than this says nothing about a single file."""
_NUMBER_DIGITS = 15
"""The hexadecimal digits of a hash that fit into a number of SQLite, with its sign."""
_LATEST = 400
"""The maximum number of commits kept per file; the subjects of older ones did not improve ranking."""


@frozen
class Change:
    """A file that a commit touched. Paths are relative to the workspace folder, with `/`."""

    path: str
    before: str | None = None
    """The old path, if the commit renamed the file."""
    deleted: bool = False


@frozen
class Commit:
    hash: str
    time: int
    subject: str
    changes: tuple[Change, ...]
    """The changes below the workspace folder: a file moved in from outside has no old path."""

    def without_secrets(self, is_secret: Callable[[str], bool]) -> Commit:
        """Return the commit without its subject if it changed only secret files, by their paths, or if the
        subject contains a token. The subject may say what is in the files."""
        paths = (path for change in self.changes for path in (change.path, change.before) if path)
        changed_only_secrets = bool(self.changes) and all(map(is_secret, paths))
        has_secret = bool(self.subject) and (changed_only_secrets or has_token(self.subject))
        return evolve(self, subject="") if has_secret else self


@frozen
class FileCommit:
    """A commit from the view of a file that it touched."""

    hash: str
    files: int
    """The number of touched files in the folder, including deleted ones; at most 60."""


@frozen
class FileHistory:
    """The history of one file, without commits of more than 60 files."""

    touches: tuple[FileCommit, ...]
    """The latest 400 commits, newest first."""
    count: int
    last_time: int
    """The time of the newest commit in Unix seconds. Commits of more than 60 files count only if there are no
    others."""


@frozen
class Tip:
    """The commit at which a history ends."""

    repository: Repository
    commit: str


def head(source: Path | Tip) -> str | None:
    """Return the hash of the commit that is checked out in a folder, None without a repository or a commit.

    This reads two small files; it starts a process only if git keeps references in a table.
    """
    if isinstance(source, Tip):
        return source.commit
    try:
        return open_repository(source).resolve("HEAD")
    except GitError:  # If a reference is being changed, a later call succeeds.
        return None


def refusal(source: Path | Tip) -> str:
    """Return why the repository of a folder is not read, "" if it is, or if there is none."""
    try:
        if isinstance(source, Path):
            open_repository(source).resolve("HEAD")
    except NoRepositoryError:
        return ""
    except GitError as problem:
        return str(problem)
    return ""


def watched_files(root: Path) -> list[Path]:
    """Return files of which at least one changes whenever the result of `head` does. Some may not exist. git
    replaces them by renaming, so watch their folders. For a worktree they are outside `root`."""
    repository = locate(root)
    if repository is None:
        return []
    files = [repository.own / "HEAD", repository.own / "logs" / "HEAD"]
    return [*files, repository.common / "reftable" / "tables.list"] if repository.keeps_table else files


class Checkout:
    """Tells which commit is checked out in a folder, in some microseconds, for each query. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: tuple[object, tuple[Path, ...], int] | None = None

    def number(self) -> int:
        """Return a number that identifies the commit; 0 without a repository or a commit."""
        files = self._read[1] if self._read else ()
        version = (*map(_version, files), _version(self._root / ".git"))
        if self._read is None or self._read[0] != version:
            files = (*watched_files(self._root), *self._reference())
            # A reference that changes from here on changes the version as well.
            version = (*map(_version, files), _version(self._root / ".git"))
            commit = head(self._root)
            self._read = version, files, int(commit[:_NUMBER_DIGITS], 16) if commit else 0
        return self._read[2]

    def _reference(self) -> tuple[Path, ...]:
        """Return the files that have the commit of the branch. git writes its log before them."""
        try:
            repository = locate(self._root)
            branch = repository.branch() if repository else ""
        except GitError:
            return ()
        return (
            (repository.common / branch, repository.common / "packed-refs") if repository and branch else ()
        )


def _version(file: Path) -> tuple[int, ...]:
    """Return a value that changes when git replaces or extends the file. Of a folder, it only says that it
    is one."""
    try:
        status = file.lstat()
    except OSError:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,)
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_commits(
    source: Path | Tip, known: Collection[str], stop: Callable[[], bool] = lambda: False
) -> CommitReading:
    """Return the newest 20,000 commits that a tip or a folder's HEAD reaches, and an iterator over those not
    in `known`.

    Merges are left out: the merged commits are listed anyway, and the subject of a merge only names branches.
    The last commits of a shallow clone are left out because their changes are unknown. `stop` is called ten
    times a second, on another thread. After 30 s the commits read so far are kept, and the next call
    continues from there.
    """
    hashes: list[str] = []
    problem, below, git = "", "", None
    try:
        if isinstance(source, Path):
            repository = open_repository(source)
            inside = source.resolve().relative_to(repository.top).as_posix()
            below = "" if inside == "." else inside
            commit = repository.resolve("HEAD")
            if commit is None:
                raise GitError("The git repository has no commit yet.", final=True)
            source = Tip(repository, commit)
        shallow = source.repository.shallow()
        git = source.repository.git(source.commit, time.monotonic() + _SECONDS, stop)
        options = ("--no-merges", f"--max-count={_COMMITS}", "HEAD", "--", *filter(None, [below]))
        listing = git.run(("rev-list", *options))
        hashes.extend(each for each in pieces(listing, b"\n") if each not in shallow)
    except GitError as error:
        problem = str(error)
    return CommitReading(tuple(hashes), problem, [each for each in hashes if each not in known], git, below)


@define
class CommitReading:
    """The result of `read_commits`. Iterate it once for the commits that were not known, newest first."""

    hashes: tuple[str, ...]
    """The commits that HEAD reaches, newest first, known or not."""
    problem: str
    """Why a part is missing, or "" if none is. Final after the iteration."""
    _unread: list[str]
    _git: Git | None
    """None if there is nothing to read."""
    _below: str
    """The workspace folder in the repository; "" if it is the top."""

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
                # A partial clone lacks a text that git compares to find a rename: continue without comparing.
                restarts += 1
                comparing = False
            else:
                if comparing:
                    return
                comparing = True

    def _read(self, hashes: Sequence[str], similarity: str) -> Iterator[Commit]:
        """Yield the commits of these hashes, in this order. Raise GitError after the readable ones."""
        assert self._git is not None
        options = "--stdin --root --always -r -z --name-status --no-ext-diff --no-textconv --no-notes"
        arguments = (
            *("diff-tree", *options.split(), f"--find-renames={similarity}", f"-l{_RENAME_LIMIT}"),
            *("--encoding=UTF-8", "--format=%x01%H%x00%ct%x00%s"),
            *((f"--relative={self._below}/", "--", self._below) if self._below else ()),
        )
        given = "".join(f"{each}\n" for each in hashes).encode()
        return _commits(pieces(self._git.run(arguments, given), b"\0"))


def follow(commits: Iterable[Commit], present: Collection[str]) -> dict[str, FileHistory]:
    """Return the history of each file in `present` that has one; `commits` are newest first.

    The history of a renamed file includes its commits under the old name. A name that was reused after its
    file had moved away starts anew: the earlier commits belong to the moved file.
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
        # Names are updated after all changes, because two files may have exchanged names.
        for before, name in renamed:
            if name is not None:
                current[before] = name
            elif current.get(before) == before:
                del current[before]
    return {name: FileHistory(tuple(touches[name]), counts[name], seconds) for name, seconds in last.items()}


def _commits(tokens: Iterator[str]) -> Iterator[Commit]:
    """Parse `\\1HASH TIME SUBJECT (STATUS PATH PATH?)*`, repeated. A commit ends where the next begins."""
    first, seconds, subject = "", "0", ""
    changes: list[Change] = []
    for token in tokens:
        status = token.lstrip("\n")
        if status.startswith("\x01"):
            if first:
                yield Commit(first, int(seconds), subject, tuple(changes))
            first, seconds, subject, changes = status[1:], next(tokens, "0"), next(tokens, ""), []
        elif status:
            path = sys.intern(next(tokens, ""))  # Thousands of commits repeat the same names.
            if status[0] == "R":
                changes.append(Change(sys.intern(next(tokens, "")), path))
            else:
                changes.append(Change(path, None, status[0] == "D"))
    if first:
        yield Commit(first, int(seconds), subject, tuple(changes))
