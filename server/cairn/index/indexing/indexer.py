"""The indexing thread of one folder: changes first, then scans, then all that makes answers better."""

from __future__ import annotations

import ctypes
import enum
import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import apsw
import filelock

from cairn.errors import IndexUnavailableError
from cairn.index.indexing.background import Background
from cairn.index.indexing.gate import QueryGate
from cairn.index.indexing.inbox import Inbox
from cairn.index.indexing.intake import Intake, needs_rescan
from cairn.index.indexing.progress import Activity, Progress
from cairn.index.indexing.work import BURST, Work
from cairn.index.store.database import DAMAGE, UNWRITABLE, check_soundness, set_aside, unwritable
from cairn.index.store.lock import is_held, note_holder, writer_lock
from cairn.index.store.reader import IndexReader
from cairn.index.store.requests import (
    RequestKind,
    check_is_marked,
    drop_requests,
    leave_request,
    take_check_mark,
    waiting_requests,
)
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vectors import ModelSource
from cairn.paths import workspace_dir
from cairn.settings.tree import Settings
from cairn.workspace.watch import FolderWatcher

logger = logging.getLogger(__name__)

_TAKEOVER_SECONDS = 2.0
"""How often a process that reads tries to become the writer."""
_REQUEST_SECONDS = 1.0
"""How often the writer looks whether another process asked for something: about 20 µs each time."""
_RETRY_SECONDS = (5.0, 120.0)
"""Between two tries to write where writing failed: at first, and at most; each wait is twice the last."""
_LOOK_AGAIN_SECONDS = 300.0
"""Changes that no watcher reported are found by looking at every file this often…"""
_LOOK_AGAIN_SHARE = 3_000
"""…or so seldom that it takes a three-thousandth of a core: 20,000 files take 0.3 s."""
_AFTER_WATCHED_SECONDS = 1.0
"""A large tree takes a second to watch; what changed meanwhile is found this long after, when answers are there."""
_POLL_SECONDS, _POLL_SHARE = 5.0, 50
"""The same where nothing is watched."""
_PAUSE, _LONGEST_BURST = 0.15, 3.0
"""A burst of changes is over when nothing came for a pause, in seconds, longer
than the watcher's own, or goes on too long."""
_SAVES_SECONDS = 0.15
"""A question waits so long at most for files that were saved before it was asked; a small one takes 3 ms."""
_AFTER_SAVE_SECONDS = 0.15
"""What a save leaves to do in the background waits for so long."""
_FLOOD = 1_000
"""More than this, and every file is looked at: some changes may have been dropped on their way."""
_FOCUS_SECONDS = 10.0
"""An editor that comes to the front makes for a look at most this often."""


class Role(enum.StrEnum):
    """What this process does for the folder."""

    STARTING = "starting"
    WRITER = "writer"
    READER = "reader"
    FAILED = "failed"
    """Cannot write now; it tries again."""
    STOPPED = "stopped"


class Indexer:
    """Keeps the index of one folder up to date in the background.

    Only the process that holds the folder's lock writes; the others read and wait for the lock, which the
    system frees when its holder dies.
    """

    def __init__(
        self,
        root: Path,
        settings: Callable[[], Settings],
        models: ModelSource,
        on_change: Callable[[], None] = lambda: None,
        gate: QueryGate | None = None,
    ) -> None:
        """`settings` is asked anew at each scan; `on_change` is called on the indexing thread."""
        self.root = root
        self.data = workspace_dir(root)
        self.progress = Progress()
        self.role = Role.STARTING
        self.problems: dict[str, str] = {}
        """What is wrong now, by topic, in sentences for the status."""
        self._settings = settings
        self._models = models
        self._on_change = on_change
        self._gate = gate or QueryGate()
        self._reader = IndexReader(self.data)
        self._inbox = Inbox()
        self._asked = False
        """Another process asked for something while vectors are being made."""
        self._watcher: FolderWatcher | None = None
        self._watching = False
        self._remark: str | None = None
        """What became of a former index."""
        self._damaged_at = float("-inf")
        self._looked_at = 0.0
        """When every file was last looked at."""
        self._saved_at = float("-inf")
        """When saved files were last taken in."""
        self._look_soon = float("inf")
        """When to look again because the watcher came late."""
        self._sound = False
        """This process has had the index open before, so it need not be checked again."""
        self._thread = threading.Thread(target=self._run, name=f"cairn-index-{root.name}", daemon=True)

    @property
    def idle(self) -> bool:
        """Whether everything this process knows of is taken in (vectors apart)."""
        if self.role is Role.READER:
            return self._inbox.is_done and not self._reader.has_requests()
        return self._inbox.is_done

    @property
    def problem(self) -> str | None:
        """The gravest problem there is now."""
        order = ("index", "watch", "model", "history")
        return next(filter(None, map(self.problems.get, order)), None)

    def only_read(self) -> None:
        """Take the index as it is; instead of `start`."""
        self.role = Role.READER
        self._inbox.forget_scan()

    def writer_is_alive(self) -> bool:
        """Whether some process keeps the index up to date now."""
        return is_held(self.data) if self.role is Role.READER else self.role is Role.WRITER

    def start(self) -> None:
        """Begin indexing."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the batch at hand; what was not written is found again by the next scan."""
        self._inbox.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def changed(self, paths: Iterable[str]) -> None:
        """Take in that files or directories (relative paths) were made, changed or removed."""
        self._inbox.changed(paths)

    def opened(self, paths: Iterable[str]) -> None:
        """These files (relative paths) are open in the editor now; what was missed of them is taken in."""
        self._inbox.opened(paths)

    def wait_for_saves(self) -> None:
        """Let a few files that were just reported be taken in first, if that is a matter of milliseconds."""
        if self.role is Role.WRITER:
            self._inbox.wait_for_saves(_SAVES_SECONDS)

    def look_again(self) -> None:
        """Look for changes that nobody reported, unless that was done just now or indexing is paused."""
        if not self._inbox.paused and time.monotonic() - self._looked_at > _FOCUS_SECONDS:
            self.rescan()

    def rescan(self) -> None:
        """Compare the whole folder with the index again."""
        self._inbox.rescan()

    def request(self, kind: RequestKind, path: str = "") -> None:
        """Do this, or leave it to the process that writes. Raises IndexUnavailableError where that cannot be."""
        if self.role is Role.READER and leave_request(self.data, kind, path) is not None:
            return
        self._inbox.ask(kind, path)

    # --- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        first, longest = _RETRY_SECONDS
        wait = first
        while not self._inbox.is_stopped():
            began = time.monotonic()
            try:
                self._write_or_read()
                continue
            except IndexUnavailableError as problem:
                self._fail(str(problem))
            except UNWRITABLE as problem:
                self._fail(str(unwritable(self.data, problem)))
            except Exception as problem:
                # SQLite ends a transaction by itself when the disk is full; to end it again is an error of its own.
                if isinstance(cause := problem.__context__, UNWRITABLE):
                    self._fail(str(unwritable(self.data, cause)))
                else:
                    logger.exception("indexing %s failed", self.root)
                    self._fail(
                        f"Indexing {self.root.name} failed ({problem}). It is tried again in a moment."
                    )
            if time.monotonic() - began > longest:  # it went well for a while
                wait = first
            self._inbox.rest(wait)
            wait = min(longest, wait * 2)
        self._become(Role.STOPPED)

    def _write_or_read(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        lock = writer_lock(self.data)
        try:
            held = lock.acquire(blocking=False)
        except filelock.Timeout:
            self._read_until_free()
            return
        with held:
            note_holder(self.data)
            self._write_until_stopped()

    def _read_until_free(self) -> None:
        """Tell of what the writing process changes, and it of what this one is told, until it is time to try again."""
        if self.role is not Role.READER:
            self._inbox.forget_scan()
            self._become(Role.READER)
        until = time.monotonic() + _TAKEOVER_SECONDS
        generation = self._reader.generation()
        while not self._inbox.is_stopped() and (left := until - time.monotonic()) > 0:
            if self._inbox.wait(left, self._inbox.paused) and not self._hand_on():
                self._inbox.rest(left)
        if self._reader.generation() != generation:
            self._on_change()

    def _hand_on(self) -> bool:
        """Leave what there is to do to the process that writes; false while there is no index to leave it in."""
        work = self._inbox.take()
        asked = {RequestKind.REINDEX: work.forced, RequestKind.RECONCILE: work.paths}
        if work.rescan or len(work.paths) > BURST:
            self._looked_at = time.monotonic()
            asked[RequestKind.REINDEX if work.force else RequestKind.RECONCILE] = {""}
        done = False
        try:
            done = all(
                leave_request(self.data, kind, *paths) is not None for kind, paths in asked.items() if paths
            )
        finally:
            if not done:
                self._inbox.put_back(work)
            self._inbox.done()
        return done

    def _write_until_stopped(self) -> None:
        try:
            self._write()
        except DAMAGE as problem:
            self._remark = f"The index was damaged ({problem}); it was set aside as {set_aside(self.data)} and is being rebuilt."
            logger.warning(self._remark)
            before, self._damaged_at = self._damaged_at, time.monotonic()
            if self._damaged_at - before < _RETRY_SECONDS[1]:  # again: the disk may be the cause
                raise IndexUnavailableError(self._remark) from problem

    def _write(self) -> None:
        self.progress.activity = Activity.CHECKING
        writer = IndexWriter(self.data, check=not self._sound)
        self._sound = True
        self._remark = writer.remark or self._remark
        self._note("index", self._remark)
        background = Background(
            self.root, writer, self._models, self.progress, lambda: self._inbox.open_paths, self._note
        )
        intake = Intake(
            self.root,
            writer,
            self.progress,
            self._inbox.is_stopped,
            on_batch=lambda: self._take_urgent(writer, intake),
            on_compared=self._watch_at_last,
            on_written=lambda ids: background.added(ids, self._settings()),
            step_aside=self._gate.step_aside,
        )
        try:
            background.select_models(self._settings())
            self._become(Role.WRITER)
            self.rescan()
            while not self._inbox.is_stopped():
                self._step(writer, intake, background)
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        finally:
            if self._watcher is not None:
                self._watcher.stop()
                self._watcher = None

    def _watch_at_last(self) -> None:
        """Begin to watch once the folder was compared: setting up thousands of watches would hold that up."""
        if self._watcher is None:
            self._watch()

    def _watch(self) -> None:
        """Begin to watch, anew if need be. A scan follows once changes are reported, so that nothing falls between."""
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self._watching = self._settings().index.watch
        self._note("watch", None)
        if self._watching:
            self._watcher = FolderWatcher(
                self.root, self._inbox.changed, self._inbox.head_moved, self._not_watched, self._watched
            )
            self._watcher.start()

    def _watched(self) -> None:
        """Changes are reported from now on; those since the scan began are found once it is through."""
        self._look_soon = time.monotonic() + _AFTER_WATCHED_SECONDS

    def _not_watched(self, problem: str) -> None:
        self._watching = False
        self._note("watch", problem)
        self.rescan()

    def _step(self, writer: IndexWriter, intake: Intake, background: Background) -> None:
        """Do what is most urgent, or sleep until there is something to do."""
        if not self._inbox.paused and time.monotonic() >= self._look_due(intake):
            self.rescan()
        self._inbox.let_settle(_PAUSE, _LONGEST_BURST)
        if _was_removed(writer):
            raise IndexUnavailableError(
                f"The index in {self.data} was removed while it was in use. It is made anew in a moment."
            )
        if take_check_mark(self.data):
            self._inbox.ask(RequestKind.CHECK, "")
        requests = waiting_requests(writer.db)
        work = self._inbox.take(requests)
        paused = self._inbox.paused
        self._asked = False
        settings = self._settings()
        try:
            writer.note(paused=paused)
            self._take_in(work, settings, writer, intake, background)
            if not self._inbox.is_stopped():  # then it may be half done: it is left to the next who writes
                drop_requests(writer.db, [request.id for request in requests])
        except BaseException:
            self._inbox.put_back(work)
            raise
        if work.is_few_files:
            self._saved_at = time.monotonic()
        if (
            not work
            and self._questions_passed(paused)
            and (
                paused
                or not background.step(settings, self._interrupted, lambda: self._between_steps(writer))
            )
        ):
            self.progress.activity = Activity.PAUSED if paused else Activity.IDLE
            self._on_change()
            self._sleep(writer, intake, background, paused)
        self._inbox.done()
        self._on_change()

    def _questions_passed(self, paused: bool) -> bool:
        """Let those be answered first who ask now, or just saved and will ask; false if something else came instead."""
        self._inbox.wait(max(0.0, self._saved_at + _AFTER_SAVE_SECONDS - time.monotonic()), paused)
        self._gate.step_aside(urgent=lambda: bool(self._inbox))
        return not self._inbox

    def _take_in(
        self, work: Work, settings: Settings, writer: IndexWriter, intake: Intake, background: Background
    ) -> None:
        if work.check:
            check_soundness(writer.db)
        if work.rescan or needs_rescan(work.paths) or len(work.paths) > _FLOOD:
            background.select_models(settings)
            if time.monotonic() >= self._look_soon:
                self._look_soon = float("inf")
            intake.reconcile(settings.index, work.force)
            self._looked_at = time.monotonic()
        elif work.paths:
            intake.update(work.paths)
        if work.forced:  # after the scan, which brings the rules up to date
            intake.update(work.forced, force=True)
        if work.opened:
            background.put_first(work.opened)

    def _between_steps(self, writer: IndexWriter) -> None:
        self._asked = bool(waiting_requests(writer.db))
        self._gate.step_aside(urgent=lambda: bool(self._inbox))
        self._on_change()

    def _sleep(self, writer: IndexWriter, intake: Intake, background: Background, paused: bool) -> None:
        """Wait for work, for `paused` to change, for a request of another process, or until something is due."""
        due = float("inf")
        if not paused:
            look, step = self._look_due(intake), background.next_look()
            due = look if step is None else min(look, time.monotonic() + step)
        while not self._inbox.wait(min(_REQUEST_SECONDS, max(0.0, due - time.monotonic())), paused):
            if self._watcher is not None and self._watcher.is_lost:
                self._watch()
            if (
                time.monotonic() >= min(due, self._look_soon)
                or waiting_requests(writer.db)
                or check_is_marked(self.data)
                or _was_removed(writer)
            ):
                return

    def _look_due(self, intake: Intake) -> float:
        """When to look at every file again, in search of changes that nobody reported."""
        if not self._settings().index.watch:
            return float("inf")  # one answer is wanted, or the user said so
        if self._watching:
            every = max(_LOOK_AGAIN_SECONDS, _LOOK_AGAIN_SHARE * intake.scan_seconds)
        else:
            every = max(_POLL_SECONDS, _POLL_SHARE * intake.scan_seconds)
        return min(self._looked_at + every, self._look_soon)

    def _take_urgent(self, writer: IndexWriter, intake: Intake) -> None:
        """Between two batches of a scan: files that were saved meanwhile come first."""
        saves = [
            request
            for request in waiting_requests(writer.db)
            if request.kind is RequestKind.RECONCILE and request.path
        ]
        paths = self._inbox.take_saves(request.path for request in saves)
        if paths:  # none where another scan is needed: that takes them in
            intake.update(paths)
            drop_requests(writer.db, [request.id for request in saves])
        self._on_change()

    def _interrupted(self) -> bool:
        return self._inbox.is_stopped() or bool(self._inbox) or self._inbox.paused or self._asked

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self._on_change()

    def _fail(self, message: str) -> None:
        self._note("index", message)
        self._become(Role.FAILED)

    def _note(self, topic: str, problem: str | None) -> None:
        """Set, or with None take back, what is wrong."""
        if problem is not None:
            self.problems[topic] = problem
        else:
            self.problems.pop(topic, None)
        self._on_change()


def _was_removed(writer: IndexWriter) -> bool:
    """Whether the file that the writer has open is no longer the one at its path: nobody would see what it writes."""
    moved = ctypes.c_int(0)
    known = writer.db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    return known and bool(moved.value)
