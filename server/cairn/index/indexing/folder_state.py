"""State that a folder's indexing thread shares with other threads: its pending work, and its progress."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
from attrs import Factory, define, field, frozen

from cairn.embedding.shared import SharedModel
from cairn.index.store.coordination import RequestKind, WaitingRequest
from cairn.paths import workspace_dir
from cairn.settings.tree import WORKSPACE_FILE, Settings
from cairn.workspace.collections import MANIFESTS
from cairn.workspace.git_log import Checkout
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
    def unread(self) -> frozenset[str]:
        """Changed files and directories whose changes are not in the index yet."""
        with self._changed:
            return frozenset().union(*(work.paths | work.forced for work in (self._work, self._doing)))

    @property
    def is_comparing(self) -> bool:
        """Whether the folder is being compared with the index, or is about to be."""
        with self._changed:
            return self._work.rescan or self._doing.rescan

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


_SMOOTHING = 0.2
"""The weight of the latest step in the smoothed embedding rate."""
_POLL_SECONDS = 0.01
"""The interval in seconds at which work that waits for queries checks whether something is urgent."""


class Activity(enum.StrEnum):
    CHECKING = "checking"
    SCANNING = "scanning"
    READING = "reading"
    STATIC = "static"
    HISTORY = "history"
    COUNTING = "counting"
    EMBEDDING = "embedding"
    TIDYING = "tidying"
    IDLE = "idle"
    PAUSED = "paused"


"""The activities in which files are compared or indexed. Queries do not wait for their end."""


@define
class Progress:
    """Progress of indexing. Only the indexing thread writes it; any thread may read it."""

    activity: Activity = Activity.CHECKING
    scanning: bool = True
    """Whether some files of the folder may not be indexed yet."""
    files_total: int = 0
    files_done: int = 0
    queued: int = 0
    """The number of chunks without a vector of the model."""
    texts_per_second: float = 0.0
    """The smoothed embedding rate; 0 before the first text."""
    skipped: dict[str, int] = field(factory=dict)
    """The number of ignored files and directories for each rule."""
    unreadable: list[str] = field(factory=list)

    def embedded_texts(self, count: int, seconds: float, queued: int) -> None:
        """Record that a step embedded `count` texts, perhaps 0, and that `queued` chunks have no vector."""
        if count:
            rate = count / max(seconds, 1e-6)
            known = self.texts_per_second
            self.texts_per_second = rate if not known else known + _SMOOTHING * (rate - known)
        self.queued = queued

    @property
    def seconds_left(self) -> float | None:
        return self.queued / self.texts_per_second if self.queued and self.texts_per_second else None


@frozen
class Intervals:
    """Waiting times of the indexing thread, in seconds unless a field says otherwise."""

    takeover: float = 2.0
    """How often a reading process tries to become the writer."""
    request: float = 1.0
    """How often the writer looks for requests of other processes, which takes about 20 µs."""
    retry: tuple[float, float] = (5.0, 120.0)
    """The first and the longest wait before another try to write. Each wait is twice the previous one."""
    look_again: float = 300.0
    """Shortest time between scans for changes that the watcher missed."""
    look_again_share: float = 3_000
    """The shortest time between these scans, as a multiple of a scan's time (0.3 s for 20,000 files). The
    longer of this time and `look_again` applies."""
    poll: float = 5.0
    """Replaces `look_again` if the folder is not watched."""
    poll_share: float = 50
    """Replaces `look_again_share` if the folder is not watched."""
    after_watched: float = 1.0
    """The time between the watcher being ready and a scan. The scan finds changes made while the watcher
    started, which takes a second for a large tree."""
    burst_pause: float = 0.15
    """A burst of changes ends after this time without a change. The watcher's debounce is shorter."""
    longest_burst: float = 3.0
    """The longest wait for the end of a burst. After it, the changes so far are indexed."""
    saves: float = 0.15
    """The longest time that a query waits for the indexing of earlier saves. A small file takes 3 ms."""
    after_save: float = 0.15
    """Delay of background work after a save."""
    focus: float = 10.0
    """The shortest time between scans that an editor triggers when its window gets the focus."""
    count_after: float = 3.0
    """The time from the latest write to a count of imports. A save during the count would have to wait."""
    count_every: float = 60.0
    """Shortest time between counts of imports. Each reads all imports: 0.35 s for 13,000 files."""
    tidy_after: float = 60.0
    """The time without work before maintenance, because one save is often followed by another."""
    tidy_every: float = 3600.0


@define(eq=False)
class QueryGate:
    """A gate at which background work waits for queries. The threads of queries and of indexing share it."""

    longest_wait: float = 0.25
    """Longest wait in seconds, so that a stream of queries does not stop indexing."""
    _turn: float = 0.5
    """After a wait, work continues for at least this share of the time waited. Otherwise a user who types,
    with a query at each key, would let indexing read only one file per query."""
    _running: int = field(default=0, init=False)
    _changed: threading.Condition = field(factory=threading.Condition, init=False)
    _turn_ends: float = field(default=0.0, init=False)

    @contextmanager
    def query(self) -> Iterator[None]:
        """Mark the enclosed work as a query for which a user waits."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    def step_aside(self, urgent: Callable[[], bool] = lambda: False) -> None:
        """Wait while queries run and nothing is `urgent`. Call this between two pieces of background work."""
        if not self._running or time.monotonic() < self._turn_ends:
            return
        began = time.monotonic()
        with self._changed:
            while self._running and not urgent() and time.monotonic() - began < self.longest_wait:
                self._changed.wait(_POLL_SECONDS)
        now = time.monotonic()
        self._turn_ends = now + self._turn * (now - began)


@define(eq=False)
class FolderState:
    """The shared state of one folder. Only the indexing thread writes it, apart from the queue."""

    root: Path
    settings: Callable[[], Settings]
    """Returns the current settings. Each scan calls it."""
    models: SharedModel
    on_change: Callable[[], None]
    """Called on the indexing thread when the status may have changed."""
    gate: QueryGate
    intervals: Intervals
    data: Path = field(init=False, default=Factory(lambda self: workspace_dir(self.root), takes_self=True))
    checkout: Checkout = field(init=False, default=Factory(lambda self: Checkout(self.root), takes_self=True))
    queue: WorkQueue = field(factory=WorkQueue, init=False)
    progress: Progress = field(factory=Progress, init=False)
    problems: dict[str, str] = field(factory=dict, init=False)
    """Current problems by topic, as sentences for the status."""
    scanned_at: float = field(default=0.0, init=False)
    """Monotonic time of the latest scan."""

    def note(self, topic: str, problem: str | None) -> None:
        """Set the current problem of a topic; None clears it."""
        if problem is not None:
            self.problems[topic] = problem
        else:
            self.problems.pop(topic, None)
        self.on_change()
