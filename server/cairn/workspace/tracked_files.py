"""Which files of a folder may differ from git's index, by their metadata, as `git status` finds out.

What was read stays in memory, so that the next answer about a folder is fast.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
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
from cairn.workspace.scan import FileEntry, FileRules, ScanReport, scan

_FOLDERS = 4
"""The number of folders of which git's index is kept, some 40 MB for 75,000 files."""
_SECOND_NS = 1_000_000_000
_FEW = 20_000
"""The number of files up to which the metadata of each is read: 0.1 s. In larger folders, Cairn's index is
trusted, whose watcher reports changes within 0.2 s."""
_NOTICED_NS = 60 * _SECOND_NS
"""The age up to which a folder's change may not be in Cairn's index. Such folders are listed again."""
Stamp = tuple[int, int]
"""The size of a file in bytes, and the time of its change in ns."""


@frozen
class IndexedFiles:
    """The files that the rules admit, as Cairn's index has them."""

    version: Hashable
    """The same value as long as the files are the same."""
    stamps: Callable[[], Mapping[str, Stamp]]
    """Returns the metadata of each file, by path."""
    unread: frozenset[str] = frozenset()
    """Files that have changed since."""


@frozen
class _Compared:
    """Git's index, compared with the files of Cairn's index."""

    index: object
    version: object
    differing: tuple[str, ...]
    """In a large folder, the files that may differ between the two."""
    untracked: tuple[str, ...]
    """The files that only Cairn's index has."""
    folders: frozenset[str]
    """All folders with files of either index, and those above them; none of a large folder."""


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
    _compared: _Compared | None = field(default=None, init=False)

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

    def differing(self, indexed: IndexedFiles | None) -> Iterable[str]:
        """Return the regular files that may differ from git's index, or are gone."""
        if indexed is None or len(self._index.entries) <= _FEW:
            return _differing(self._root, self._index, {})
        known = self._with(indexed)
        return [*known.differing, *(path for path in indexed.unread if path in self._index.entries)]

    def untracked(self, indexed: IndexedFiles, rules: FileRules, stop: Callable[[], bool]) -> Iterator[str]:
        """Yield the files that git's index does not have, and others that the rules do not admit. Stop early
        once `stop()` is true."""
        known = self._with(indexed)
        yield from (path for path in (*known.untracked, *indexed.unread) if path not in self._index.entries)
        recent = time.time_ns() - _NOTICED_NS
        for folder in known.folders:
            stamp = None if stop() else _stamp(self._root, folder)
            if stamp is not None and stamp[1] > recent:
                yield from self._listed(folder, known.folders, rules, stop)

    def _with(self, indexed: IndexedFiles) -> _Compared:
        known, index = self._compared, self._index
        if known is None or known.index is not index or known.version != indexed.version:
            known = self._compared = _compared(self._root, index, indexed)
        return known

    def walked(self, rules: FileRules, stop: Callable[[], bool]) -> Iterator[str]:
        """Yield the files that the rules admit and git's index does not have, with a walk of all folders. It
        stops early once `stop()` is true."""
        entries = scan(self._root, rules, ScanReport(), stop=stop, passed_over=self._index.entries)
        return (entry.path for entry in entries)

    def _listed(
        self, folder: str, known: Set[str], rules: FileRules, stop: Callable[[], bool]
    ) -> Iterator[str]:
        """Yield the files of a folder that git's index does not have, and those below its new folders."""
        try:
            entries = list(os.scandir(f"{self._root}/{folder}"))
        except OSError:
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                if path not in self._index.entries:
                    yield path
            elif path not in known and rules.decide_descent(path).indexed:
                yield from (each.path for each in scan(self._root, rules, ScanReport(), path, stop))

    def has_content(self, path: str, blob: str) -> bool:
        """Return whether the file has the content that git knows by this hash."""
        stamp = _stamp(self._root, path)
        algorithm = "sha256" if len(blob) == 64 else "sha1"
        return stamp is not None and blob in self._hashes.of(FileEntry(path, *stamp), algorithm)


def _compared(root: Path, index: _Index, indexed: IndexedFiles) -> _Compared:
    stamps, tracked = indexed.stamps(), index.entries
    differing, folders = list[str](), set[str]()
    if len(tracked) > _FEW:
        differing += _differing(root, index, stamps)
    else:
        folders = {path.rpartition("/")[0] for files in (stamps, tracked) for path in files}
        folders |= {
            above for each in folders if each for above in accumulate(each.split("/"), "{}/{}".format)
        }
        folders.add("")
    untracked = tuple(path for path in stamps if path not in tracked)
    return _Compared(index, indexed.version, tuple(differing), untracked, frozenset(folders))


def _differing(root: Path, index: _Index, stamps: Mapping[str, Stamp]) -> Iterator[str]:
    """Yield the regular files that may differ from git's index. The metadata that `stamps` lacks is read."""
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
