"""The git repository that is indexed: a folder of this machine, which is only read, or a clone that is fetched into a cache."""

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
from cairn.team.git_address import Address, place_of, without_secrets
from cairn.team.git_commands import configured, new_repository, over_network, run_git
from cairn.team.work_folder import team_dir
from cairn.workspace.git import locate

_HASH = re.compile(r"[0-9a-f]{4,64}")
_MOST_SHOWN = 20


@frozen
class Ref:
    """A name of a revision, and the commit that it stands for."""

    name: str
    """A branch or tag without `refs/heads/`, or the commit's full hash."""
    commit: str
    seconds: int
    """When it was committed, in Unix seconds."""


@frozen
class Repository:
    """A repository on this machine. Nothing here changes it."""

    folder: Path
    """Where git runs."""
    common: Path
    """The folder of its objects and refs."""
    default: str
    """The branch that is meant where none is named; "" where there is none."""

    def read(self, *arguments: str, given: str = "") -> bytes:
        """What git writes. Raises TeamError."""
        return run_git(self.folder, *arguments, given=given)

    def resolve(self, name: str | None) -> Ref:
        """The commit of a branch, tag or commit, or of the default branch. Raises InvalidRequestError for one that is unknown."""
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
                return Ref(shown, commit, self._seconds(commit))
        raise InvalidRequestError("ref", f"{name} is not there. {self._what_there_is()}")

    def branches(self) -> set[str]:
        """The names of branches and tags."""
        listed = self.read(
            "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes/origin"
        )
        return {
            _short(name.removeprefix("refs/remotes/origin/"))
            for name in listed.decode("utf-8", "replace").split("\n")
            if name
        }

    def roots(self, commit: str) -> list[str]:
        """The commits without parents that `commit` reaches, ascending; those where a shallow clone ends are none."""
        cut = frozenset[str]()
        shallow = self.common / "shallow"
        if shallow.is_file():
            cut = frozenset(shallow.read_text("ascii").split())
        found = self.read("rev-list", "--max-parents=0", commit).decode().split()
        return sorted(set(found) - cut)

    def has(self, commit: str) -> bool:
        """Whether the commit is in the repository."""
        return bool(self._commit(commit))

    def origin(self) -> str:
        """The URL that the repository was cloned from, without secrets; "" where there is none on another machine."""
        url = without_secrets(configured(self.folder, "remote.origin.url"))
        return url if place_of(url) else ""

    def _commit(self, name: str) -> str:
        """The commit that a full name stands for, "" where there is none. The name is no argument of git."""
        answer = self.read("cat-file", "--batch-check", given=f"{name}^{{commit}}\n").decode(
            "utf-8", "replace"
        )
        found = answer.split(" ")
        return found[0] if len(found) == 3 and found[1] == "commit" else ""

    def _seconds(self, commit: str) -> int:
        return int(self.read("show", "--no-patch", "--format=%ct", commit).split()[0])

    def _what_there_is(self) -> str:
        names = sorted(self.branches())
        if not names:
            return "The repository has no branch yet: commit something first."
        more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
        return f"There are the branches and tags {', '.join(names[:_MOST_SHOWN])}{more}, and commits by their hash."


@contextmanager
def open_source(address: Address, work: Path, progress: Callable[[str], None]) -> Iterator[Repository]:
    """The repository of a folder, or the fetched one of a URL, which nobody else fetches meanwhile.

    `work` is an empty folder for what is unfinished. Raises TeamError where git fails, which a message never tells with
    a password.
    """
    if address.folder is not None:
        yield _local(address.folder)
        return
    clones = team_dir() / "clones"
    clones.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(address.url.encode(), digest_size=8).hexdigest()
    clone = clones / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', address.name)[:40]}-{digest}.git"
    lock = FileLock(clone.with_suffix(".lock"))
    with waiting_for(lock, f"Another run fetches {address.url}; this one waits for it.", progress):
        yield _fetched(address, clone, work, progress)


@contextmanager
def waiting_for(lock: FileLock, message: str, progress: Callable[[str], None]) -> Iterator[None]:
    """The lock, with a message where somebody else has it."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(message)
        lock.acquire()
    try:
        yield
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
    # This git refuses where it does not trust the folder's owner; later ones read its objects from a repository of ours.
    head = ""
    if _has_head(folder):
        named = run_git(folder, "rev-parse", "--symbolic-full-name", "HEAD")
        head = named.decode("utf-8", "replace").strip()
    return Repository(
        folder, common, head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else ""
    )


def _has_head(folder: Path) -> bool:
    answer = run_git(folder, "cat-file", "--batch-check", given="HEAD^{commit}\n")
    return not answer.rstrip().endswith(b"missing")


def _fetched(address: Address, clone: Path, work: Path, progress: Callable[[str], None]) -> Repository:
    if clone.is_dir():
        progress(f"Fetching {address.url}")
        try:
            return _fetch(address, clone)
        except TeamError:
            # A killed run may have left locks of git behind: a clone of its own tells whether it was that.
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
    # The line of the branch comes before that of its commit, and names that end in HEAD are listed, too.
    places = (line.partition("\t") for line in listed.split("\n"))
    head = next((place for place, _, name in places if name == "HEAD"), "")
    if head.startswith("ref: refs/heads/") or _HASH.fullmatch(head):
        (clone / "HEAD").write_text(f"{head}\n", encoding="utf-8")
    return Repository(clone, clone, _head_of(clone))


def _head_of(clone: Path) -> str:
    """The branch that HEAD names; "" where it names a commit."""
    head = (clone / "HEAD").read_text("utf-8").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""


def remote_refs(address: Address) -> set[str]:
    """The branches and tags that a repository has now, without fetching. Raises TeamError where it cannot be reached."""
    if address.folder is not None:
        return _local(address.folder).branches()
    team_dir().mkdir(parents=True, exist_ok=True)
    listed = over_network(address, team_dir(), "ls-remote", "--heads", "--tags", "--", address.url)
    return {
        _short(line.partition("\t")[2]) for line in listed.split("\n") if line and not line.endswith("^{}")
    }


def _short(name: str) -> str:
    for kind in ("refs/heads/", "refs/tags/", "refs/remotes/origin/"):
        name = name.removeprefix(kind)
    return name
