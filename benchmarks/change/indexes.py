"""Makes one index for each commit: its repository at the commit's parent, with the history up to there.

The commits of a repository are taken in order, so that its index is only updated, and copied.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen
from engine.index_file import NAME, IndexFile
from engine.place import git
from retrieval.in_process import copied_index

from cairn.index.store.schema import SCHEMA_VERSION
from change.sets import Project, clone_of


@frozen
class Indexes:
    """The indexes of a set of commits."""

    clones: Path
    """A folder with a bare clone of each repository as `owner+name/repo`."""
    data: Path
    """The folder for working trees and indexes."""

    def folder(self, project: Project, commit: str) -> Path:
        """Return the folder with the index of the commit's parent."""
        return self.data / "indexes" / project.repository.replace("/", "+") / commit[:12]

    def make_all(self, projects: Sequence[Project]) -> Iterator[tuple[Project, str]]:
        """Yield each commit with its project, once its index exists."""
        for project in projects:
            for commit in project.commits:
                if not _is_current(self.folder(project, commit)):
                    self._make(project, commit)
                yield project, commit

    def _make(self, project: Project, commit: str) -> None:
        name = project.repository.replace("/", "+")
        tree, data = self.data / "trees" / name, self.data / "working" / name
        if not tree.exists():
            tree.parent.mkdir(parents=True, exist_ok=True)
            clone = clone_of(self.clones, project.repository).resolve()
            git(tree.parent, "clone", "-q", "--no-checkout", str(clone), str(tree))
        # The branch of HEAD moves as well, so that the index knows no later commit.
        git(tree, "reset", "-q", "--hard", f"{commit}^")
        git(tree, "clean", "-fdqx")
        environment = {
            **os.environ,
            "CAIRN_DATA_DIR": str(data.resolve()),
            "CAIRN_CONFIG_DIR": str(data.resolve() / "no-settings"),
        }
        subprocess.run(
            [sys.executable, "-P", "-m", "cairn", "index", "--quiet", str(tree.resolve())],
            env=environment,
            check=True,
        )
        unfinished = self.data / "unfinished" / name
        copied_index(data, unfinished)
        folder = self.folder(project, commit)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished.rename(folder)


def _is_current(folder: Path) -> bool:
    """Whether the folder has an index of this version, which alone can be read."""
    file = folder / NAME
    if not file.exists():
        return False
    index = IndexFile(file)
    try:
        return bool(index.value("PRAGMA user_version") == SCHEMA_VERSION)
    finally:
        index.close()
