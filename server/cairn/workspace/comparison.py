"""Compare the files of a folder with those of a commit, by the rules for what is indexed.

`git diff` does something similar, but it runs the filters that a repository's settings name, and rewrites
git's index.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Set
from pathlib import Path

from attrs import Factory, define, field, frozen

from cairn.workspace.repository import Repository
from cairn.workspace.scan import FileEntry, FileRules, ScanReport, read_bytes, scan

_SETTLED_NS = 2_000_000_000
"""The age, in ns, from which a file's modification time tells later changes. Some file systems count in steps
of two seconds, and a younger file may change again within the same step."""


@frozen
class Compared:
    differing: tuple[str, ...]
    """The indexed files that are not in the commit, or have another content there."""
    same: frozenset[str]
    """The other indexed files."""


@frozen
class InnerRepositories:
    """The repositories inside of a folder, such as submodules."""

    _root: Path
    _known: dict[str, bool] = field(factory=lambda: {"": False}, init=False)
    """Whether a folder is in one."""

    def have(self, path: str) -> bool:
        """Return whether the file at `path`, relative to the folder, is in a repository inside of it."""
        return self._is_inside(path.rpartition("/")[0])

    def _is_inside(self, folder: str) -> bool:
        if folder not in self._known:
            above = self._is_inside(folder.rpartition("/")[0])
            self._known[folder] = above or os.path.lexists(f"{self._root}/{folder}/.git")
        return self._known[folder]


@define
class ContentHashes:
    """The hashes by which git knows the contents of a folder's files. A file is read again only if its size
    or modification time has changed."""

    _root: Path
    _known: dict[str, tuple[FileEntry, frozenset[str]]] = Factory(dict)
    """The metadata and the hashes of each file, by path."""

    def of(self, entry: FileEntry, algorithm: str) -> frozenset[str]:
        """Return the hashes of a file's content, as it is and with the line ends that git may have converted;
        none if it cannot be read."""
        known = self._known.get(entry.path)
        if known is not None and known[0] == entry:
            return known[1]
        is_settled = entry.mtime_ns < time.time_ns() - _SETTLED_NS
        try:
            content = read_bytes(self._root / entry.path)
        except OSError:
            return frozenset()
        texts = {content, content.replace(b"\r\n", b"\n")}
        hashes = frozenset(
            hashlib.new(algorithm, b"blob %d\0" % len(text) + text).hexdigest() for text in texts
        )
        if is_settled:
            self._known[entry.path] = (entry, hashes)
        return hashes

    def keep(self, paths: Set[str]) -> None:
        """Forget the files at all other paths."""
        for path in self._known.keys() - paths:
            del self._known[path]


@define
class Comparison:
    """Compares one folder, the top of a repository, repeatedly."""

    _root: Path
    _hashes: ContentHashes = Factory(lambda self: ContentHashes(self._root), takes_self=True)

    def compare(
        self,
        repository: Repository,
        commit: str,
        rules: FileRules,
        deadline: float,
        stop: Callable[[], bool] = lambda: False,
    ) -> Compared:
        """Compare all indexed files with a commit. Raise GitError.

        The files of repositories inside the folder, such as submodules, are left out, because they belong to
        commits of those. A file is also the same if only its line ends differ, as git may convert them.
        """
        committed = {
            os.fsdecode(path): blob for path, (_, _, blob) in repository.files(commit, deadline, stop=stop)
        }
        algorithm = "sha256" if len(commit) == 64 else "sha1"
        differing, same, inner = list[str](), set[str](), InnerRepositories(self._root)
        for entry in scan(self._root, rules, ScanReport(), stop=stop):
            if inner.have(entry.path):
                continue
            wanted = committed.get(entry.path)
            if wanted is not None and wanted in self._hashes.of(entry, algorithm):
                same.add(entry.path)
            else:
                differing.append(entry.path)
        self._hashes.keep({*differing, *same})
        return Compared(tuple(differing), frozenset(same))
