"""Read git's index: the tracked files, with what git noted about each when it last read it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from attrs import evolve

from cairn.workspace.git import Git, GitError, git_folder, is_hash, parts
from cairn.workspace.repository import MOST_LIST_BYTES, Repository, read_regular

_SKIPPED, _ASSUMED = 1 << 30, 1 << 15
"""The flags of files that are not checked out, and of those that git assumes to be unchanged."""
_ENTRY = re.compile(
    rb"(\d{6}) ([0-9a-f]+) ([0-3])\t([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: \d+\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
SUBMODULE = "160000"
LINK = "120000"


class Entry(NamedTuple):
    """A file of the index. Named tuples are made five times faster than attrs objects, for 80,000 files."""

    mode: str
    blob: str
    """The hash of the staged content; "" while a merge of the file is in conflict."""
    size: int
    mtime_ns: int
    """The metadata of the file when its content was the staged one; -1 if that is not certain."""
    is_skipped: bool
    """Whether the file need not be in the folder: with a sparse checkout, and after `git update-index` with
    `--skip-worktree` or `--assume-unchanged`."""


def index_files(repository: Repository) -> dict[str, bytes]:
    """Return the files, by path, of which git's index consists. Raise GitError."""
    index = read_regular(repository.own, "index", MOST_LIST_BYTES)
    if index is None:
        return {}
    files = {"index": index}
    for file in repository.own.glob(
        "sharedindex.*"
    ):  # A split index continues in the file whose hash it has.
        if is_hash(file.suffix[1:]) and bytes.fromhex(file.suffix[1:]) in index:
            files[file.name] = read_regular(repository.own, file.name, MOST_LIST_BYTES) or b""
            break
    return files


def index_version(repository: Repository) -> tuple[int, int, int]:
    """Return what changes whenever git writes the index."""
    try:
        status = (repository.own / "index").lstat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def tracked_paths(repository: Repository, deadline: float) -> Iterator[str]:
    """Yield the paths of git's index. Raise GitError.

    Folders that the index lists as a whole, as none of their files is checked out, end with `/`.
    """
    for path in parts(_list(repository, deadline), b"\0"):
        yield os.fsdecode(path)


def entries(repository: Repository, below: str, deadline: float) -> dict[str, Entry]:
    """Return the files of git's index below a folder of the work tree (with `/` at its end, or ""), by path
    relative to that folder. Raise GitError."""
    written_ns = index_version(repository)[0]
    listing = b"".join(_list(repository, deadline, "--stage", "--debug", "--", *([below] if below else [])))
    found, start = dict[str, Entry](), len(below)
    for mode, blob, stage, path, seconds, fraction, size, flags in _ENTRY.findall(listing):
        mtime_ns = int(seconds) * 1_000_000_000 + int(fraction)
        # A file may change again within the moment in which git read it and wrote the index.
        is_certain = mtime_ns < written_ns and stage == b"0"
        found[os.fsdecode(path)[start:]] = Entry(
            mode.decode(),
            blob.decode() if stage == b"0" else "",
            int(size),
            mtime_ns if is_certain else -1,
            bool(int(flags, 16) & (_SKIPPED | _ASSUMED)),
        )
    if listing and not found:
        raise GitError("The listing of git's index has an unknown form.", final=True)
    return found


def with_index(git: Git, repository: Repository) -> Git:
    """Return a git that also has a copy of the repository's index. Raise GitError."""
    return evolve(git, files={**git.files, **index_files(repository)})


def _list(repository: Repository, deadline: float, *options: str) -> Iterator[bytes]:
    git = with_index(Git(git_folder(extensions=repository.extensions), deadline), repository)
    # Without the option, git would read the trees of folders that the index lists as a whole.
    sparse = ("--sparse",) if b"sdir" in git.files.get("index", b"") else ()
    yield from git.run(("ls-files", "-z", *sparse, *options)) if "index" in git.files else ()
