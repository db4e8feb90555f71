"""The indexing thread of one folder: takes in changes, scans, embeds, in that order of urgency."""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import filelock
from attrs import define, field

from cairn.config import Settings
from cairn.errors import CairnError
from cairn.index.database import unwritable
from cairn.index.intake import Intake, Progress, needs_rescan
from cairn.index.vectors import ModelSource, VectorIntake
from cairn.index.writer import IndexWriter
from cairn.paths import workspace_dir
from cairn.workspace.watch import FolderWatcher

logger = logging.getLogger(__name__)

_TAKEOVER_SECONDS = 2.0
"""How often a process that reads tries to become the writer."""
_MODEL_SECONDS = 30.0
"""How often a folder without a model looks whether one was installed."""


class Role(enum.StrEnum):
    """What this process does for the folder."""

    STARTING = "starting"
    WRITER = "writer"
    READER = "reader"
    STOPPED = "stopped"


@define
class _Work:
    rescan: bool = False
    force: bool = False
    paths: set[str] = field(factory=set)

    def __bool__(self) -> bool:
        return self.rescan or bool(self.paths)


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
    ) -> None:
        """`settings` is asked anew at each scan; `on_change` is called on the indexing thread."""
        self.root = root
        self.data = workspace_dir(root)
        self.progress = Progress()
        self.role = Role.STARTING
        self.last_error: str | None = None
        self._settings = settings
        self._models = models
        self._on_change = on_change
        self._work = _Work(rescan=True)
        self._taking_in = False
        """Set from the moment work is taken until it is in the index."""
        self._wake = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"cairn-index-{root.name}", daemon=True)

    @property
    def idle(self) -> bool:
        """Whether everything this process knows of is taken in (vectors apart)."""
        return self.role is Role.READER or not (self._work or self._taking_in)

    def only_read(self) -> None:
        """Take the index as it is; instead of `start`."""
        self.role = Role.READER

    def start(self) -> None:
        """Begin indexing."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the batch at hand; what was not written is found again by the next scan."""
        self._stop.set()
        with self._wake:
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def changed(self, paths: Iterable[str]) -> None:
        """Take in that files or directories (relative paths) were made, changed or removed."""
        with self._wake:
            self._work.paths.update(paths)
            self._wake.notify_all()

    def rescan(self, force: bool = False) -> None:
        """Compare the whole folder with the index again; with `force`, index every file anew."""
        with self._wake:
            self._work.rescan = True
            self._work.force |= force
            self._wake.notify_all()

    # --- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.data / "writer.lock", thread_local=False)
            while not self._stop.is_set():
                try:
                    with lock.acquire(blocking=False):
                        self._write_until_stopped()
                except filelock.Timeout:
                    self._become(Role.READER)
                    self._stop.wait(_TAKEOVER_SECONDS)
        except CairnError as problem:
            self._fail(str(problem))
        except OSError as problem:
            self._fail(str(unwritable(self.data, problem)))
        except Exception as problem:
            logger.exception("indexing %s failed", self.root)
            self._fail(
                f"Indexing {self.root.name} failed ({problem}). Restart Cairn; it resumes or rebuilds."
            )
        finally:
            self._become(Role.STOPPED)

    def _write_until_stopped(self) -> None:
        writer = IndexWriter(self.data)
        watcher = FolderWatcher(self.root, self.changed, self._fail) if self._settings().index.watch else None
        intake = Intake(
            self.root, writer, self.progress, self._stop.is_set, lambda: self._take_urgent(intake)
        )
        vectors = VectorIntake(writer, self._models, self.progress, self._fail)
        self.last_error = writer.remark
        try:
            if watcher:
                watcher.start()  # before the scan, so that nothing falls between the two
            vectors.select_model()
            self._become(Role.WRITER)
            while not self._stop.is_set():
                self._step(intake, vectors)
        finally:
            if watcher:
                watcher.stop()
            writer.close()

    def _step(self, intake: Intake, vectors: VectorIntake) -> None:
        """Do what is most urgent, or sleep until there is something to do."""
        work = self._take()
        settings = self._settings()
        if work.rescan or needs_rescan(work.paths):
            intake.reconcile(settings.index, work.force)
        elif work.paths:
            intake.update(work.paths)
        elif not vectors.embed_some(settings.embedding, self._interrupted, self._on_change):
            self._on_change()
            if not self._wait(None if vectors.has_model else _MODEL_SECONDS):
                vectors.select_model()
        self._taking_in = False
        self._on_change()

    def _take_urgent(self, intake: Intake) -> None:
        """Between two batches of a scan: files that were saved meanwhile come first."""
        with self._wake:
            if self._work.rescan or needs_rescan(self._work.paths):
                return  # the scan that follows this one takes them in
            paths, self._work.paths = self._work.paths, set()
        if paths:
            intake.update(paths)
        self._on_change()

    def _take(self) -> _Work:
        with self._wake:
            work, self._work = self._work, _Work()
            self._taking_in = bool(work)
        return work

    def _wait(self, seconds: float | None) -> bool:
        """Sleep until there is work or the end; False when the time passed first."""
        with self._wake:
            return self._wake.wait_for(self._interrupted, seconds)

    def _interrupted(self) -> bool:
        return self._stop.is_set() or bool(self._work)

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self._on_change()

    def _fail(self, message: str) -> None:
        self.last_error = message
        self._on_change()
