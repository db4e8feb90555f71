"""Asks `cairn/change` what a change touches: of files that were changed, or of a diff as text."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define
from engine.daemon import Daemon, all_files_indexed
from engine.place import Place, git, place_for

_PATIENCE = 600.0
_CHANGED, _REMOVED = 2, 3
_TRIES = 4
"""How often to ask again after an answer that ran out of time, since other work may keep a machine busy."""
LIMIT = 500


@define
class Repository:
    """A scratch clone with one commit, and a daemon with its complete index."""

    place: Place
    daemon: Daemon

    @property
    def tree(self) -> Path:
        return self.place.tree

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if it is not UTF-8."""
        try:
            return (self.tree / path).read_bytes().decode()
        except (UnicodeDecodeError, OSError):
            return None

    def paths(self) -> list[str]:
        return git(self.tree, "ls-files", "-z").split("\0")[:-1]

    def change(self, after: Mapping[str, str | None], applied: bool) -> dict[str, Any]:
        """Return the answer for files with new texts; None is a removed file. Without `applied`, the files
        stay as they are, and the change is given as a diff."""
        if not applied:
            return self._asked(diff=self.diff(after))
        for path, text in after.items():
            if text is None:
                self.place.remove(self.tree / path)
            else:
                self.place.write(self.tree / path, text.encode())
        self._indexed(after)
        try:
            return self._asked()
        finally:
            self.place.restore()
            self._indexed(after)

    def diff(self, after: Mapping[str, str | None]) -> str:
        """Return a unified diff from the files to the new texts."""
        parts = []
        for path, text in after.items():
            before = self.text(path) if (self.tree / path).exists() else None
            old = "/dev/null" if before is None else f"a/{path}"
            new = "/dev/null" if text is None else f"b/{path}"
            lines = "".join(map(_ended, difflib.unified_diff(_lines(before), _lines(text), old, new)))
            parts.append(f"diff --git a/{path} b/{path}\n{lines}")
        return "".join(parts)

    def _asked(self, **params: Any) -> dict[str, Any]:
        began = time.perf_counter()
        every = {"limit": LIMIT, "maxTokens": 0, **params}
        answer: dict[str, Any] = self.daemon.request("cairn/change", every)
        for _ in range(_TRIES):
            if answer["complete"]:
                break
            began = time.perf_counter()
            answer = self.daemon.request("cairn/change", every)
        answer["took"] = time.perf_counter() - began
        return answer

    def _indexed(self, after: Mapping[str, str | None]) -> None:
        """Wait until the index has the files as they are."""
        generation = self.daemon.status()["generation"]
        files = [self.tree / path for path in after]
        changes = [{"uri": file.as_uri(), "type": _CHANGED if file.exists() else _REMOVED} for file in files]
        self.daemon.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        self.daemon.wait_until(
            lambda status: status["generation"] != generation and all_files_indexed(status), _PATIENCE
        )


@contextmanager
def repository(checkout: Path, kept_folder: Path | None) -> Iterator[Repository]:
    """Yield a scratch clone of a checkout with its index, kept for the next run if a folder is given."""
    with place_for(checkout, kept_folder) as place:
        if not (place.tree / ".git").exists():
            git(place.tree, "init", "-q")
            git(place.tree, "add", "-A", "-f")  # Some repositories have files that they ignore.
            git(place.tree, "commit", "-q", "-m", "everything")
        with Daemon(place.tree, place.data, {"embedding": {"enabled": False}}) as daemon:
            daemon.wait_until(all_files_indexed, _PATIENCE, every=0.2)
            yield Repository(place, daemon)


def _lines(text: str | None) -> list[str]:
    return [] if text is None else re.findall(r"[^\n]*\n|[^\n]+", text)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
