"""What the indexing thread of one folder and those who ask it share."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import Factory, define, field, frozen

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.work_queue import WorkQueue
from cairn.paths import workspace_dir
from cairn.settings.tree import Settings

_SMOOTHING = 0.2
"""Share of the latest step in the rate that the time left is reckoned from."""
_LOOK_SECONDS = 0.01
"""How soon something urgent is seen while work steps aside."""


class Activity(enum.StrEnum):
    """What the indexing thread does."""

    CHECKING = "checking"
    """Looks whether an index whose writer died is sound."""
    SCANNING = "scanning"
    READING = "reading"
    STATIC = "static"
    """Makes static vectors."""
    HISTORY = "history"
    EMBEDDING = "embedding"
    TIDYING = "tidying"
    IDLE = "idle"
    PAUSED = "paused"


TAKING_IN = frozenset({Activity.SCANNING, Activity.READING, Activity.STATIC})
"""Files are compared and taken in, which no question can wait for."""


@define
class Progress:
    """Written by the indexing thread only, read by anyone."""

    activity: Activity = Activity.CHECKING
    scanning: bool = True
    """Not every present file is known to be in the index."""
    files_total: int = 0
    files_done: int = 0
    queued: int = 0
    """Chunks without a vector of the model."""
    texts_per_second: float = 0.0
    """Texts embedded, smoothed; 0 before the first."""
    skipped: dict[str, int] = field(factory=dict)
    """Files and directories left out, by rule."""
    unreadable: list[str] = field(factory=list)
    """Paths that could not be read, each with the system's reason."""

    def embedded_texts(self, count: int, seconds: float, queued: int) -> None:
        """Note that a step embedded `count` texts, none where nothing waits any more, and that `queued` chunks still wait."""
        if count:
            rate = count / max(seconds, 1e-6)
            known = self.texts_per_second
            self.texts_per_second = rate if not known else known + _SMOOTHING * (rate - known)
        self.queued = queued

    @property
    def seconds_left(self) -> float | None:
        """Until all vectors are made, by the latest rate; None while nobody can tell."""
        return self.queued / self.texts_per_second if self.queued and self.texts_per_second else None


@frozen
class Intervals:
    """How long the indexing thread waits for what: seconds, unless a field says otherwise."""

    takeover: float = 2.0
    """How often a process that reads tries to become the writer."""
    request: float = 1.0
    """How often the writer looks whether another process asked for something: about 20 µs each time."""
    retry: tuple[float, float] = (5.0, 120.0)
    """Between two tries to write where writing failed: at first, and at most; each wait is twice the last."""
    look_again: float = 300.0
    """Changes that no watcher reported are found by looking at every file this often, or less often."""
    look_again_share: float = 3_000
    """The look is at most this share of the time, one three-thousandth of a core: 20,000 files take 0.3 s."""
    poll: float = 5.0
    """`look_again` where nothing is watched."""
    poll_share: float = 50
    """`look_again_share` where nothing is watched."""
    after_watched: float = 1.0
    """A large tree takes a second to watch; what changed meanwhile is found this long after, when answers are there."""
    burst_pause: float = 0.15
    """A burst of changes is over when nothing came for so long, which is longer than the watcher's own pause."""
    longest_burst: float = 3.0
    """A burst that goes on for longer is taken in as it is."""
    saves: float = 0.15
    """A question waits so long at most for files that were saved before it was asked; a small one takes 3 ms."""
    after_save: float = 0.15
    """What a save leaves to do in the background waits for so long."""
    focus: float = 10.0
    """An editor that comes to the front makes for a look at every file at most this often."""
    count_after: float = 3.0
    """Imports are counted so long after files were last written: a save would wait for it."""
    count_every: float = 60.0
    """Between two counts of imports. A count reads every file's, 0.35 s for 13,000 files."""
    model: float = 30.0
    """How often a folder without an installed model looks whether there is one now."""
    tidy_after: float = 60.0
    """Quiet before tidying: whoever saves, saves again."""
    tidy_every: float = 3600.0


@define(eq=False)
class QueryGate:
    """Background work steps aside while a question is being answered: shared by the threads of both."""

    longest_wait: float = 0.25
    """Work steps aside for so many seconds at once, since questions without end must not stop indexing."""
    _turn: float = 0.5
    """Then it goes on for this share of the time waited in any case: one question right after another, as somebody
    types, would else let indexing take one file for each."""
    _running: int = field(default=0, init=False)
    _changed: threading.Condition = field(factory=threading.Condition, init=False)
    _owed_until: float = field(default=0.0, init=False)

    @contextmanager
    def query(self) -> Iterator[None]:
        """Around everything that a person waits for."""
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
        """Wait while questions are answered, unless there is something urgent to do; called between two pieces of
        background work."""
        if not self._running or time.monotonic() < self._owed_until:
            return
        began = time.monotonic()
        with self._changed:
            while self._running and not urgent() and time.monotonic() - began < self.longest_wait:
                self._changed.wait(_LOOK_SECONDS)
        now = time.monotonic()
        self._owed_until = now + self._turn * (now - began)


@define(eq=False)
class FolderState:
    """Written by the indexing thread, but for the queue."""

    root: Path
    settings: Callable[[], Settings]
    """Asked anew at each scan."""
    models: SharedModel
    on_change: Callable[[], None]
    """Called on the indexing thread when the status may have changed."""
    gate: QueryGate
    intervals: Intervals
    data: Path = field(init=False, default=Factory(lambda self: workspace_dir(self.root), takes_self=True))
    queue: WorkQueue = field(factory=WorkQueue, init=False)
    progress: Progress = field(factory=Progress, init=False)
    problems: dict[str, str] = field(factory=dict, init=False)
    """What is wrong now, by topic, in sentences for the status."""
    looked_at: float = field(default=0.0, init=False)
    """When every file was last looked at."""

    def note(self, topic: str, problem: str | None) -> None:
        """Set, or with None take back, what is wrong."""
        if problem is not None:
            self.problems[topic] = problem
        else:
            self.problems.pop(topic, None)
        self.on_change()
