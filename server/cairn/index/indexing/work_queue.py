"""A thread-safe queue of pending work for one folder's indexing thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import attrs
from attrs import define, field

from cairn.index.store.requests import RequestKind, WaitingRequest
from cairn.settings.tree import WORKSPACE_FILE
from cairn.workspace.collections import MANIFESTS
from cairn.workspace.ignore_files import IGNORE_FILES

BURST = 50
"""If more files than this change at once, a checkout or the like changed them, and not the user's saves."""
_DECIDING_FILES = frozenset({*IGNORE_FILES, *MANIFESTS, WORKSPACE_FILE})
"""Names of files that decide which files are indexed or how collections are named."""


def needs_rescan(paths: Iterable[str]) -> bool:
    """Return whether a change of these paths can change which files are indexed."""
    return any(path.rpartition("/")[2] in _DECIDING_FILES for path in paths)


@define
class Work:
    """Pending work. The object is false if there is no work."""

    rescan: bool = False
    force: bool = False
    """Whether a rescan also indexes unchanged files again."""
    paths: set[str] = field(factory=set)
    forced: set[str] = field(factory=set)
    """Paths to index again, changed or not."""
    opened: set[str] = field(factory=set)
    head_moved: bool = False
    """Whether there was a commit or a checkout."""
    check: bool = False

    def __bool__(self) -> bool:
        return any(attrs.astuple(self, recurse=False))

    @property
    def is_few_files(self) -> bool:
        return 0 < len(self.paths) <= BURST and not self.rescan and not self.forced

    def add(self, other: Work) -> None:
        for name in attrs.fields_dict(Work):
            setattr(self, name, getattr(self, name) | getattr(other, name))


class WorkQueue:
    """Pending work, added by any thread. Work that the indexing thread took stays pending until `done`."""

    def __init__(self) -> None:
        self.open_paths: frozenset[str] = frozenset()
        """Files that are open in an editor."""
        self.paused = False
        self._work = Work(rescan=True)
        self._doing = Work()
        """Work that was taken and is not in the index yet."""
        self._stopped = threading.Event()
        self._changed = threading.Condition()

    def __bool__(self) -> bool:
        return bool(self._work)

    @property
    def has_saves(self) -> bool:
        """Whether a few changed files wait. A running scan stops to index them."""
        with self._changed:
            return 0 < len(self._work.paths) <= BURST and not needs_rescan(self._work.paths)

    @property
    def has_paths(self) -> bool:
        with self._changed:
            return any(work.paths or work.forced for work in (self._work, self._doing))

    @property
    def is_done(self) -> bool:
        with self._changed:
            return not (self._work or self._doing)

    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    # --- for any thread -----------------------------------------------------------------------------

    def stop(self) -> None:
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def add(self, work: Work) -> None:
        with self._changed:
            self._work.add(work)
            self._changed.notify_all()

    def changed(self, paths: Iterable[str]) -> None:
        """Queue files or directories (relative paths) that were created, changed or removed."""
        self.add(Work(paths=set(paths)))

    def opened(self, paths: Iterable[str]) -> None:
        """Set the open files (relative paths). Queue newly opened ones, which may have changed unnoticed."""
        with self._changed:
            now = frozenset(paths)
            new, self.open_paths = set(now - self.open_paths), now
            self.add(Work(paths=new, opened=new))

    def rescan(self) -> None:
        self.add(Work(rescan=True))

    def add_request(self, kind: RequestKind, path: str) -> None:
        """Add a request of this or another process."""
        anew = kind is RequestKind.REINDEX
        if kind in (RequestKind.PAUSE, RequestKind.RESUME):
            self.paused = kind is RequestKind.PAUSE
            self.add(Work())  # wakes the threads that wait for a change of `paused`
        elif kind is RequestKind.CHECK:
            self.add(Work(check=True))
        elif path:
            self.add(Work(forced={path}) if anew else Work(paths={path}))
        else:
            self.add(Work(rescan=True, force=anew))

    def wait_for_saves(self, seconds: float) -> None:
        """Wait up to `seconds` for a few changed files to be indexed. Do not wait for larger work."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._work.is_few_files or self._doing.is_few_files), seconds)

    # --- for the indexing thread -------------------------------------------------------------------

    def take(self, requests: Sequence[WaitingRequest] = ()) -> Work:
        """Take all work, with requests of other processes. If the work fails, the caller adds it again."""
        with self._changed:
            for request in requests:
                self.add_request(request.kind, request.path)
            self._doing, self._work = self._work, Work()
            return self._doing

    def done(self) -> None:
        with self._changed:
            self._doing = Work()
            self._changed.notify_all()

    def take_saves(self, more: Iterable[str]) -> set[str]:
        """Return the changed paths and `more`, to be indexed during a scan.

        If one of them makes another scan necessary, return none and leave them in the queue.
        """
        with self._changed:
            paths = self._work.paths.union(more)
            if needs_rescan(paths):
                return set()
            self._work.paths = set()
            return paths

    def drop_rescan(self) -> None:
        """Drop a rescan that is not forced, because the writing process scans the folder."""
        with self._changed:
            self._work.rescan = self._work.force

    def wait(self, seconds: float, paused: bool) -> bool:
        """Wait for work, for `stop`, or for a change of `paused`. Return false if `seconds` passed first."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.is_stopped() or bool(self._work) or self.paused != paused, seconds
            )

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds` or for `stop`. New work does not end the wait."""
        self._stopped.wait(seconds)

    def wait_for_burst(self, pause: float, longest: float) -> None:
        """Wait for the end of a burst of changes: `pause` seconds without a change, or `longest` in all."""
        seen, waited = 0, 0.0
        while len(self._work.paths) > max(seen, BURST) and waited < longest:
            seen = len(self._work.paths)
            self.sleep(pause)
            waited += pause
