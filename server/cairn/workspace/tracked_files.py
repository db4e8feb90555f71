"""Which files of a folder may differ from git's index, by their metadata, as `git status` finds out.

What was read stays in memory, so that the next answer about a folder is fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from attrs import Factory, define, field, frozen

from cairn.workspace.comparison import ContentHashes
from cairn.workspace.git_index import (
    FILE_TYPE,
    IN_CONFLICT,
    REGULAR,
    SUBMODULE,
    Entry,
    entries,
    index_version,
)
from cairn.workspace.repository import Repository, locate
from cairn.workspace.scan import FileEntry

_FOLDERS = 4
"""The number of folders of which git's index is kept, some 40 MB for 75,000 files."""
_SECOND_NS = 1_000_000_000
Stamp = tuple[int, int]
"""The size of a file in bytes, and the time of its change in ns."""


@frozen
class IndexedFiles:
    """All files that the rules admit, as Cairn's index has them."""

    version: Hashable
    """The same value as long as the files are the same."""
    stamps: Callable[[], Mapping[str, Stamp]]
    """Returns the metadata of each file, by path."""
    unread: frozenset[str] = frozenset()
    """Files that may have changed since."""


@frozen
class _Index:
    version: object
    entries: Mapping[str, Entry]
    written_ns: int
    """The time at which git wrote the index."""
    submodules: Mapping[str, str]
    """The commit of each submodule, by path."""


@define
class TrackedFiles:
    """The files of one folder in git's index, by path relative to the folder. Thread-safe."""

    _root: Path
    _index: _Index = field(factory=lambda: _Index(None, {}, 0, {}), init=False)
    _hashes: ContentHashes = Factory(lambda self: ContentHashes(self._root), takes_self=True)
    _compared: tuple[object, object, list[str]] | None = field(default=None, init=False)
    """The index, the version of Cairn's index, and which files may differ between the two."""

    def read(self, repository: Repository, below: str) -> Mapping[str, Entry]:
        """Return the entries of git's index, as they are now. `below` is the folder's path in the repository,
        with `/` at its end, or "". Raise GitError."""
        written = index_version(repository)
        version = (written, repository.own, below)
        if version != self._index.version:
            found = entries(repository)
            if below:
                found = {path[len(below) :]: each for path, each in found.items() if path.startswith(below)}
            submodules = {
                path: entry.blob.hex() for path, entry in found.items() if entry.mode & FILE_TYPE == SUBMODULE
            }
            self._index = _Index(version, found, written[0], submodules)
        return self._index.entries

    def submodules(self) -> list[str]:
        """Return the submodules at another commit than the index. Raise GitError."""
        found = []
        for path, commit in self._index.submodules.items():
            inner = locate(self._root / path)
            if inner is not None and inner.top == self._root / path and inner.resolve("HEAD") != commit:
                found.append(path)
        return found

    def is_kept_in_git(self, path: str) -> bool:
        """Return whether the file is not in the folder because it need not be checked out."""
        if _stamp(self._root, path) is not None:
            return False
        entry = self._index.entries.get(path)
        if entry is not None:
            return entry.is_optional
        # The index may list a folder as a whole.
        return any(
            f"{folder}/" in self._index.entries for folder in accumulate(path.split("/"), "{}/{}".format)
        )

    def differing(self, indexed: IndexedFiles) -> list[str]:
        """Return the files that may differ between git's index and the folder, or are not in both, as far as
        Cairn's index shows."""
        compared, index = self._compared, self._index
        if compared is None or compared[0] is not index or compared[1] != indexed.version:
            stamps = indexed.stamps()
            found = list(_differing(self._root, index, stamps)) + [
                path for path in stamps if path not in index.entries
            ]
            compared = self._compared = index, indexed.version, found
        return [*compared[2], *indexed.unread]

    def differing_on_disk(self) -> list[str]:
        """Return the files of git's index that may differ from it, or are gone."""
        return list(_differing(self._root, self._index, {}))

    def has_content(self, path: str, blob: str) -> bool:
        """Return whether the file has the content that git knows by this hash."""
        stamp = _stamp(self._root, path)
        algorithm = "sha256" if len(blob) == 64 else "sha1"
        return stamp is not None and blob in self._hashes.of(FileEntry(path, *stamp), algorithm)


def _differing(root: Path, index: _Index, stamps: Mapping[str, Stamp]) -> Iterator[str]:
    """Yield the regular files that may differ from the index. The metadata that `stamps` lacks is read."""
    for path, (seconds, fraction, mode, size, _, flags, _) in index.entries.items():
        if mode & FILE_TYPE != REGULAR or flags & IN_CONFLICT:
            continue
        stamp = stamps.get(path) or _stamp(root, path)
        if stamp is None:
            if not index.entries[path].is_optional:
                yield path
            continue
        size_now, mtime_ns = stamp
        if size_now & 0xFFFFFFFF == size and mtime_ns // _SECOND_NS == seconds:
            fraction_now = mtime_ns % _SECOND_NS
            # Some programs note whole seconds only.
            is_same = fraction_now == fraction or not fraction_now or not fraction
            # A file may change again within the moment in which git read it and wrote the index.
            if is_same and mtime_ns < index.written_ns:
                continue
        yield path


def _stamp(root: Path, path: str) -> Stamp | None:
    try:
        status = os.lstat(f"{root}/{path}")  # Path.lstat takes three times as long.
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=_FOLDERS)
def tracked_files(root: Path) -> TrackedFiles:
    """Return what is known about a folder. The path has all links resolved."""
    return TrackedFiles(root)
