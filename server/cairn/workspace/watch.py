"""Reports changed files of a folder, whoever changed them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import watchfiles

logger = logging.getLogger(__name__)

_DEBOUNCE_MS = 200
"""A burst is reported once, when it pauses or after this long; below what a person notices after a save."""
_SELDOM_MS = 60_000
"""How often the native watcher wakes up when nothing happens."""

Changes = Callable[[set[str]], None]


class FolderWatcher:
    """Watches one folder on its own thread until stopped.

    Falls back to polling where the system's watcher fails (its limits reached, a network drive); `on_problem`
    then gets a sentence for the status.
    """

    def __init__(self, root: Path, on_changes: Changes, on_problem: Callable[[str], None]) -> None:
        self._root = root
        self._on_changes = on_changes
        self._on_problem = on_problem
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
        for polling in (False, True):
            try:
                self._watch(polling)
                return
            except (OSError, RuntimeError) as problem:  # watchfiles raises both for watcher limits
                if self._stop.is_set():
                    return
                logger.warning("watching %s failed: %s", self._root, problem)
                remedy = "no longer watched; run Re-index after changes" if polling else "polling instead"
                self._on_problem(f"Watching {self._root.name} failed ({problem}): {remedy}.")

    def _watch(self, polling: bool) -> None:
        for changes in watchfiles.watch(
            self._root,
            watch_filter=_outside_version_control,
            debounce=_DEBOUNCE_MS,
            stop_event=self._stop,
            rust_timeout=_SELDOM_MS,
            yield_on_timeout=False,
            raise_interrupt=False,
            force_polling=polling or None,
            ignore_permission_denied=True,
        ):
            paths = {Path(path) for _, path in changes}
            relative = {p.relative_to(self._root).as_posix() for p in paths if p.is_relative_to(self._root)}
            self._on_changes(relative - {"."})


def _outside_version_control(_: watchfiles.Change, path: str) -> bool:
    parts = Path(path).parts
    return ".git" not in parts and "node_modules" not in parts and "__pycache__" not in parts
