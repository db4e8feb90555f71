"""Thread-safe queue of pending work for one folder's indexing thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from cairn.index.indexing.intake import needs_rescan
from cairn.index.indexing.work import BURST, Work
from cairn.index.store.requests import RequestKind, WaitingRequest


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

    def changed(self, paths: Iterable[str]) -> None:
        """Files or directories were made, changed or removed."""
        with self._changed:
            self._work.paths.update(paths)
            self._changed.notify_all()

    def opened(self, paths: Iterable[str]) -> None:
        """These files are open in the editor now; those that are so newly may have changed unseen."""
        with self._changed:
            now = frozenset(paths)
            new, self.open_paths = now - self.open_paths, now
            self._work.paths.update(new)
            self._work.opened.update(new)
            self._changed.notify_all()

    def head_moved(self) -> None:
        """There was a commit or a checkout."""
        with self._changed:
            self._work.head_moved = True
            self._changed.notify_all()

    def rescan(self) -> None:
        """Every file is to be compared."""
        with self._changed:
            self._work.rescan = True
            self._changed.notify_all()

    def ask(self, kind: RequestKind, path: str) -> None:
        """Somebody asked for something."""
        with self._changed:
            self._apply(kind, path)
            self._changed.notify_all()

    def wait_for_saves(self, seconds: float) -> None:
        """Wait while nothing but a few changed files waits or is being done."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._work.is_few_files or self._doing.is_few_files), seconds)

    # --- taken by the indexing thread --------------------------------------------------------------

    def take(self, requests: Sequence[WaitingRequest] = ()) -> Work:
        """All that waits, with what other processes asked for."""
        with self._changed:
            for request in requests:
                self._apply(request.kind, request.path)
            self._doing, self._work = self._work, Work()
            return self._doing

    def put_back(self, work: Work) -> None:
        """What was taken could not be done."""
        with self._changed:
            self._work.add(work)

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

    def _apply(self, kind: RequestKind, path: str) -> None:
        if kind is RequestKind.PAUSE:
            self.paused = True
        elif kind is RequestKind.RESUME:
            self.paused = False
        elif kind is RequestKind.CHECK:
            self._work.check = True
        elif path:
            (self._work.forced if kind is RequestKind.REINDEX else self._work.paths).add(path)
        else:
            self._work.rescan = True
            self._work.force |= kind is RequestKind.REINDEX
