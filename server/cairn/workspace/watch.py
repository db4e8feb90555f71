"""Reports changed files of a folder, whoever changed them, and commits and checkouts of its repository."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.workspace.history import watched_files

if TYPE_CHECKING:
    import watchfiles

logger = logging.getLogger(__name__)

_DEBOUNCE_MS = 200
"""A burst is reported once, when it pauses or after this long; below what a person notices after a save."""
_START_SECONDS = 0.3
"""Setting up the watches of 5,000 directories keeps all other threads waiting for 0.15 s, so those who asked for
something when the folder was opened are answered first."""
_SELDOM_MS = 60_000
"""How often the native watcher wakes up when nothing happens."""

_NOT_REPORTED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Directories in which much is written and nothing is indexed."""


class _Stop(threading.Event):
    """Tells when it is first looked at: watchfiles does so every 50 ms, once it watches."""

    def __init__(self, on_look: Callable[[], None]) -> None:
        super().__init__()
        self._on_look: Callable[[], None] | None = on_look

    def is_set(self) -> bool:
        on_look, self._on_look = self._on_look, None
        if on_look is not None:
            on_look()
        return super().is_set()


class FolderWatcher:
    """Watches one folder on its own thread until stopped.

    Where the system's watcher fails (its limits reached, a directory not to be read, a network drive), `on_problem`
    gets a sentence for the status. From then on an unknown part of the folder is watched, or nothing: whoever
    started it must look for changes too.
    """

    def __init__(
        self,
        root: Path,
        on_changes: Callable[[set[str]], None],
        on_head: Callable[[], None],
        on_problem: Callable[[str], None],
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_changes` gets relative paths of files and directories; `on_head` is called when HEAD moved.

        `on_ready` is called once changes are reported: those that were made before may have been missed.
        """
        self._root = root
        self._prefix = f"{root}{os.sep}"
        self._on_changes = on_changes
        self._on_head = on_head
        self._on_problem = on_problem
        self._heads = frozenset(watched_files(root))
        self._folder = _identity(root)
        self._stop = _Stop(on_ready)
        self._thread = threading.Thread(target=self._run, name=f"cairn-watch-{root.name}", daemon=True)

    def start(self) -> None:
        """Begin to watch; that may take a while, a folder has as many watches as directories."""
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Whether another folder has taken the place of the one that is watched, of which nothing is reported."""
        now = _identity(self._root)
        return now is not None and now != self._folder

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        if self._stop.wait(_START_SECONDS):
            return
        try:
            self._watch(in_part=False)
        except (OSError, RuntimeError) as problem:  # watchfiles raises both for watcher limits
            if self._stop.is_set():
                return
            logger.warning("watching %s failed: %s", self._root, problem)
            self._on_problem(
                f"{self._root.name} cannot be watched in full ({_reason(problem)}); Cairn looks for changes every"
                " few seconds instead. `cairn doctor` shows the system's limits."
            )
            with contextlib.suppress(OSError, RuntimeError):  # told already
                self._watch(in_part=True)

    def _watch(self, in_part: bool) -> None:
        import watchfiles  # here, on the watcher's own thread: what is indexed can be asked for before it

        # Of a worktree or a subfolder, the repository's own files lie elsewhere.
        outside = {head.parent for head in self._heads if not head.is_relative_to(self._root)}
        logs = [folder for folder in outside if folder.name == "logs" and folder.is_dir()]
        for changes in watchfiles.watch(
            self._root,
            *logs,
            watch_filter=self._is_of_interest,
            debounce=_DEBOUNCE_MS,
            stop_event=self._stop,
            rust_timeout=_SELDOM_MS,
            yield_on_timeout=False,
            raise_interrupt=False,
            # Ignores every error, limits too, and what would have been watched after it.
            ignore_permission_denied=in_part,
        ):
            paths = {Path(path) for _, path in changes}
            if paths & self._heads:
                self._on_head()
            paths -= self._heads
            relative = {p.relative_to(self._root).as_posix() for p in paths if p.is_relative_to(self._root)}
            if relative - {"."}:
                self._on_changes(relative - {"."})

    def _is_of_interest(self, _: watchfiles.Change, path: str) -> bool:
        if Path(path) in self._heads:
            return True
        # Below the folder: a package that is opened within `node_modules` is watched like any other.
        below = path[len(self._prefix) :] if path.startswith(self._prefix) else path
        return _NOT_REPORTED.isdisjoint(Path(below).parts)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one that has its path later; None while there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _reason(problem: Exception) -> str:
    """watchfiles's own sentence, without the dump of its error that follows."""
    return str(problem).partition(" (Error {")[0].rstrip(". ")
