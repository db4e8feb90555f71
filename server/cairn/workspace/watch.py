"""Report the files of a folder that any program changes, and commits and checkouts of its repository."""

from __future__ import annotations

import contextlib
import logging
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cairn.workspace.git_log import watched_files

logger = logging.getLogger(__name__)

_DEBOUNCE_MS = 100
"""The maximum delay until a burst of changes is reported, in milliseconds. A person does not notice it."""
_START_SECONDS = 0.3
"""The delay before the watches are set up, in seconds. For 5,000 directories, this blocks all other threads
for 0.15 s; the first requests after opening the folder are answered before."""
_STEP_MS, _IDLE_STEP_MS = 20, 100
"""The intervals, in milliseconds, at which the native watcher checks for changes. It reports them once a
check finds no more. A check takes 50 µs. Every 20 ms, that is 0.3 % of a core, so it is for folders in
use."""
_IN_USE_SECONDS = 30.0
"""How long a folder counts as in use after a change, in seconds."""
_POLLED_MS = 300
"""The interval at which every file is checked if the system reports no changes, in milliseconds."""

_NOT_REPORTED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Directories with many writes and without files to index."""


class FolderWatcher:
    """A watcher of one folder, on a separate thread until it is stopped.

    If the system's watcher fails (limits, permissions, a network drive), `on_problem` gets a sentence for the
    status. From then on only a part of the folder may be watched, so the owner must also scan it.
    """

    def __init__(
        self,
        root: Path,
        on_changes: Callable[[set[str]], None],
        on_head: Callable[[], None],
        on_problem: Callable[[str], None],
        on_ready: Callable[[], None],
    ) -> None:
        """Create a watcher. `on_changes` gets relative paths; `on_head` is called when HEAD moves. `on_ready`
        is called once changes are reported. Earlier changes may have been missed."""
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
        """Start the thread. Watching every directory may take a while to set up."""
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Return whether another folder has replaced the watched one. Its changes are not reported."""
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
        except (OSError, RuntimeError) as problem:  # watchfiles raises both errors for watcher limits.
            if self._stop.is_set():
                return
            logger.warning("watching %s failed: %s", self._root, problem)
            # The message of watchfiles without the dump of the error that follows it.
            reason = str(problem).partition(" (Error {")[0].rstrip(". ")
            self._on_problem(
                f"{self._root.name} cannot be watched in full ({reason}); Cairn looks for changes every"
                " few seconds instead. `cairn doctor` shows the system's limits."
            )
            with contextlib.suppress(OSError, RuntimeError):
                self._watch(in_part=True)

    def _watch(self, in_part: bool) -> None:
        # Imported here, on the watcher's thread, so that the folder can be indexed meanwhile. watchfiles's
        # own `watch` is not used because it checks at the same rate without changes.
        from watchfiles._rust_notify import RustNotify

        # For a worktree or a subfolder, the repository's files are elsewhere.
        outside = {head.parent for head in self._heads if not head.is_relative_to(self._root)}
        logs = [folder for folder in outside if folder.name == "logs" and folder.is_dir()]
        paths = [str(path) for path in (self._root, *logs)]
        # As in watchfiles: WSL does not report changes by Windows programs.
        polls = "microsoft-standard" in platform.uname().release
        # Ignoring permission errors would ignore every error, also of limits, and all later paths.
        with RustNotify(paths, False, polls, _POLLED_MS, True, in_part) as watcher:
            self._on_ready()
            idle_from = float("-inf")
            while True:
                in_use = time.monotonic() < idle_from
                step, timeout = (_STEP_MS, _IN_USE_SECONDS) if in_use else (_IDLE_STEP_MS, 0)
                found = watcher.watch(_DEBOUNCE_MS, step, int(timeout * 1000), self._stop)
                if isinstance(found, set):
                    if self._report({path for _, path in found}):
                        idle_from = time.monotonic() + _IN_USE_SECONDS
                elif found != "timeout":
                    return

    def _report(self, changed: set[str]) -> bool:
        """Report the relevant paths; return whether there are any."""
        paths = set(map(Path, changed))
        heads = paths & self._heads
        if heads:
            self._on_head()
        # Only names below the folder count. A package that is opened inside `node_modules` is watched.
        concerned = map(_decided, paths - heads)
        below = (path.relative_to(self._root) for path in concerned if path.is_relative_to(self._root))
        relative = {path.as_posix() for path in below if path.parts and _NOT_REPORTED.isdisjoint(path.parts)}
        if relative:
            self._on_changes(relative)
        return bool(heads or relative)


def _decided(path: Path) -> Path:
    """Return what a change of `path` concerns: the folder of a `.git` file, which decides about it."""
    return path.parent if path.name == ".git" and not path.is_dir() else path


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return a value that tells a folder from a later one at the same path; None if the folder is missing."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
