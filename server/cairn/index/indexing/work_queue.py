"""Pending work of one folder's indexing thread, in a thread-safe queue."""

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
"""More changed files than this at once are a burst, as of a checkout, and no longer what somebody saved just now."""
_TURNING_FILES = frozenset({*IGNORE_FILES, *MANIFESTS, WORKSPACE_FILE})
"""A change of one of these can change what is indexed, or how collections are named."""


def needs_rescan(paths: Iterable[str]) -> bool:
    """Whether a change of these paths can change what is indexed at all."""
    return any(path.rpartition("/")[2] in _TURNING_FILES for path in paths)


@define
class Work:
    """Falsy when there is nothing to do."""

    rescan: bool = False
    force: bool = False
    """With `rescan`: index every file anew, also what has not changed."""
    paths: set[str] = field(factory=set)
    forced: set[str] = field(factory=set)
    """Paths to index anew, changed or not."""
    opened: set[str] = field(factory=set)
    """Paths of files that were opened."""
    head_moved: bool = False
    """There was a commit or a checkout."""
    check: bool = False
    """Look whether the index is sound."""

    def __bool__(self) -> bool:
        return any(attrs.astuple(self, recurse=False))

    @property
    def is_few_files(self) -> bool:
        """Whether it is nothing but a few changed files."""
        return 0 < len(self.paths) <= BURST and not self.rescan and not self.forced

    def add(self, other: Work) -> None:
        """Do this as well."""
        for name in attrs.fields_dict(Work):
            setattr(self, name, getattr(self, name) | getattr(other, name))


class WorkQueue:
    """Any thread adds work, one takes it. Work counts as pending until it is taken and done."""

    def __init__(self) -> None:
        self.open_paths: frozenset[str] = frozenset()
        """Files that are open in an editor."""
        self.paused = False
        self._work = Work(rescan=True)
        self._doing = Work()
        """What was taken and is not in the index yet."""
        self._stopped = threading.Event()
        self._changed = threading.Condition()

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._work)

    @property
    def has_saves(self) -> bool:
        """Whether a few changed files wait that a scan in progress can take in between."""
        with self._changed:
            return 0 < len(self._work.paths) <= BURST and not needs_rescan(self._work.paths)

    @property
    def is_done(self) -> bool:
        """Whether nothing waits and all that was taken is done."""
        with self._changed:
            return not (self._work or self._doing)

    def is_stopped(self) -> bool:
        """Whether the thread is to end."""
        return self._stopped.is_set()

    # --- added by others ----------------------------------------------------------------------------

    def stop(self) -> None:
        """Let the thread end."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def add(self, work: Work) -> None:
        """Have this done as well."""
        with self._changed:
            self._work.add(work)
            self._changed.notify_all()

    def changed(self, paths: Iterable[str]) -> None:
        """Files or directories (relative paths) were made, changed or removed."""
        self.add(Work(paths=set(paths)))

    def opened(self, paths: Iterable[str]) -> None:
        """These files (relative paths) are open in the editor now; those that are so newly may have changed unseen."""
        with self._changed:
            now = frozenset(paths)
            new, self.open_paths = set(now - self.open_paths), now
            self.add(Work(paths=new, opened=new))

    def rescan(self) -> None:
        """The whole folder is to be compared with the index again."""
        self.add(Work(rescan=True))

    def ask(self, kind: RequestKind, path: str) -> None:
        """Somebody asked for something."""
        anew = kind is RequestKind.REINDEX
        if kind in (RequestKind.PAUSE, RequestKind.RESUME):
            self.paused = kind is RequestKind.PAUSE
            self.add(Work())  # whoever waits looks whether it is paused
        elif kind is RequestKind.CHECK:
            self.add(Work(check=True))
        elif path:
            self.add(Work(forced={path}) if anew else Work(paths={path}))
        else:
            self.add(Work(rescan=True, force=anew))

    def wait_for_saves(self, seconds: float) -> None:
        """Wait while nothing but a few changed files waits or is being done."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._work.is_few_files or self._doing.is_few_files), seconds)

    # --- taken by the indexing thread --------------------------------------------------------------

    def take(self, requests: Sequence[WaitingRequest] = ()) -> Work:
        """All that waits, with what other processes asked for. What cannot be done is to be added again."""
        with self._changed:
            for request in requests:
                self.ask(request.kind, request.path)
            self._doing, self._work = self._work, Work()
            return self._doing

    def done(self) -> None:
        """What was taken is done."""
        with self._changed:
            self._doing = Work()
            self._changed.notify_all()

    def take_saves(self, more: Iterable[str]) -> set[str]:
        """The changed paths with `more`, while a scan goes on; none where they make another scan necessary."""
        with self._changed:
            paths = self._work.paths.union(more)
            if needs_rescan(paths):
                return set()
            self._work.paths = set()
            return paths

    def forget_scan(self) -> None:
        """Another process compares the folder by itself, unless it is to be indexed anew."""
        with self._changed:
            self._work.rescan = self._work.force

    def wait(self, seconds: float, paused: bool) -> bool:
        """Sleep until something waits, `paused` is no longer so, or the end; False when the time passed first."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.is_stopped() or bool(self._work) or self.paused != paused, seconds
            )

    def rest(self, seconds: float) -> None:
        """Sleep whatever comes, but for the end."""
        self._stopped.wait(seconds)

    def let_settle(self, pause: float, longest: float) -> None:
        """Wait until a burst of changes is over: nothing came for `pause` seconds, or it goes on for `longest`."""
        seen, waited = 0, 0.0
        while len(self._work.paths) > max(seen, BURST) and waited < longest:
            seen = len(self._work.paths)
            self.rest(pause)
            waited += pause
