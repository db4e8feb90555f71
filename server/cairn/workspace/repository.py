"""Find the git repository of a folder, and read its references.

A repository may be hostile: its `.git` may come from an archive or a shared drive. Cairn reads its files
itself, and only regular ones. It refuses links, and objects outside of the repository: commits of another,
private repository could be passed off as its own. git reads the objects, and copies of a few files
(`workspace.git`).
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from attrs import frozen

from cairn.paths import open_regular
from cairn.workspace.git import Git, GitError, git_folder, is_hash, parts, settings_in

_MOST_BYTES = 1_000_000
"""The size limit of HEAD, a reference, and the settings."""
_MOST_POINTER_BYTES = 10_000
"""The size limit of a `.git` file. It holds one path, and no system has paths of over 4,096 characters."""
MOST_LIST_BYTES = 300_000_000
"""The size limit of a list of references, commits or tracked files. The Linux kernel's index has 9 MB."""
MOST_FILES = 3_000_000
"""The maximum number of files in a commit. A small repository can list files without end."""
_SECONDS = 10.0
"""The time limit of a git command that reads copies of small files."""
_PART_OF_NAME = re.compile(r"(?!\.|.*\.\.|.*@\{|.*\.lock$)[^\0-\x20\x7f~^:?*\[\\]+(?<!\.)")
_LONGEST_PART = 255
"""The maximum number of bytes of a file's name, in which git keeps a part of a reference's name."""
_OF_WORKTREE = ("refs/bisect/", "refs/rewritten/", "refs/worktree/")
"""The references of which each worktree has its own, as of HEAD."""


class NoRepositoryError(GitError):
    """The error that a folder is not in a git repository."""


class TooManyFilesError(GitError):
    """The error that a commit has more than `MOST_FILES` files."""


@frozen
class Repository:
    top: Path
    """The folder of the work tree, or of a bare repository."""
    own: Path
    """The git folder of this worktree, with all links resolved."""
    common: Path
    """The git folder that all worktrees of the repository share, with all links resolved."""

    def path_of(self, folder: Path) -> str:
        """Return the path of a folder in the work tree, with `/` at its end; "" for its top."""
        inside = folder.resolve().relative_to(self.top).as_posix()
        return "" if inside == "." else f"{inside}/"

    # --- references -------------------------------------------------------------------------------------

    @property
    def keeps_table(self) -> bool:
        """Whether references are in a table ("reftable") instead of files."""
        return (self.common / "reftable").is_dir()

    def resolve(self, name: str) -> str | None:
        """Return the hash that a reference names, None if it is missing. Raise GitError."""
        for _ in range(5):  # git has the same depth limit.
            text = self._reference(name)
            if not text.startswith("ref:"):
                return text if is_hash(text) else None
            name = text.removeprefix("ref:").strip()
        return None

    def branch(self) -> str:
        """Return the full name of the branch that is checked out, or "". Raise GitError."""
        text = self._reference("HEAD")
        return text.removeprefix("ref:").strip() if text.startswith("ref:") else ""

    def names(self, *folders: str) -> set[str]:
        """Return the full names of the references in folders such as `refs/heads`. Raise GitError."""
        if self.keeps_table:
            found = self._ask_table(self.common, "for-each-ref", "--format=%(refname)", *folders).split("\n")
            return set(filter(None, found))
        packed = re.findall(rb"^[0-9a-f]+ (\S+)\r?$", self._packed(), re.MULTILINE)
        listed = {os.fsdecode(name) for name in packed}
        for start in (self.common / folder for folder in folders):
            for place, _, files in os.walk(start) if os.path.realpath(start) == str(start) else ():
                inside = Path(place).relative_to(self.common).as_posix()
                listed |= {f"{inside}/{file}" for file in files}
        return {
            name
            for name in listed
            if _is_reference(name) and name.startswith(tuple(f"{f}/" for f in folders))
        }

    def _reference(self, name: str) -> str:
        """Return a hash, `ref: ` and a name, or "" if there is no such reference. Raise GitError."""
        if not _is_reference(name):
            return ""
        folder = self.own if name == "HEAD" or name.startswith(_OF_WORKTREE) else self.common
        if self.keeps_table:
            return self._in_table(folder, name)
        try:
            link = (folder / name).readlink().as_posix()  # Old versions of git wrote links.
        except (OSError, ValueError):
            link = ""
        if link.startswith("refs/"):
            return f"ref: {link}"
        content = read_regular(folder, name, _MOST_BYTES)
        if content is not None:
            return os.fsdecode(content).strip()
        line = re.search(
            rb"^([0-9a-f]+) " + re.escape(os.fsencode(name)) + rb"\r?$", self._packed(), re.MULTILINE
        )
        return line.group(1).decode() if line else ""

    def _packed(self) -> bytes:
        return read_regular(self.common, "packed-refs", MOST_LIST_BYTES) or b""

    def _in_table(self, folder: Path, name: str) -> str:
        if name == "HEAD":
            try:
                return f"ref: {self._ask_table(folder, 'symbolic-ref', '--quiet', 'HEAD')}"
            except GitError as problem:
                if problem.output:
                    raise
                # git fails without a message if HEAD is detached.
        try:
            return self._ask_table(folder, "rev-parse", "--verify", "--quiet", name)
        except GitError as problem:
            if problem.output:
                raise
            return ""

    def _ask_table(self, folder: Path, *arguments: str) -> str:
        """Return what git says about a copy of the table in `folder`. Raise GitError."""
        listed = read_regular(folder, "reftable/tables.list", _MOST_BYTES) or b""
        names = [name for name in listed.decode("ascii", "replace").split() if re.fullmatch(r"[\w.-]+", name)]
        files = git_folder("", self.objects, self.extensions | {"refStorage": "reftable"})
        room = MOST_LIST_BYTES
        for name in ("tables.list", *names):
            content = read_regular(folder, f"reftable/{name}", room)
            if content is None:
                raise GitError("The references are being changed.", final=False)
            files[f"reftable/{name}"] = content
            room -= len(content)
        git = Git(files, time.monotonic() + _SECONDS)
        return os.fsdecode(b"".join(git.run(arguments))).strip("\n")

    # --- commits and files ------------------------------------------------------------------------------

    def git(self, commit: str, deadline: float, stop: Callable[[], bool] = lambda: False) -> Git:
        """Return a git whose HEAD is the commit. Raise GitError."""
        files = git_folder(commit, self.objects, self.extensions)
        shallow = read_regular(self.common, "shallow", MOST_LIST_BYTES)
        if shallow:
            files["shallow"] = shallow
        return Git(files, deadline, stop)

    def files(
        self, commit: str, deadline: float, *options: str, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[bytes, list[str]]]:
        """Yield the path of each file of a commit, and its mode, type and hash. Raise GitError, which is a
        TooManyFilesError for more than `MOST_FILES`.

        `options` are those of `git ls-tree`; `--long` adds the size, which is `-` without the content.
        """
        arguments = ("ls-tree", "-r", "-z", "--full-tree", *options, "HEAD")
        for number, entry in enumerate(parts(self.git(commit, deadline, stop).run(arguments), b"\0")):
            if number >= MOST_FILES:
                raise TooManyFilesError(
                    f"The commit {commit[:12]} has over {MOST_FILES:,} files.", final=True
                )
            fields, _, path = entry.partition(b"\t")
            yield path, fields.decode("ascii").split()

    def shallow(self) -> frozenset[str]:
        """Return the commits whose parents were not fetched. Raise GitError."""
        content = read_regular(self.common, "shallow", MOST_LIST_BYTES) or b""
        return frozenset(content.decode("ascii", "replace").split())

    def settings(self, deadline: float) -> dict[str, str]:
        """Return the settings of the repository, which are only data to Cairn. Raise GitError."""
        listing = Git(git_folder(), deadline).run(("config", "--file", "-", "--list", "-z"), self._config)
        return settings_in(listing)

    @cached_property
    def objects(self) -> Path:
        """The folder with the objects. Raise GitError if there are links in it, or it borrows objects."""
        folder = self.common / "objects"
        pending = [folder]
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise _refused(folder)
            while pending:
                for entry in os.scandir(pending.pop()):
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif not entry.is_file(follow_symlinks=False):
                        raise _refused(Path(entry.path))
        except OSError as problem:
            raise GitError(f"{folder} cannot be read: {problem.strerror or problem}.", final=False) from None
        borrowed = read_regular(folder, "info/alternates", _MOST_BYTES) or b""
        if any(line.strip() and not line.startswith(b"#") for line in borrowed.splitlines()):
            raise GitError(
                f"{folder / 'info' / 'alternates'} names objects of another repository, as after `git clone"
                " --shared`. Cairn does not read them. Run `git repack -a -d`, and delete that file.",
                final=True,
            )
        return folder

    @cached_property
    def _config(self) -> bytes:
        return read_regular(self.common, "config", _MOST_BYTES) or b""

    @cached_property
    def extensions(self) -> dict[str, str]:
        is_sha256 = re.search(
            rb"^\s*objectformat\s*=\s*sha256\s*$", self._config, re.MULTILINE | re.IGNORECASE
        )
        return {"objectFormat": "sha256"} if is_sha256 else {}


def locate(root: Path) -> Repository | None:
    """Return the repository of the folder, or None if there is none or it cannot be read."""
    try:
        return open_repository(root)
    except GitError:
        return None


def open_repository(root: Path) -> Repository:
    """Return the repository that the folder is in. Raise GitError, or NoRepositoryError if there is none."""
    try:
        root = root.resolve()
        for top in (root, *root.parents):
            found = _at(top)
            if found is not None:
                # Anyone may put a repository into a folder such as /tmp, above the folder of this user.
                if top != root and (top / ".git").lstat().st_uid not in (0, _user(), root.stat().st_uid):
                    raise _not_of(root, top / ".git", "belongs to another user than the folder")
                return found
    except (OSError, ValueError, RuntimeError) as problem:
        raise GitError(f"The git repository cannot be read: {problem}.", final=False) from None
    raise NoRepositoryError("The folder is not in a git repository.", final=True)


def open_bare(folder: Path) -> Repository | None:
    """Return the bare repository at `folder`, or None. Raise OSError."""
    folder = folder.resolve()
    is_bare = all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs"))
    return Repository(folder, folder, folder) if is_bare and not os.path.lexists(folder / ".git") else None


def is_linked_worktree(folder: Path) -> bool:
    """Return whether `git worktree add` made the folder: its `.git` is a file that names `…/worktrees/NAME`.

    This holds even if the repository is missing. A submodule may have such a name, but no `commondir`.
    """
    try:
        with open_regular(folder / ".git") as file:
            text = os.fsdecode(file.read(_MOST_POINTER_BYTES))
        if not text.startswith("gitdir:"):
            return False
        own = _named(folder, text.removeprefix("gitdir:"))
        if own.parent.name != "worktrees":
            return False
        return os.path.lexists(own / "commondir") or not os.path.lexists(own / "HEAD")
    except (OSError, ValueError, RuntimeError, GitError):
        return False


def read_regular(folder: Path, name: str, most: int) -> bytes | None:
    """Return the content of a file below a folder without links, or None if it is missing.

    Raise GitError if it is outside of the folder, not a regular file, or larger than `most` bytes.
    """
    file = folder / name
    try:
        if not file.parent.resolve().is_relative_to(folder):
            raise _refused(file)
        mode = file.lstat().st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            raise _refused(file)
        with open_regular(file) as opened:
            if os.fstat(opened.fileno()).st_size > most:
                raise GitError(f"{file} has more than {most:,} bytes, so Cairn does not read it.", final=True)
            return opened.read(most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RuntimeError) as problem:
        raise GitError(f"{file} cannot be read: {problem}.", final=False) from None


def _refused(file: Path) -> GitError:
    return GitError(
        f"{file} is a link or another special file. Cairn does not follow links in a git repository: replace"
        " it by what it refers to.",
        final=True,
    )


def _is_reference(name: str) -> bool:
    first, *others = name.split("/")
    if not others:
        return name == "HEAD"
    is_short = all(len(part.encode("utf-8", "replace")) <= _LONGEST_PART for part in others)
    return first == "refs" and is_short and all(map(_PART_OF_NAME.fullmatch, others))


def _at(top: Path) -> Repository | None:
    """Return the repository whose work tree is `top`, or None. Raise GitError if it must not be read."""
    link = top / ".git"
    try:
        mode = link.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        if not os.path.lexists(link / "HEAD"):
            return None
        if os.path.lexists(link / "commondir"):
            raise _not_of(top, link, "has a file `commondir`, which only worktrees have")
        return Repository(top, link, link)
    content = read_regular(top, ".git", _MOST_BYTES) or b""
    own = _named(top, os.fsdecode(content).removeprefix("gitdir:"))
    if not os.path.lexists(own / "HEAD"):
        return None
    common = _path_in(own, "commondir")
    if common is not None:
        if own.parent != common / "worktrees" or _path_in(own, "gitdir") != link:
            raise _not_of(
                top, own, "is not this folder's. If you moved the folder, run `git worktree repair` in it"
            )
        return Repository(top, own, common)
    if not (_is_submodule(top, own) or _names(own, top)):
        raise _not_of(
            top, own, 'is not this folder\'s. If it is, run `git config core.worktree "$PWD"` in it'
        )
    return Repository(top, own, own)


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0


def _named(folder: Path, text: str) -> Path:
    """Return the path that a file in the folder names. Raise GitError if it is on another machine."""
    path = folder / text.strip()
    if path.drive.startswith("\\\\") and path.drive != folder.drive:
        # Windows would send the user's name and a hash of the password there.
        raise GitError(f"The git repository of {folder.name} is not read: {path} is elsewhere.", final=True)
    return path.resolve()


def _path_in(own: Path, name: str) -> Path | None:
    """Return the path in a file of a git folder."""
    content = read_regular(own, name, _MOST_BYTES)
    return None if content is None else _named(own, os.fsdecode(content))


def _is_submodule(top: Path, own: Path) -> bool:
    return any(own.is_relative_to(outer / ".git" / "modules") for outer in top.parents)


def _names(own: Path, top: Path) -> bool:
    """Return whether the settings of a git folder name the folder of its work tree."""
    named = Repository(top, own, own).settings(time.monotonic() + _SECONDS).get("core.worktree")
    return named is not None and _named(own, named) == top


def _not_of(top: Path, own: Path, problem: str) -> GitError:
    return GitError(f"The git repository of {top.name} is not read: {own} {problem}.", final=True)
