"""The indexing thread of one folder: writes the index, or reads it until the process that writes ends."""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import filelock

from cairn.embedding.shared import SharedModel
from cairn.errors import IndexUnavailableError
from cairn.index.indexing.folder_state import Activity, FolderState, Intervals, QueryGate
from cairn.index.indexing.work_queue import BURST
from cairn.index.indexing.writing import WritingSession
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.database import DAMAGE, DATABASE_NAME, UNWRITABLE, set_aside, unwritable
from cairn.index.store.lock import is_held, note_holder, writer_lock
from cairn.index.store.requests import RequestKind, leave_request
from cairn.index.store.writer import IndexWriter
from cairn.settings.tree import Settings

logger = logging.getLogger(__name__)


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

    Only the process that has the folder's lock writes; the others read and wait for the lock, which the
    system frees when its holder dies.
    """

    def __init__(
        self,
        root: Path,
        settings: Callable[[], Settings],
        models: SharedModel,
        on_change: Callable[[], None],
        gate: QueryGate,
        intervals: Intervals,
    ) -> None:
        """`settings` is asked anew at each scan; `on_change` is called on the indexing thread."""
        self._state = FolderState(root, settings, models, on_change, gate, intervals)
        self.root = root
        self.data = self._state.data
        self.progress = self._state.progress
        self.role = Role.STARTING
        self.queue = self._state.queue
        self._reader = SqliteReader(self.data)
        self._remark: str | None = None
        """What became of a former index."""
        self._damaged_at = float("-inf")
        self._sound = False
        """This process has had the index open before, so it need not be checked again."""
        self._thread = threading.Thread(target=self._run, name=f"cairn-index-{root.name}", daemon=True)

    @property
    def idle(self) -> bool:
        """Whether everything this process knows of is taken in (vectors apart)."""
        return self.queue.is_done and not (self.role is Role.READER and self._reader.has_requests())

    @property
    def problem(self) -> str | None:
        """The gravest problem there is now."""
        order = ("index", "watch", "model", "history")
        return next(filter(None, map(self._state.problems.get, order)), None)

    def only_read(self) -> None:
        """Take the index as it is; instead of `start`."""
        self.role = Role.READER
        self.queue.forget_scan()

    def writer_is_alive(self) -> bool:
        """Whether some process keeps the index up to date now."""
        return is_held(self.data) if self.role is Role.READER else self.role is Role.WRITER

    def start(self) -> None:
        """Begin indexing."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the batch at hand; what was not written is found again by the next scan."""
        self.queue.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def wait_for_saves(self) -> None:
        """Let a few files that were just reported be taken in first, if that is a matter of milliseconds."""
        if self.role is Role.WRITER:
            self.queue.wait_for_saves(self._state.intervals.saves)

    def look_again(self) -> None:
        """Look for changes that nobody reported, unless that was done just now or indexing is paused."""
        if not self.queue.paused and time.monotonic() - self._state.looked_at > self._state.intervals.focus:
            self.queue.rescan()

    def request(self, kind: RequestKind, path: str = "") -> None:
        """Do this, or leave it to the process that writes. Raises IndexUnavailableError where that cannot be."""
        if self.role is Role.READER and leave_request(self.data, kind, path) is not None:
            return
        self.queue.ask(kind, path)

    # --- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        first, longest = self._state.intervals.retry
        wait = first
        while not self.queue.is_stopped():
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
            self.queue.rest(wait)
            wait = min(longest, wait * 2)
        self._become(Role.STOPPED)

    def _write_or_read(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        try:
            acquired = writer_lock(self.data).acquire(blocking=False)
        except filelock.Timeout:
            self._read_until_free()
            return
        with acquired:
            note_holder(self.data)
            self._write_until_stopped()

    def _read_until_free(self) -> None:
        """Notice what the writing process changes and leave it what this one is asked, until it is time to try again."""
        if self.role is not Role.READER:
            self.queue.forget_scan()
            self._become(Role.READER)
        deadline = time.monotonic() + self._state.intervals.takeover
        generation = self._reader.generation()
        while not self.queue.is_stopped() and (left := deadline - time.monotonic()) > 0:
            if self.queue.wait(left, self.queue.paused) and not self._leave_requests():
                self.queue.rest(left)
        if self._reader.generation() != generation:
            self._state.on_change()

    def _leave_requests(self) -> bool:
        """Leave what there is to do to the process that writes; false while there is no index to leave it in."""
        work = self.queue.take()
        asked = {RequestKind.REINDEX: work.forced, RequestKind.RECONCILE: work.paths}
        if work.rescan or len(work.paths) > BURST:
            self._state.looked_at = time.monotonic()
            asked[RequestKind.REINDEX if work.force else RequestKind.RECONCILE] = {""}
        done = False
        try:
            left = (leave_request(self.data, kind, *paths) for kind, paths in asked.items() if paths)
            done = all(request is not None for request in left)
        finally:
            if not done:
                self.queue.add(work)
            self.queue.done()
        return done

    def _write_until_stopped(self) -> None:
        try:
            self._write()
        except DAMAGE as problem:
            self._remark = f"The index was damaged ({problem}); it was set aside as {set_aside(self.data / DATABASE_NAME)} and is being rebuilt."
            logger.warning(self._remark)
            before, self._damaged_at = self._damaged_at, time.monotonic()
            if self._damaged_at - before < self._state.intervals.retry[1]:  # again: the disk may be the cause
                raise IndexUnavailableError(self._remark) from problem

    def _write(self) -> None:
        state = self._state
        state.progress.activity = Activity.CHECKING
        writer = IndexWriter(self.data, check=not self._sound)
        self._sound = True
        self._remark = writer.remark or self._remark
        state.note("index", self._remark)
        try:
            session = WritingSession(state, writer)
            self._become(Role.WRITER)
            session.run()
            writer.close()
        finally:
            writer.abandon()  # leaves nothing to do where it is closed

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self._state.on_change()

    def _fail(self, message: str) -> None:
        self._state.note("index", message)
        self._become(Role.FAILED)
