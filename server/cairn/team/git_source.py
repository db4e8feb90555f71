"""The git repository to index: a local folder, which is only read, or a cached clone of a URL."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from filelock import FileLock, Timeout

from cairn.errors import InvalidRequestError, TeamError
from cairn.paths import private_folder
from cairn.team.git_address import Address, place_of, without_secrets
from cairn.team.git_commands import over_network
from cairn.team.work_folder import team_dir
from cairn.workspace.git import GitError, git_folder, write_git_folder
from cairn.workspace.repository import NoRepositoryError, open_bare, open_repository
from cairn.workspace.repository import Repository as GitRepository

_HASH = re.compile(r"[0-9a-f]{4,64}")
_MOST_SHOWN = 20
_SECONDS = 600.0
"""The time limit of a command that reads a local repository, which may be on a hung network drive."""


@frozen
class Ref:
    name: str
    """A branch or tag without `refs/heads/`, or the commit's full hash."""
    commit: str
    seconds: int
    """The commit's time in Unix seconds."""


@frozen
class Repository:
    """A repository on this machine, which is only read."""

    located: GitRepository
    default: str
    """The default branch, or ""."""

    def read(self, commit: str, *arguments: str, given: str = "") -> bytes:
        """Return the output of a git command for which HEAD is `commit`. Raise TeamError."""
        return b"".join(self.stream(commit, *arguments, given=given))

    def stream(self, commit: str, *arguments: str, given: str = "") -> Iterator[bytes]:
        """Yield the output of a git command for which HEAD is `commit`. Raise TeamError."""
        with _reported(self.located):
            git = self.located.git(commit, time.monotonic() + _SECONDS)
            yield from git.run(arguments, given.encode())

    def resolve(self, name: str | None) -> Ref:
        """Return the commit of a branch, tag or hash, or of the default branch. Raise InvalidRequestError."""
        if name is None:
            name = self.default or "HEAD"
        if not name or re.search(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{", name):
            raise InvalidRequestError("ref", f"{name!r} is not the name of a branch, tag or commit")
        wanted = [f"refs/heads/{name}", f"refs/tags/{name}", f"refs/remotes/origin/{name}"]
        if name.startswith("refs/") or name == "HEAD":
            wanted.insert(0, name)
        with _reported(self.located):
            named = [self.located.resolve(each) for each in wanted]
        hashes = [*filter(None, named), *([name] if _HASH.fullmatch(name) else [])]
        for each in hashes:
            if commit := self._commit(each):
                shown = commit if each == name else _short(name)
                seconds = self.read(commit, "rev-list", "--max-count=1", "--timestamp", "HEAD").split()[0]
                return Ref(shown, commit, int(seconds))
        raise InvalidRequestError("ref", f"{name} is not there. {self._available()}")

    def branches(self) -> set[str]:
        with _reported(self.located):
            names = self.located.names("refs/heads", "refs/tags", "refs/remotes/origin")
        return {_short(name.removeprefix("refs/remotes/origin/")) for name in names}

    def roots(self, commit: str) -> list[str]:
        """Return the root commits of `commit`, sorted, without the commits at which a shallow clone ends."""
        with _reported(self.located):
            cut = self.located.shallow()
        found = self.read(commit, "rev-list", "--max-parents=0", "HEAD").decode().split()
        return sorted(set(found) - cut)

    def has(self, commit: str) -> bool:
        return bool(self._commit(commit))

    def origin(self) -> str:
        """Return the URL of the remote `origin` without secrets, or "" if it is not on another machine."""
        with _reported(self.located):
            settings = self.located.settings(time.monotonic() + _SECONDS)
        url = without_secrets(settings.get("remote.origin.url", ""))
        return url if place_of(url) else ""

    def _commit(self, hash: str) -> str:
        """Return the commit that a hash, or the beginning of one, means, or "". git gets it as input."""
        answer = self.read("", "cat-file", "--batch-check", given=f"{hash}^{{commit}}\n")
        found = answer.decode("utf-8", "replace").split(" ")
        return found[0] if len(found) == 3 and found[1] == "commit" else ""

    def _available(self) -> str:
        names = sorted(self.branches())
        if not names:
            return "The repository has no branch yet: commit something first."
        shown = ", ".join(names[:_MOST_SHOWN])
        more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
        return f"There are the branches and tags {shown}{more}, and commits by their hash."


@contextmanager
def _reported(located: GitRepository) -> Iterator[None]:
    """Turn errors of git into a TeamError."""
    try:
        yield
    except GitError as problem:
        raise TeamError(f"The git repository {located.top} cannot be read. {problem}") from None


@contextmanager
def open_source(address: Address, work: Path, progress: Callable[[str], None]) -> Iterator[Repository]:
    """Open the repository in a folder, or fetch the repository at a URL, locked against other fetches.

    `work` is an empty folder for unfinished clones. Raise TeamError, without passwords, if git fails.
    """
    if address.folder is not None:
        yield _local(address.folder)
        return
    clones = private_folder(team_dir() / "clones")
    digest = hashlib.blake2b(address.url.encode(), digest_size=8).hexdigest()
    clone = clones / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', address.name)[:40]}-{digest}.git"
    lock = FileLock(clone.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(f"Another run fetches {address.url}; this one waits for it.")
        lock.acquire()
    try:
        yield _fetched(address, clone, work, progress)
    finally:
        lock.release()


def _local(folder: Path) -> Repository:
    try:
        return _opened(open_bare(folder) or open_repository(folder))
    except NoRepositoryError:
        raise InvalidRequestError(
            "repository", f"{folder} is not a git repository. Run git init there, or give another folder"
        ) from None
    except GitError as problem:
        raise TeamError(str(problem)) from None


def _opened(located: GitRepository) -> Repository:
    head = located.branch()
    return Repository(located, head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else "")


def _fetched(address: Address, clone: Path, work: Path, progress: Callable[[str], None]) -> Repository:
    if clone.is_dir():
        progress(f"Fetching {address.url}")
        try:
            _fetch(address, clone)
            return _local(clone)
        except TeamError:
            # A killed run may have left lock files of git. A new clone shows whether these were the reason.
            clone.rename(work / "old-clone.git")
            shutil.rmtree(work / "old-clone.git", ignore_errors=True)
    progress(f"Cloning {address.url}")
    fresh = work / "clone.git"
    fresh.mkdir()
    write_git_folder(fresh, git_folder())
    _fetch(address, fresh)
    fresh.rename(clone)
    return _local(clone)


def _fetch(address: Address, clone: Path) -> None:
    refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    over_network(
        address,
        clone,
        "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--update-head-ok", "--force",
        "--no-recurse-submodules", "--", address.url, *refs,
    )  # fmt: skip
    listed = over_network(address, clone, "ls-remote", "--symref", "--", address.url, "HEAD")
    # The line with HEAD's branch precedes the line with its commit. Other names that end in HEAD are listed
    # too.
    places = (line.partition("\t") for line in listed.split("\n"))
    head = next((place for place, _, name in places if name == "HEAD"), "")
    if head.startswith("ref: refs/heads/") or _HASH.fullmatch(head):
        (clone / "HEAD").write_text(f"{head}\n", encoding="utf-8")


def remote_refs(address: Address) -> set[str]:
    """Return the current branches and tags of a repository without fetching. Raise TeamError."""
    if address.folder is not None:
        return _local(address.folder).branches()
    listed = over_network(address, None, "ls-remote", "--heads", "--tags", "--", address.url)
    return {
        _short(line.partition("\t")[2]) for line in listed.split("\n") if line and not line.endswith("^{}")
    }


def _short(name: str) -> str:
    for kind in ("refs/heads/", "refs/tags/", "refs/remotes/origin/"):
        name = name.removeprefix(kind)
    return name
