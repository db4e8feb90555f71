"""The indexing thread of one folder. It writes the index, or waits while another process writes it."""

from __future__ import annotations

import contextlib
import enum
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import filelock

from cairn.embedding.shared import SharedModel
from cairn.errors import IndexUnavailableError
from cairn.index.indexing.folder_state import BURST, Activity, FolderState, Intervals, QueryGate
from cairn.index.indexing.writing_session import WritingSession
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.coordination import RequestKind, is_locked, leave_request, note_holder, writer_lock
from cairn.index.store.database import DAMAGE, DATABASE_NAME, UNWRITABLE, set_index_aside, unwritable
from cairn.index.store.meta import Facts
from cairn.index.store.writer import IndexWriter
from cairn.paths import private_folder
from cairn.settings.tree import Settings

logger = logging.getLogger(__name__)


class Role(enum.StrEnum):
    STARTING = "starting"
    WRITER = "writer"
    READER = "reader"
    FAILED = "failed"
    STOPPED = "stopped"


class Indexer:
    """Keeps the index of one folder up to date in the background. Only the process that has the folder's lock
    writes. The others read and wait for the lock, which the system frees when that process dies."""

    def __init__(
        self,
        root: Path,
        settings: Callable[[], Settings],
        models: SharedModel,
        on_change: Callable[[], None],
        gate: QueryGate,
        intervals: Intervals,
    ) -> None:
        self._state = FolderState(root, settings, models, on_change, gate, intervals)
        self.root = root
        self.data = self._state.data
        self.progress = self._state.progress
        self.role = Role.STARTING
        self.queue = self._state.queue
        self._reader = SqliteReader(self.data)
        self._remark: str | None = None
        self._damaged_at = float("-inf")
        self._sound = self._only_reads = False
        self._asked_for = -1
        """The `Checkout.number` for which this process last requested a comparison of the folder."""
        self._thread = threading.Thread(target=self._run, name=f"cairn-index-{root.name}", daemon=True)

    @property
    def idle(self) -> bool:
        """Whether every known change is indexed, apart from vectors."""
        if self.role is Role.READER and self._reader.has_requests():
            return False
        return self.queue.is_done or self._only_reads

    @property
    def has_changes(self) -> bool:
        """Whether changed files are known that are not indexed yet."""
        return self.queue.has_paths and not self._only_reads

    @property
    def unread(self) -> frozenset[str]:
        """Changed files and directories that are known and not indexed yet."""
        return frozenset() if self._only_reads else self.queue.unread

    @property
    def may_lack_changes(self) -> bool:
        """Whether there may be changes that are neither indexed nor in `unread`."""
        if self.role is Role.READER:
            return not self._only_reads and self._reader.has_requests()
        return self.queue.is_comparing

    def is_behind(self, facts: Facts) -> bool:
        """Return whether another commit is checked out than when the folder was last compared with the index.
        `facts` are those of this folder's index."""
        return facts.commit not in (-1, self._state.checkout.number())

    @property
    def problem(self) -> str | None:
        order = ("index", "watch", "model", "history")
        return next(filter(None, map(self._state.problems.get, order)), None)

    def only_read(self) -> None:
        """Only read the index and never write it. Call this instead of `start`."""
        self.role = Role.READER
        self._only_reads = True

    def writer_is_alive(self) -> bool:
        return is_locked(self.data) if self.role is Role.READER else self.role is Role.WRITER

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the current batch. A later scan finds the changes that are not written."""
        self.queue.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def catch_up(self) -> None:
        """Wait briefly until a few files that were just saved are indexed. After a checkout, let the writing
        process compare the folder with the index."""
        if self.role is Role.WRITER:
            self.queue.wait_for_saves(self._state.intervals.saves)
        commit = self._state.checkout.number()
        if commit != self._asked_for and not self._only_reads and self.is_behind(self._reader.facts()):
            self._asked_for = commit
            with contextlib.suppress(IndexUnavailableError):  # The answer says that the index is behind.
                self.request(RequestKind.RECONCILE)

    def look_again(self) -> None:
        """Scan for changes that the watcher missed, unless one was seconds ago or indexing is paused."""
        if not self.queue.paused and time.monotonic() - self._state.scanned_at > self._state.intervals.focus:
            self.queue.rescan()

    def request(self, kind: RequestKind, path: str = "") -> None:
        """Queue a request, or leave it for the writing process. Raises IndexUnavailableError on failure."""
        if self.role is Role.READER and leave_request(self.data, kind, path) is not None:
            return
        self.queue.add_request(kind, path)

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
            except Exception as problem:
                # SQLite itself rolls back on a full disk. Then a second rollback fails and hides the error.
                cause = problem if isinstance(problem, UNWRITABLE) else problem.__context__
                if isinstance(cause, UNWRITABLE):
                    self._fail(str(unwritable(self.data, cause)))
                else:
                    logger.exception("indexing %s failed", self.root)
                    self._fail(f"Indexing {self.root.name} failed ({problem}). Cairn will try again soon.")
            if time.monotonic() - began > longest:  # the thread worked for a while before it failed
                wait = first
            self.queue.sleep(wait)
            wait = min(longest, wait * 2)
        self._become(Role.STOPPED)

    def _write_or_read(self) -> None:
        private_folder(self.data)
        try:
            acquired = writer_lock(self.data).acquire(blocking=False)
        except filelock.Timeout:
            self._read_for_a_while()
            return
        with acquired:
            note_holder(self.data)
            self._write_or_set_aside()

    def _read_for_a_while(self) -> None:
        """Watch the index and pass pending work to the writing process, for `Intervals.takeover` seconds."""
        if self.role is not Role.READER:
            self.queue.drop_rescan()
            self._become(Role.READER)
        deadline = time.monotonic() + self._state.intervals.takeover
        generation = self._reader.generation()
        while not self.queue.is_stopped() and (left := deadline - time.monotonic()) > 0:
            if self.queue.wait(left, self.queue.paused) and not self._leave_requests():
                self.queue.sleep(left)
        if self._reader.generation() != generation:
            self._state.on_change()

    def _leave_requests(self) -> bool:
        """Pass all work as requests to the writing process; return false while there is no index for them."""
        work = self.queue.take()
        requests = {RequestKind.REINDEX: work.forced, RequestKind.RECONCILE: work.paths}
        if work.rescan or len(work.paths) > BURST:
            self._state.scanned_at = time.monotonic()
            requests[RequestKind.REINDEX if work.force else RequestKind.RECONCILE] = {""}
        done = False
        try:
            ids = (leave_request(self.data, kind, *paths) for kind, paths in requests.items() if paths)
            done = all(request_id is not None for request_id in ids)
        finally:
            if not done:
                self.queue.add(work)
            self.queue.done()
        return done

    def _write_or_set_aside(self) -> None:
        try:
            self._write()
        except DAMAGE as problem:
            self._remark = set_index_aside(self.data / DATABASE_NAME, problem)
            before, self._damaged_at = self._damaged_at, time.monotonic()
            # If the index is damaged again so soon, the disk may be faulty.
            if self._damaged_at - before < self._state.intervals.retry[1]:
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
            writer.abandon()  # does nothing if the writer is closed

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self._state.on_change()

    def _fail(self, message: str) -> None:
        self._state.note("index", message)
        self._become(Role.FAILED)
