"""Read git's index: the tracked files, with what git noted about each when it last read it.

The format is that of gitformat-index(5). Cairn reads it itself: git's own listing of 75,000 files took four
times as long. git only reads an index that continues in another file ("split index").
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from attrs import evolve

from cairn.workspace.git import Git, GitError, git_folder, is_hash, parts
from cairn.workspace.repository import MOST_LIST_BYTES, Repository, read_regular

_EXTENDED, _ASSUMED, IN_CONFLICT, _LENGTH = 0x4000, 0x8000, 0x3000, 0x0FFF
_SKIPPED, _INTENDED = 0x4000, 0x2000
"""The flags of an entry, and those of its extended flags."""
_KEPT = 4
"""The number of indexes that stay in memory. One of 75,000 files takes some 30 MB."""
_SECONDS = 10.0
"""The time limit of git's listing of a split index."""
_LONGEST_PATH = 1 << 16
FILE_TYPE, REGULAR, LINK, SUBMODULE = 0o170000, 0o100000, 0o120000, 0o160000


class Entry(NamedTuple):
    """A file of the index. Named tuples are made several times faster than attrs objects."""

    seconds: int
    fraction: int
    """The time of the file's change in s, and in ns since then, when its content was the staged one."""
    mode: int
    size: int
    """The size in bytes, modulo 2³²."""
    blob: bytes
    """The hash of the staged content."""
    flags: int
    extended: int

    @property
    def is_optional(self) -> bool:
        """Whether the file need not be in the folder: with a sparse checkout, and after `git update-index`
        with `--skip-worktree` or `--assume-unchanged`."""
        return bool(self.flags & _ASSUMED or self.extended & _SKIPPED)

    @property
    def is_intended(self) -> bool:
        """Whether no content was staged, as after `git add --intent-to-add`."""
        return bool(self.extended & _INTENDED)


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
    """Return the metadata of git's index: the time of its change in ns, its size and its number."""
    try:
        status = (repository.own / "index").lstat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def entries(repository: Repository) -> Mapping[str, Entry]:
    """Return the entries of git's index by path. Raise GitError.

    Folders that the index lists as a whole, as none of their files is checked out, end with `/`. The indexes
    that were read last stay in memory.
    """
    return _entries(repository, index_version(repository))


@lru_cache(maxsize=_KEPT)
def _entries(repository: Repository, _version: object) -> Mapping[str, Entry]:
    files = index_files(repository)
    if not files:
        return {}
    try:
        if len(files) > 1:
            folder = {**git_folder(extensions=repository.extensions), **files}
            return _listed(Git(folder, time.monotonic() + _SECONDS))
        return _parsed(files["index"], 32 if "objectFormat" in repository.extensions else 20)
    except (struct.error, ValueError, IndexError) as problem:
        raise GitError(f"The index of the git repository is damaged: {problem}.", final=False) from None


def with_index(git: Git, repository: Repository) -> Git:
    """Return a git that also has a copy of the repository's index. Raise GitError."""
    return evolve(git, files={**git.files, **index_files(repository)})


def _parsed(index: bytes, hash_size: int) -> dict[str, Entry]:
    """Return the entries in the content of an index. Raise ValueError, IndexError or struct.error."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or not 2 <= version <= 4:
        raise ValueError(f"its version is {version}")
    found, at, path = dict[str, Entry](), 12, b""
    coding = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
    # The fields that are read are the time of the change in s and ns, the mode, the size, the hash and flags.
    entry = struct.Struct(f">8xII8xI8xI{hash_size}sH")
    for _ in range(count):
        *fields, flags = entry.unpack_from(index, at)
        start, extended = at + entry.size, 0
        if flags & _EXTENDED:
            (extended,) = struct.unpack_from(">H", index, start)
            start += 2
        if version == 4:
            cut, start = _number(index, start)
            end = index.index(b"\0", start)
            path = path[: len(path) - cut] + index[start:end]
            at = end + 1
            if len(path) > _LONGEST_PATH:  # Entries of a few bytes could each repeat a path without end.
                raise ValueError("it has a path that is too long")
        else:
            length = flags & _LENGTH
            end = start + length if length < _LENGTH else index.index(b"\0", start)
            path = index[start:end]
            at += (end - at + 8) & ~7  # One to eight NULs follow.
        # Half of the time of `os.fsdecode` and `Entry` is for checks that are not needed here.
        found[path.decode(*coding)] = tuple.__new__(Entry, (*fields, flags, extended))
    return found


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Return the number of variable size at a place, and the place after it."""
    byte = index[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = index[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _listed(git: Git) -> dict[str, Entry]:
    """Return the entries as git lists them, without metadata. Raise GitError or ValueError."""
    sparse = ("--sparse",) if b"sdir" in git.files["index"] else ()
    found = dict[str, Entry]()
    for line in parts(git.run(("ls-files", "--stage", "-z", *sparse)), b"\0"):
        fields, _, path = line.partition(b"\t")
        mode, blob, stage = fields.decode("ascii").split()
        found[os.fsdecode(path)] = Entry(0, 0, int(mode, 8), -1, bytes.fromhex(blob), int(stage) << 12, 0)
    return found
