"""Reports changed files of a folder, whoever changed them, and commits and checkouts of its repository."""

from __future__ import annotations

import contextlib
import logging
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cairn.workspace.history import watched_files

logger = logging.getLogger(__name__)

_DEBOUNCE_MS = 100
"""A burst is reported once, when it pauses or after this long; below what a person notices after a save."""
_START_SECONDS = 0.3
"""Setting up the watches of 5,000 directories keeps all other threads waiting for 0.15 s, so those who asked for
something when the folder was opened are answered first."""
_STEP_MS, _IDLE_STEP_MS = 20, 100
"""The native watcher looks this often whether there are changes, and reports them when none came for as long. Each look
takes 50 µs, so 20 ms would be 0.3 % of a core: that is for folders in which somebody works."""
_AT_WORK_SECONDS = 30.0
"""For this long after a change somebody counts as working in the folder."""
_POLLED_MS = 300
"""How often it looks at every file where the system reports no changes."""

_NOT_REPORTED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Directories in which much is written and nothing is indexed."""


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
        on_ready: Callable[[], None],
    ) -> None:
        """`on_changes` gets relative paths of files and directories; `on_head` is called when HEAD moved.

        `on_ready` is called once changes are reported: those that were made before may have been missed.
        """
        self._root = root
        self._on_changes = on_changes
        self._on_head = on_head
        self._on_problem = on_problem
        self._on_ready = on_ready
        self._heads = frozenset(watched_files(root))
        self._folder = _identity(root)
        self._stop = threading.Event()
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
            # watchfiles's own sentence, without the dump of its error that follows.
            reason = str(problem).partition(" (Error {")[0].rstrip(". ")
            self._on_problem(
                f"{self._root.name} cannot be watched in full ({reason}); Cairn looks for changes every"
                " few seconds instead. `cairn doctor` shows the system's limits."
            )
            with contextlib.suppress(OSError, RuntimeError):  # told already
                self._watch(in_part=True)

    def _watch(self, in_part: bool) -> None:
        # Here, on the watcher's own thread: what is indexed can be asked for before it. Not watchfiles's `watch`, which
        # looks for changes as often whether there have been any or not.
        from watchfiles._rust_notify import RustNotify

        # Of a worktree or a subfolder, the repository's own files lie elsewhere.
        outside = {head.parent for head in self._heads if not head.is_relative_to(self._root)}
        logs = [folder for folder in outside if folder.name == "logs" and folder.is_dir()]
        paths = [str(path) for path in (self._root, *logs)]
        # As watchfiles decides it: under WSL the system does not report what Windows programs change.
        polls = "microsoft-standard" in platform.uname().release
        # Ignoring errors of permission ignores every error, limits too, and what would have been watched after it.
        with RustNotify(paths, False, polls, _POLLED_MS, True, in_part) as watcher:
            self._on_ready()
            at_work_until = float("-inf")
            while True:
                at_work = time.monotonic() < at_work_until
                step, patience = (_STEP_MS, _AT_WORK_SECONDS) if at_work else (_IDLE_STEP_MS, 0)
                found = watcher.watch(_DEBOUNCE_MS, step, int(patience * 1000), self._stop)
                if isinstance(found, set):
                    if self._report({path for _, path in found}):
                        at_work_until = time.monotonic() + _AT_WORK_SECONDS
                elif found != "timeout":
                    return

    def _report(self, changed: set[str]) -> bool:
        """Pass on what is of interest; false where nothing is."""
        paths = set(map(Path, changed))
        heads = paths & self._heads
        if heads:
            self._on_head()
        # Below the folder: a package that is opened within `node_modules` is watched like any other.
        below = (path.relative_to(self._root) for path in paths - heads if path.is_relative_to(self._root))
        relative = {path.as_posix() for path in below if path.parts and _NOT_REPORTED.isdisjoint(path.parts)}
        if relative:
            self._on_changes(relative)
        return bool(heads or relative)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one that has its path later; None while there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
