"""List the files of a commit, select those to index, and write the contents of some into a folder.

The selection is by names, sizes and the commit's rules. Only ignore files, settings and manifests are read
for it, so files that the store has stay unread.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from attrs import define, field, frozen

from cairn.errors import TeamError
from cairn.settings.layers import Layers
from cairn.settings.tree import WORKSPACE_FILE, IndexSettings
from cairn.team.git_source import Repository
from cairn.workspace.collections import MANIFESTS, Projects, find_projects
from cairn.workspace.git import contents
from cairn.workspace.ignore_files import IGNORE_FILES
from cairn.workspace.scan import FileRules

_REGULAR = ("100644", "100755", "100664")
_BATCH = 64 << 20
"""The number of bytes after which another git command reads the next files."""


@frozen
class TreeFile:
    path: str
    blob: bytes
    """The id of the content in git."""
    size: int


def list_tree(repository: Repository, commit: str) -> tuple[list[TreeFile], list[str]]:
    """Return the files of a commit, without links and submodules, and the unusable paths. Raise TeamError.

    Those are impossible or unsafe on this machine, or not Unicode, which are escaped as in Python.
    """
    files: list[TreeFile] = []
    unusable: list[str] = []
    try:
        for name, (mode, _, blob, size) in repository.files(commit):
            if mode not in _REGULAR:
                continue
            try:
                path = name.decode("utf-8")
            except UnicodeDecodeError:
                unusable.append(repr(name)[2:-1])
                continue
            if not size.isdigit():
                raise _incomplete(f"it has no content of {path}")
            if _is_usable(path):
                files.append(TreeFile(path, bytes.fromhex(blob), int(size)))
            else:
                unusable.append(path)
    except TeamError as problem:
        raise _incomplete(problem) from None
    return files, unusable


def write_files(repository: Repository, files: Iterable[TreeFile], folder: Path) -> list[str]:
    """Write files below `folder`. Return the paths that the system refused, with the reasons."""
    refused: list[str] = []
    for batch in _batches(files):
        wanted = "".join(f"{file.blob.hex()}\n" for file in batch)
        found = contents(repository.stream("", "cat-file", "--batch", given=wanted))
        for file in batch:
            data = next(found, None)
            if data is None:
                raise _incomplete(f"it has no content of {file.path}")
            target = folder / file.path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            except OSError as problem:  # For instance, the name is too long.
                refused.append(f"{file.path}: {problem.strerror or problem}")
    return refused


def _incomplete(problem: object) -> TeamError:
    return TeamError(
        f"The files of the commit cannot be read: {problem}\nA partial clone lacks some. Fetch all of it"
        " (git fetch --refetch --no-filter), or index the clone URL."
    )


def _is_usable(path: str) -> bool:
    """Return whether the path is possible here, and stays inside its folder and outside `.git`."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or _is_git(part) for part in parts):
        return False
    return sys.platform != "win32" or not re.search(r'[\\:*?"<>|]', path)


def _is_git(name: str) -> bool:
    """Return whether a file system may treat the name as `.git`, for instance because it ignores case."""
    seen = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return seen.casefold().rstrip(". ") in (".git", "git~1")


def _batches(files: Iterable[TreeFile]) -> Iterator[Sequence[TreeFile]]:
    batch: list[TreeFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.size
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# --- which files are indexed ------------------------------------------------------------------------


@frozen
class Admitted:
    files: tuple[TreeFile, ...]
    projects: Projects
    settings: IndexSettings
    """The settings, including those of the commit's own settings file."""
    skipped: Counter[str]
    """The numbers of excluded files and folders, by the rule that excluded them."""
    written: frozenset[str]
    """The paths of rules and manifests, which `admit` has written into the checkout."""

    @property
    def collections(self) -> list[str]:
        return [self.projects.collection(file.path) for file in self.files]


def admit(repository: Repository, files: Sequence[TreeFile], checkout: Path, layers: Layers) -> Admitted:
    """Select the files of a commit to index, and write its rules and manifests into the checkout."""
    ruling = [file for file in files if _rules(file.path)]
    write_files(repository, ruling, checkout)
    settings = layers.of(checkout).settings.index
    deciding = _Deciding(FileRules(checkout, settings, all_tracked=True))
    admitted = tuple(file for file in files if deciding.admits(file))
    manifests = [file for file in admitted if file.path.rpartition("/")[2] in MANIFESTS]
    write_files(repository, manifests, checkout)
    projects = find_projects(checkout, (file.path for file in admitted), settings.collections)
    written = frozenset(file.path for file in (*ruling, *manifests))
    return Admitted(admitted, projects, settings, deciding.skipped, written)


def _rules(path: str) -> bool:
    return path == WORKSPACE_FILE or path.rpartition("/")[2] in IGNORE_FILES


@define
class _Deciding:
    """Applies the rules folder by folder, like a scan."""

    rules: FileRules
    skipped: Counter[str] = field(factory=Counter)
    _entered: dict[str, bool] = field(factory=dict)

    def admits(self, file: TreeFile) -> bool:
        """Return whether the file is indexed, by its path and size."""
        if not self._enters(file.path.rpartition("/")[0]):
            return False
        decision = self.rules.decide_file(file.path, _status(file.size))
        if not decision.indexed:
            self.skipped[decision.rule] += 1
        return decision.indexed

    def _enters(self, folder: str) -> bool:
        for place in accumulate(folder.split("/") if folder else (), "{}/{}".format):
            if place not in self._entered:
                decision = self.rules.decide_directory(place)
                self._entered[place] = decision.indexed
                self.skipped[decision.rule] += not decision.indexed
            if not self._entered[place]:
                return False
        return True


def _status(size: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, size, 0, 0, 0))
