"""Git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path


class GitRepository:
    """A repository with a work tree, whose commits are a minute apart. The user's settings do not count."""

    def __init__(
        self, folder: Path, files: Mapping[str, str | bytes] | None = None, *, options: Iterable[str] = ()
    ) -> None:
        """Create the repository if it is missing, with options of `git init`, and commit files if given."""
        self.folder = folder
        self._minute = 0
        if not (folder / ".git").exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--initial-branch=main", *options)
        if files is not None:
            self.commit("First berths", files)

    def git(self, *arguments: str, given: bytes | None = None) -> str:
        """Return what git prints. `given` is its input."""
        when = f"{1_700_000_000 + 60 * self._minute} +0000"
        environment = {
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        settings = "-c user.name=Ada -c user.email=ada@example.org -c protocol.file.allow=always".split()
        done = subprocess.run(
            ("git", *settings, *arguments),
            cwd=self.folder,
            env=os.environ | environment,
            input=given,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(
        self,
        subject: str | bytes,
        files: Mapping[str, str | bytes] | None = None,
        gone: Iterable[str] = (),
        **texts: str,
    ) -> str:
        """Write and remove files, and commit all changes. Return the commit's hash.

        `texts` are further files, with `__` for the dot in their names.
        """
        self.write({**(files or {}), **{name.replace("__", "."): text for name, text in texts.items()}})
        for path in gone:
            (self.folder / path).unlink()
        self._minute += 1
        self.git("add", "--all")
        message = subject.encode() if isinstance(subject, str) else subject
        self.git("commit", "--quiet", "--allow-empty", "--file=-", given=message)
        return self.git("rev-parse", "HEAD")

    def clone(self, folder: Path) -> GitRepository:
        self.git("clone", "--quiet", str(self.folder), str(folder))
        found = GitRepository(folder)
        found._minute = self._minute + 100
        return found
