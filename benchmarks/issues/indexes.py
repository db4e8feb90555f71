"""Makes one index for each issue: its repository as it was before the fix, with the history up to there.

From one revision to the next of a repository, the index is only updated, and copied.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen
from engine.place import git
from retrieval.in_process import copied_index

from issues.sets import Issue


class CloneError(Exception):
    """A clone cannot be used; the message says what to do."""


@frozen
class Indexes:
    """The indexes of a set of issues."""

    clones: Path
    """A folder with a clone of each repository, bare or not, as `owner__name`."""
    data: Path
    """The folder for working trees and indexes."""

    def clone(self, issue: Issue) -> Path:
        """Return the git folder of the issue's repository. Raises CloneError if there is none."""
        place = self.clones / issue.repository.replace("/", "__")
        found = place / ".git" if (place / ".git").exists() else place
        if not (found / "objects").exists():
            raise CloneError(f"{place} is not a clone. Run `git clone --bare ADDRESS {place}`.")
        return found

    def folder(self, issue: Issue) -> Path:
        """Return the folder with the issue's index."""
        return self.data / "indexes" / issue.id

    def make_all(self, issues: Iterable[Issue]) -> Iterator[Issue]:
        """Yield each of the issues once its index exists; those of a repository in the order of their
        revisions' dates.

        Raises CloneError if a revision is missing.
        """
        for issue in sorted(issues, key=lambda issue: (issue.repository, self._date(issue), issue.id)):
            if not self.folder(issue).exists():
                self._make(issue)
            yield issue

    def _date(self, issue: Issue) -> int:
        try:
            return int(git(self.clone(issue), "log", "-1", "--format=%ct", issue.revision))
        except subprocess.CalledProcessError as problem:
            raise CloneError(f"{self.clone(issue)} lacks {issue.revision}. Fetch all of it.") from problem

    def _make(self, issue: Issue) -> None:
        print(f"{issue.id}: making its index", file=sys.stderr, flush=True)
        name = issue.repository.replace("/", "__")
        tree, data = self.data / "trees" / name, self.data / "working" / name
        if not tree.exists():
            tree.parent.mkdir(parents=True, exist_ok=True)
            git(tree.parent, "clone", "-q", "--no-checkout", str(self.clone(issue)), str(tree))
        git(tree, "reset", "-q", "--hard", issue.revision)
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
        unfinished = self.data / "unfinished"
        copied_index(data, unfinished)
        self.folder(issue).parent.mkdir(parents=True, exist_ok=True)
        unfinished.rename(self.folder(issue))
