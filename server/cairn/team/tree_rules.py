"""Select the files of a commit to index, and their collections, by names, sizes and the commit's rules.

Only ignore files, settings and manifests are read for this, so files that the store has stay unread.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from attrs import define, field, frozen

from cairn.settings.layers import Layers
from cairn.settings.tree import WORKSPACE_FILE, IndexSettings
from cairn.team.commit_files import Tree, TreeFile, write_files
from cairn.team.git_source import Repository
from cairn.workspace.collections import MANIFESTS, Projects, find_projects
from cairn.workspace.ignore_files import IGNORE_FILES
from cairn.workspace.rules import FileRules


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


def admit(repository: Repository, tree: Tree, checkout: Path, layers: Layers) -> Admitted:
    """Select the files of a commit to index, and write its rules and manifests into the checkout."""
    ruling = [file for file in tree.files if _rules(file.path)]
    write_files(repository, ruling, checkout)
    settings = layers.of(checkout).settings.index
    deciding = _Deciding(FileRules(checkout, settings, all_tracked=True), _entries_by_folder(tree.files))
    files = tuple(file for file in tree.files if deciding.admits(file))
    manifests = [file for file in files if file.path.rpartition("/")[2] in MANIFESTS]
    write_files(repository, manifests, checkout)
    projects = find_projects(checkout, (file.path for file in files), settings.collections)
    written = frozenset(file.path for file in (*ruling, *manifests))
    return Admitted(files, projects, settings, deciding.skipped, written)


def _rules(path: str) -> bool:
    return path == WORKSPACE_FILE or path.rpartition("/")[2] in IGNORE_FILES


@define
class _Deciding:
    """Applies the rules folder by folder, like a scan."""

    rules: FileRules
    names: dict[str, set[str]]
    """The entries of each folder."""
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
        if folder in self._entered:
            return self._entered[folder]
        entered = True
        for place in ("", *accumulate(folder.split("/") if folder else (), "{}/{}".format)):
            if entered and place not in self._entered:
                if place:
                    decision = self.rules.decide_directory(place)
                    entered = decision.indexed
                    self.skipped[decision.rule] += not entered
                if entered:
                    self.rules.listed(place, self.names[place])
            entered = self._entered.setdefault(place, entered)
        return entered


def _status(size: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, size, 0, 0, 0))


def _entries_by_folder(files: Iterable[TreeFile]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"": set()}
    for file in files:
        path = file.path
        while path:
            folder, _, name = path.rpartition("/")
            entries = found.setdefault(folder, set())
            if name in entries:
                break
            entries.add(name)
            path = folder
    return found
