"""The git repository to index: a local folder, which is only read, or a cached clone of a URL.

An address never shows a user or a password, and the git commands that use the network do not prompt.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attrs import field, frozen
from filelock import FileLock, Timeout

from cairn.errors import InvalidRequestError, TeamError
from cairn.paths import private_folder
from cairn.team.runs import team_dir
from cairn.workspace.git import (
    Git,
    GitError,
    environment_with,
    git_folder,
    run_in,
    user_settings,
    write_git_folder,
)
from cairn.workspace.repository import (
    MOST_FILES,
    NoRepositoryError,
    TooManyFilesError,
    open_bare,
    open_repository,
)
from cairn.workspace.repository import Repository as GitRepository

PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""The allowed protocols. Git's `ext` is not allowed, because it runs any program that a URL names."""
_SCP = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//|:)[^\s\0]+")
"""The notation of `scp`: `git@host:group/project.git`."""


@frozen
class Address:
    folder: Path | None
    """The folder; None for a clone URL."""
    url: str
    """The URL without user and password, or the folder's path. It may be shown and stored."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The last part of the URL or path, without `.git`."""
        last = re.split(r"[/\\:]", self.url.rstrip("/\\"))[-1]
        return last.removesuffix(".git") or "repository"

    @property
    def place(self) -> str:
        """The result of `place_of` for the URL; "" for a folder."""
        return place_of(self.url) if self.folder is None else ""


def place_of(url: str) -> str:
    """Return the host and path of a clone URL, the same for all protocols; "" for a local URL."""
    if "://" in url:
        parts = urlsplit(url)
        if parts.scheme not in PROTOCOLS or parts.scheme == "file":
            return ""
        host, path = parts.hostname or "", parts.path
    elif _SCP.fullmatch(url):
        host, _, path = url.rpartition("@")[2].partition(":")
    else:
        return ""
    return f"{host}/{path.strip('/').removesuffix('.git')}".lower()


def read_address(source: str) -> Address:
    """Return the address of a folder or clone URL. Raise InvalidRequestError for anything else."""
    folder = Path(source)
    if source and folder.is_dir():
        return Address(folder.resolve(), str(folder.resolve()))
    if "://" in source:
        return _url(source)
    if _SCP.fullmatch(source) and len(source.partition(":")[0]) > 1:  # A single letter is a Windows drive.
        return Address(None, source)
    raise InvalidRequestError(
        "repository",
        f"{_shown(source)} is neither a folder nor a clone URL such as https://host/group/project.git",
    )


def without_secrets(url: str) -> str:
    """Return a URL without user and password. The user of an ssh URL is not secret, and is kept."""
    if "://" not in url:
        return url
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if scheme == "ssh" and at:
        host = f"{user.partition(':')[0]}@{host}"
    return f"{scheme}://{host}{slash}{path}"


def _url(source: str) -> Address:
    scheme = source.partition("://")[0]
    if scheme not in PROTOCOLS or re.search(r"[\s\0]", source):
        raise InvalidRequestError(
            "repository",
            f"{_shown(source)} is not a clone URL; its protocol must be one of {', '.join(PROTOCOLS)}",
        )
    try:
        parts = urlsplit(source)
    except ValueError:
        raise InvalidRequestError("repository", f"{_shown(source)} is not a valid URL") from None
    if parts.netloc.startswith("-") or (parts.hostname or "").startswith("-"):
        raise InvalidRequestError("repository", f"{_shown(source)} has a name that begins with a dash")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if scheme not in ("http", "https"):
        user = password = ""
    return Address(None, without_secrets(source), user, password)


def _shown(source: str) -> str:
    return repr(without_secrets(source))[1:-1][:200] or "nothing"


# --- git commands that use the network --------------------------------------------------------------

_SETTINGS_SECONDS = 10.0
_CREDENTIALS = r'!f() { printf "username=%s\npassword=%s\n" "$CAIRN_GIT_USER" "$CAIRN_GIT_PASSWORD"; }; f'
"""A credential helper for git. It reads the environment, because all users can see a program's arguments."""


def over_network(address: Address, folder: Path | None, *arguments: str) -> str:
    """Return the output of a git command that uses the network. Raise TeamError.

    `folder` is Cairn's clone of the address, or None for a command that needs none. The user's own settings
    of git apply, such as proxies, credential helpers and ssh commands.
    """
    try:
        environment = _environment(address)
        if folder is None:
            output = Git(git_folder(), math.inf, environment=environment).run(arguments)
        else:
            output = run_in(folder, arguments, environment, math.inf)
        return b"".join(output).decode("utf-8", "replace")
    except GitError as error:
        if not error.output:
            raise TeamError(f"{address.url} cannot be fetched. {error}") from None
        problem = error.output
        for secret in filter(None, (address.password, address.user if address.password else "")):
            problem = problem.replace(secret, "***")
        raise TeamError(
            f"git cannot fetch {address.url}: {problem}\n"
            "Check the URL and that this machine may read the repository: git cannot ask for a password here."
        ) from None


def _environment(address: Address) -> dict[str, str]:
    environment = environment_with("GIT_SSH", "GIT_SSL", "GIT_EXEC_PATH", with_user_settings=True) | {
        "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }
    if not environment.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"}:
        settings = user_settings(time.monotonic() + _SETTINGS_SECONDS)
        # In batch mode, ssh also does not prompt.
        environment["GIT_SSH_COMMAND"] = settings.get("core.sshcommand") or "ssh -o BatchMode=yes"
    if address.user or address.password:
        environment |= {
            "CAIRN_GIT_USER": address.user,
            "CAIRN_GIT_PASSWORD": address.password,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "credential.helper",
            "GIT_CONFIG_VALUE_0": _CREDENTIALS,
        }
    return environment


# --- repositories -----------------------------------------------------------------------------------

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

    def files(self, commit: str) -> Iterator[tuple[bytes, list[str]]]:
        """Yield the path of each file of a commit, and its mode, type, hash and size. Raise TeamError, or
        InvalidRequestError if there are too many."""
        with _reported(self.located):
            try:
                yield from self.located.files(commit, time.monotonic() + _SECONDS, "--long")
            except TooManyFilesError:
                raise InvalidRequestError("ref", f"the commit has over {MOST_FILES:,} files") from None

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
        located = open_bare(folder) or open_repository(folder)
        head = located.branch()
    except NoRepositoryError:
        raise InvalidRequestError(
            "repository", f"{folder} is not a git repository. Run git init there, or give another folder"
        ) from None
    except GitError as problem:
        raise TeamError(str(problem)) from None
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
