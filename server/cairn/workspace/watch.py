"""Reports changed files of a folder, whoever changed them, and commits and checkouts of its repository."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import watchfiles

from cairn.workspace.history import watched_files

logger = logging.getLogger(__name__)

_DEBOUNCE_MS = 200
"""A burst is reported once, when it pauses or after this long; below what a person notices after a save."""
_SELDOM_MS = 60_000
"""How often the native watcher wakes up when nothing happens."""

_NOT_REPORTED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Directories in which much is written and nothing is indexed."""


class FolderWatcher:
    """Watches one folder on its own thread until stopped.

    Where the system's watcher fails (its limits reached, a network drive), it ends, and `on_problem` gets a
    sentence for the status: whoever started it must look for changes instead.
    """

    def __init__(
        self,
        root: Path,
        on_changes: Callable[[set[str]], None],
        on_head: Callable[[], None],
        on_problem: Callable[[str], None],
    ) -> None:
        """`on_changes` gets relative paths of files and directories; `on_head` is called when HEAD moved."""
        self._root = root
        self._on_changes = on_changes
        self._on_head = on_head
        self._on_problem = on_problem
        self._heads = frozenset(watched_files(root))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"cairn-watch-{root.name}", daemon=True)

    def start(self) -> None:
        """Begin; changes made from now on are reported."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            self._watch()
        except (OSError, RuntimeError) as problem:  # watchfiles raises both for watcher limits
            if not self._stop.is_set():
                logger.warning("watching %s failed: %s", self._root, problem)
                self._on_problem(
                    f"{self._root.name} cannot be watched ({problem}); Cairn looks for changes every few seconds"
                    " instead. `cairn doctor` shows the system's limits."
                )

    def _watch(self) -> None:
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
            ignore_permission_denied=True,
        ):
            paths = {Path(path) for _, path in changes}
            if paths & self._heads:
                self._on_head()
            paths -= self._heads
            relative = {p.relative_to(self._root).as_posix() for p in paths if p.is_relative_to(self._root)}
            if relative - {"."}:
                self._on_changes(relative - {"."})

    def _is_of_interest(self, _: watchfiles.Change, path: str) -> bool:
        return Path(path) in self._heads or _NOT_REPORTED.isdisjoint(Path(path).parts)
