"""The git repository to index: a local folder, which is only read, or a cached clone of a URL."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from filelock import FileLock, Timeout

from cairn.errors import InvalidRequestError, TeamError
from cairn.paths import private_folder
from cairn.team.git_address import Address, place_of, without_secrets
from cairn.team.git_commands import configured, new_repository, over_network, run_git
from cairn.team.work_folder import team_dir
from cairn.workspace.git import locate

_HASH = re.compile(r"[0-9a-f]{4,64}")
_MOST_SHOWN = 20


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

    folder: Path
    """The folder in which git runs."""
    common: Path
    """The folder with git's objects and refs."""
    default: str
    """The default branch, or ""."""

    def read(self, *arguments: str, given: str = "") -> bytes:
        return run_git(self.folder, *arguments, given=given)

    def resolve(self, name: str | None) -> Ref:
        """Return the commit of a branch, tag or hash, or of the default branch. Raise InvalidRequestError."""
        if name is None:
            name = self.default or "HEAD"
        if not name or re.search(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{", name):
            raise InvalidRequestError("ref", f"{name!r} is not the name of a branch, tag or commit")
        wanted = [f"refs/heads/{name}", f"refs/tags/{name}", f"refs/remotes/origin/{name}"]
        if name.startswith("refs/") or name == "HEAD":
            wanted.insert(0, name)
        if _HASH.fullmatch(name):
            wanted.append(name)
        for candidate in wanted:
            if commit := self._commit(candidate):
                shown = commit if candidate == name and _HASH.fullmatch(name) else _short(name)
                seconds = self.read("show", "--no-patch", "--format=%ct", commit).split()[0]
                return Ref(shown, commit, int(seconds))
        raise InvalidRequestError("ref", f"{name} is not there. {self._available()}")

    def branches(self) -> set[str]:
        listed = self.read(
            "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes/origin"
        )
        return {
            _short(name.removeprefix("refs/remotes/origin/"))
            for name in listed.decode("utf-8", "replace").split("\n")
            if name
        }

    def roots(self, commit: str) -> list[str]:
        """Return the root commits of `commit`, sorted, without the commits at which a shallow clone ends."""
        cut = frozenset[str]()
        shallow = self.common / "shallow"
        if shallow.is_file():
            cut = frozenset(shallow.read_text("ascii").split())
        found = self.read("rev-list", "--max-parents=0", commit).decode().split()
        return sorted(set(found) - cut)

    def has(self, commit: str) -> bool:
        return bool(self._commit(commit))

    def origin(self) -> str:
        """Return the URL of the remote `origin` without secrets, or "" if it is not on another machine."""
        url = without_secrets(configured(self.folder, "remote.origin.url"))
        return url if place_of(url) else ""

    def _commit(self, name: str) -> str:
        """Return the commit of a full ref name, or "". git gets the name as input, not as an argument."""
        answer = self.read("cat-file", "--batch-check", given=f"{name}^{{commit}}\n")
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
    repository = locate(folder)
    if repository is not None:
        common = repository.common.resolve()
    elif (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        common = folder
    else:
        raise InvalidRequestError(
            "repository", f"{folder} is not a git repository. Run git init there, or give another folder"
        )
    # This command fails if git does not trust the folder's owner. Later commands would not fail: they run in
    # a repository of our own, which reads the objects of this one.
    commit = run_git(folder, "cat-file", "--batch-check", given="HEAD^{commit}\n")
    head = ""
    if not commit.rstrip().endswith(b"missing"):
        named = run_git(folder, "rev-parse", "--symbolic-full-name", "HEAD")
        head = named.decode("utf-8", "replace").strip()
    branch = head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else ""
    return Repository(folder, common, branch)


def _fetched(address: Address, clone: Path, work: Path, progress: Callable[[str], None]) -> Repository:
    if clone.is_dir():
        progress(f"Fetching {address.url}")
        try:
            return _fetch(address, clone)
        except TeamError:
            # A killed run may have left lock files of git. A new clone shows whether these were the reason.
            clone.rename(work / "old-clone.git")
            shutil.rmtree(work / "old-clone.git", ignore_errors=True)
    progress(f"Cloning {address.url}")
    fresh = work / "clone.git"
    new_repository(fresh, bare=True)
    _fetch(address, fresh)
    fresh.rename(clone)
    return Repository(clone, clone, _head_of(clone))


def _fetch(address: Address, clone: Path) -> Repository:
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
    return Repository(clone, clone, _head_of(clone))


def _head_of(clone: Path) -> str:
    """Return the branch that HEAD names, or "" if HEAD names a commit."""
    head = (clone / "HEAD").read_text("utf-8").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""


def remote_refs(address: Address) -> set[str]:
    """Return the current branches and tags of a repository without fetching. Raise TeamError."""
    if address.folder is not None:
        return _local(address.folder).branches()
    listed = over_network(
        address, private_folder(team_dir()), "ls-remote", "--heads", "--tags", "--", address.url
    )
    return {
        _short(line.partition("\t")[2]) for line in listed.split("\n") if line and not line.endswith("^{}")
    }


def _short(name: str) -> str:
    for kind in ("refs/heads/", "refs/tags/", "refs/remotes/origin/"):
        name = name.removeprefix(kind)
    return name
