"""The loop of the indexing thread that writes: changes first, then scans, then background work.

The background work begins once every file is indexed, the most useful first: static vectors, git history,
vocabulary, import counts, maintenance. A user's own model makes its vectors after the counts.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable
from functools import partial

import apsw

from cairn.errors import IndexUnavailableError
from cairn.index.indexing.folder_state import Activity, FolderState, Work, needs_rescan
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.intake import Intake
from cairn.index.indexing.links import LinkCounter
from cairn.index.reader.word_list import WordListIntake
from cairn.index.store.coordination import (
    RequestKind,
    check_is_marked,
    drop_requests,
    take_check_mark,
    waiting_requests,
)
from cairn.index.store.database import Maintenance, check_soundness, today
from cairn.index.store.meta import CHECK_IS_DUE, Facts
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.settings.tree import EmbeddingSettings, Settings
from cairn.startup.interpreter import trim_memory
from cairn.workspace.watch import FolderWatcher

_CHECK_DAYS = 7
"""The number of days between checks of the index file for damage. A check takes 1.5 s for 77,000 chunks."""
_PHASE_WITH_VECTORS = 3


class Background:
    """Background work of the thread that owns the writer. A step ends soon after `interrupted()` is true."""

    def __init__(self, state: FolderState, writer: IndexWriter) -> None:
        self._intervals = state.intervals
        self._writer = writer
        self._progress = state.progress
        self._note = state.note
        self._vectors = VectorIntake(
            writer, state.models, lambda: state.queue.open_paths, state.progress.embedded_texts
        )
        self._history = GitHistory(writer.db, state.root)
        self._vocabulary = WordListIntake(writer.db)
        self._links = LinkCounter(writer, state.intervals)
        self._maintenance = Maintenance(writer.db)
        self._busy_at = time.monotonic()
        self._tidied_at = self._written_at = float("-inf")
        self._selected: Settings | None = None
        self._model_is_due = False
        """Whether the next step loads the model. Loading it earlier would delay the first files."""

    def select_model(self, settings: Settings) -> None:
        if settings != self._selected:
            self._selected = settings
            self._vectors.announce(_embedding(settings))
            self._model_is_due = True

    def added(self, ids: list[int], settings: Settings) -> None:
        self._busy_at = self._written_at = time.monotonic()
        self._vectors.added(ids, settings.embedding)

    def recipe(self, settings: Settings) -> StaticRecipe | None:
        return self._vectors.recipe(settings.embedding)

    def put_first(self, paths: Iterable[str]) -> None:
        """Embed the chunks of these files next, because the user opened the files."""
        self._vectors.put_first(self._writer.chunk_ids(paths))

    def step(self, settings: Settings, interrupted: Callable[[], bool], on_step: Callable[[], None]) -> bool:
        """Do some of the pending work; return false if there is none at present."""
        now = time.monotonic()
        self.select_model(settings)
        if self._model_is_due:
            self._vectors.select(_embedding(settings))
            self._model_is_due = False
        self._progress.activity = Activity.STATIC
        if not self._vectors.is_slow and self._vectors.step(settings.embedding):
            on_step()
            return True
        self._progress.activity = Activity.HISTORY
        if settings.index.history and self._history.update(interrupted):
            self._note("history", None if interrupted() else self._history.problem or None)
            return True
        if self._vocabulary.is_due and now >= self._written_at + self._intervals.count_after:
            self._vocabulary.step()
            return True
        self._progress.activity = Activity.COUNTING
        if self._links.step(self._written_at):
            return True
        self._progress.activity = Activity.EMBEDDING
        if self._vectors.step(settings.embedding):
            self._busy_at = time.monotonic()
            on_step()
            return True
        self._progress.activity = Activity.IDLE
        return self._tidy(interrupted, now)

    @property
    def is_counting(self) -> bool:
        """Whether a process counts imports at present."""
        return self._links.is_counting

    def close(self) -> None:
        self._links.close()

    def next_step_at(self) -> float:
        """Return the monotonic time at which `step` may find work, infinity if only a change brings work."""
        due = [self._links.next_step_at(self._written_at)]
        if self._vocabulary.is_due:
            due.append(self._written_at + self._intervals.count_after)
        if not _is_tidy(self._writer.facts()):
            due.append(self._tidy_at())
        return min(due)

    def _tidy_at(self) -> float:
        return max(self._busy_at + self._intervals.tidy_after, self._tidied_at + self._intervals.tidy_every)

    def _tidy(self, interrupted: Callable[[], bool], now: float) -> bool:
        facts = self._writer.facts()
        if _is_tidy(facts) or now < self._tidy_at():
            return False
        self._progress.activity = Activity.TIDYING
        if not facts.checked_on:  # The index is new. After a crash, `CHECK_IS_DUE` sets 1 instead.
            self._writer.note(checked_on=today())
        elif today() - facts.checked_on >= _CHECK_DAYS:
            if check_soundness(self._writer.db, interrupted):
                self._writer.note(checked_on=today())
            else:  # the check was interrupted; it waits for `tidy_every`, as reading a large index takes long
                self._tidied_at = time.monotonic()
        elif self._maintenance.run(interrupted):
            self._tidied_at = time.monotonic()
            self._writer.note(tidied=facts.content, tidied_on=today())
            self._writer.checkpoint()
            trim_memory()
        self._progress.activity = Activity.IDLE
        return True


def _is_tidy(facts: Facts) -> bool:
    """Return whether maintenance ran today and no chunk changed since."""
    return (facts.tidied, facts.tidied_on) == (facts.content, today())


def _embedding(settings: Settings) -> EmbeddingSettings | None:
    enabled = settings.embedding.enabled and settings.retrieval.phase >= _PHASE_WITH_VECTORS
    return settings.embedding if enabled else None


_FLOOD = 1_000
"""If more paths than this changed, the whole folder is scanned: the watcher may have lost some paths."""


class WritingSession:
    """Indexes a folder through `writer` on the indexing thread while the process has the folder's lock."""

    def __init__(self, state: FolderState, writer: IndexWriter) -> None:
        self._state = state
        self._queue, self._intervals = state.queue, state.intervals
        self._writer = writer
        self._background = Background(state, writer)
        self._intake = Intake(
            state.root,
            writer,
            state.progress,
            state.queue.is_stopped,
            on_batch=self._take_urgent,
            is_urgent=lambda: state.queue.has_saves,
            on_compared=self._watch_once,
            on_written=lambda ids: self._background.added(ids, state.settings()),
            step_aside=state.gate.step_aside,
            recipe=lambda: self._background.recipe(state.settings()),
        )
        self._has_requests = False
        """Whether another process left a request during the current background work."""
        self._watcher: FolderWatcher | None = None
        self._watching = False
        self._saved_at = float("-inf")
        self._rescan_at = float("inf")
        """The monotonic time of the next scan for changes that happened before the watcher was ready."""
        self._background.select_model(state.settings())  # so that the status names the vectors to come

    def run(self) -> None:
        """Keep the index equal to the folder until the thread must end."""
        try:
            self._queue.rescan()
            while not self._queue.is_stopped():
                self._step()
        finally:
            self._stop_watching()
            self._background.close()

    def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def _watch_once(self) -> None:
        """Start the watcher after the first comparison, which adding thousands of watches would delay."""
        if self._watcher is None:
            self._watch()

    def _watch(self) -> None:
        """Start or restart the watcher. A scan follows once it is ready, so that no change is missed."""
        self._stop_watching()
        self._watching = self._state.settings().index.watch
        self._state.note("watch", None)
        if self._watching:
            head_moved = partial(self._queue.add, Work(head_moved=True))
            self._watcher = FolderWatcher(
                self._state.root, self._queue.changed, head_moved, self._not_watched, self._watched
            )
            self._watcher.start()

    def _watched(self) -> None:
        self._rescan_at = time.monotonic() + self._intervals.after_watched

    def _not_watched(self, problem: str) -> None:
        self._watching = False
        self._state.note("watch", problem)
        self._queue.rescan()

    def _step(self) -> None:
        """Do the most urgent work, or sleep until there is some."""
        if not self._queue.paused and time.monotonic() >= self._scan_due():
            self._queue.rescan()
        self._queue.wait_for_burst(self._intervals.burst_pause, self._intervals.longest_burst)
        if _was_removed(self._writer):
            raise IndexUnavailableError(
                f"The index in {self._state.data} was removed while it was in use. Cairn is rebuilding it."
            )
        if take_check_mark(self._state.data):
            self._queue.add(Work(check=True))
        requests = waiting_requests(self._writer.db)
        work = self._queue.take(requests)
        paused = self._queue.paused
        self._has_requests = False
        settings = self._state.settings()
        try:
            self._writer.note(paused=paused)
            self._take_in(work, settings)
            # When the queue is stopped, the work may be incomplete. Then the next writer does it.
            if not self._queue.is_stopped():
                drop_requests(self._writer.db, [request.id for request in requests])
        except BaseException:
            self._queue.add(work)
            raise
        if work.is_few_files:
            self._saved_at = time.monotonic()
        if (
            not work
            and self._wait_for_queries(paused)
            and (paused or not self._background.step(settings, self._interrupted, self._between_steps))
        ):
            resting = Activity.COUNTING if self._background.is_counting else Activity.IDLE
            self._state.progress.activity = Activity.PAUSED if paused else resting
            self._state.on_change()
            self._sleep(paused)
        self._queue.done()
        self._state.on_change()

    def _wait_for_queries(self, paused: bool) -> bool:
        """Wait for queries that run or may follow a save; return false if work arrived meanwhile."""
        self._queue.wait(max(0.0, self._saved_at + self._intervals.after_save - time.monotonic()), paused)
        self._state.gate.step_aside(urgent=lambda: bool(self._queue))
        return not self._queue

    def _take_in(self, work: Work, settings: Settings) -> None:
        if work.check and not check_soundness(self._writer.db, self._queue.is_stopped):
            self._writer.note(**CHECK_IS_DUE)
        # Of a checkout, the watcher may not have reported every file yet.
        commit = self._state.checkout.number()
        is_moved = commit != self._writer.facts().commit
        if work.rescan or is_moved or needs_rescan(work.paths) or len(work.paths) > _FLOOD:
            self._background.select_model(settings)
            if time.monotonic() >= self._rescan_at:
                self._rescan_at = float("inf")
            self._intake.reconcile(settings.index, work.force)
            self._state.scanned_at = time.monotonic()
            if not self._queue.is_stopped():
                self._writer.note(commit=commit)
        elif work.paths:
            self._intake.update(work.paths)
        if work.forced:  # forced paths follow the scan, which reads the rules again
            self._intake.update(work.forced, force=True)
        if work.opened:
            self._background.put_first(work.opened)

    def _between_steps(self) -> None:
        self._has_requests = bool(waiting_requests(self._writer.db))
        self._state.gate.step_aside(urgent=lambda: bool(self._queue))
        self._state.on_change()

    def _sleep(self, paused: bool) -> None:
        """Wait for work, a change of `paused`, a request of another process, or the next due time."""
        due = float("inf") if paused else min(self._scan_due(), self._background.next_step_at())
        while not self._queue.wait(min(self._intervals.request, max(0.0, due - time.monotonic())), paused):
            if self._watcher is not None and self._watcher.is_lost:
                self._watch()
            if (
                time.monotonic() >= min(due, self._rescan_at)
                or waiting_requests(self._writer.db)
                or check_is_marked(self._state.data)
                or _was_removed(self._writer)
            ):
                return

    def _scan_due(self) -> float:
        if not self._state.settings().index.watch:
            return float("inf")  # the process answers one query, or the user disabled watching
        every, share = self._intervals.look_again, self._intervals.look_again_share
        if not self._watching:
            every, share = self._intervals.poll, self._intervals.poll_share
        return min(self._state.scanned_at + max(every, share * self._intake.scan_seconds), self._rescan_at)

    def _take_urgent(self) -> None:
        """Index files that were saved since the previous batch of a scan."""
        waiting = waiting_requests(self._writer.db)
        saves = [each for each in waiting if each.kind is RequestKind.RECONCILE and each.path]
        paths = self._queue.take_saves(request.path for request in saves)
        if paths:  # there are none if another scan is necessary, which indexes them
            self._intake.update(paths)
            drop_requests(self._writer.db, [request.id for request in saves])
        self._state.on_change()

    def _interrupted(self) -> bool:
        return self._queue.is_stopped() or bool(self._queue) or self._queue.paused or self._has_requests


def _was_removed(writer: IndexWriter) -> bool:
    """Return whether the writer's file was deleted or moved, so that no reader would see its changes."""
    moved = ctypes.c_int(0)
    known = writer.db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    return known and bool(moved.value)
