"""What a git repository says about which files it ignores, beyond the ignore files in its directories.

Only git knows its configuration, and the files that it tracks although a pattern ignores them. Where git
cannot be asked, both are taken as not there, and a line in the log says why.
"""

from __future__ import annotations

import logging
import os
import time
from functools import cached_property
from pathlib import Path

from cairn.workspace.git import Git, GitError, Repository, locate

logger = logging.getLogger(__name__)

_GIT_SECONDS = 10
"""Listing the tracked files of a repository of 21,000 took 0.05 s; a dead network drive must not hold up a scan."""


class GitExcludes:
    """The rules of one repository. Everything is asked once; make a new object to ask again."""

    def __init__(self, repository: Repository) -> None:
        self.top = repository.top
        self._shared = repository.common

    @cached_property
    def files(self) -> tuple[tuple[Path, str], ...]:
        """`info/exclude` and the user's own ignore file, the stronger first, each with the name to show."""
        configured = self._config.get("core.excludesfile")
        if configured is None:
            configured = os.path.join(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git", "ignore")  # noqa: PTH118
        user = self.top / os.path.expanduser(configured)  # noqa: PTH111 - Path's raises where there is no home
        return (self._shared / "info" / "exclude", ".git/info/exclude"), (user, str(user))

    @cached_property
    def ignore_case(self) -> bool:
        """Whether patterns match without regard to case, as git sets it up on macOS and Windows."""
        return self._config.get("core.ignorecase", "").lower() in ("true", "yes", "on", "1")

    @cached_property
    def tracked_although_ignored(self) -> tuple[str, ...]:
        """Paths, relative to `top`, that git does not call ignored because it tracks them."""
        output = self._git("ls-files", "-i", "-c", "--exclude-standard", "-z")
        return tuple(filter(None, os.fsdecode(output).split("\0")))

    @cached_property
    def _config(self) -> dict[str, str]:
        entries = (
            entry.partition("\n") for entry in os.fsdecode(self._git("config", "-z", "--list")).split("\0")
        )
        # A name alone, with no value, is git's way to say true.
        return {name: value if divider else "true" for name, divider, value in entries}

    def _git(self, *arguments: str) -> bytes:
        git = Git(self.top, time.monotonic() + _GIT_SECONDS, lambda: False)
        try:
            return b"".join(git.run(arguments))
        except GitError as problem:
            logger.warning("What git ignores in %s is known in part only: %s", self.top, problem)
            return b""


def excludes_around(directory: Path) -> GitExcludes | None:
    """The rules of the repository that `directory` belongs to, or None."""
    repository = locate(directory)
    return GitExcludes(repository) if repository else None


def excludes_at(directory: Path) -> GitExcludes | None:
    """The rules of the repository whose work tree begins at `directory`, or None."""
    if not os.path.lexists(directory / ".git"):
        return None
    repository = locate(directory)
    return GitExcludes(repository) if repository and repository.top == directory else None
