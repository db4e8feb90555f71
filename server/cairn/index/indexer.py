"""The indexing thread of one folder: scans, takes in changes, embeds, in that order of urgency."""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import apsw
import filelock
from attrs import define, field

from cairn.config import Settings
from cairn.embedding import Embedder, InstalledModel
from cairn.errors import CairnError, ModelError
from cairn.index.database import unwritable
from cairn.index.intake import Intake, Progress, needs_rescan
from cairn.index.writer import IndexWriter
from cairn.paths import workspace_dir
from cairn.workspace.watch import FolderWatcher

logger = logging.getLogger(__name__)

_TAKEOVER_SECONDS = 2.0
"""How often a process that reads tries to become the writer."""
_MODEL_SECONDS = 30.0
"""How often a folder without a model looks whether one was installed."""
_PENDING_PAGE = 512
"""Texts fetched for embedding at once."""
_EMBED_TEXTS = 32
"""Texts embedded between two looks at what changed: about half a second of one core."""


class ModelSource(Protocol):
    """Gives the model that vectors are made with."""

    def installed(self) -> InstalledModel | None:
        """The model in use, without loading it. Raises ModelError where it is damaged."""

    def embedder(self) -> Embedder | None:
        """The loaded model. Raises ModelError where it is damaged."""


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
        except apsw.Error as problem:
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
        self.last_error = writer.remark
        try:
            if watcher:
                watcher.start()  # before the scan, so that nothing falls between the two
            model_id = self._select_model(writer)
            self._become(Role.WRITER)
            while not self._stop.is_set():
                work = self._take()
                if work.rescan or needs_rescan(work.paths):
                    intake.reconcile(self._settings().index, work.force)
                elif work.paths:
                    intake.update(work.paths)
                elif not (model_id and self._embed(writer, model_id)):
                    self._on_change()
                    if not self._wait(None if model_id else _MODEL_SECONDS):
                        model_id = self._select_model(writer)
                self._taking_in = False
                self._on_change()
        finally:
            if watcher:
                watcher.stop()
            writer.close()

    def _take_urgent(self, intake: Intake) -> None:
        """Between two batches of a scan: files that were saved meanwhile come first."""
        with self._wake:
            paths = set() if self._work.rescan else self._work.paths
            self._work.paths = set() if paths else self._work.paths
        if paths and needs_rescan(paths):
            self.rescan()
        elif paths:
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
            return self._wake.wait_for(lambda: self._stop.is_set() or bool(self._work), seconds)

    def _select_model(self, writer: IndexWriter) -> int:
        """The id of the vectors of the installed model, 0 where there is none."""
        try:
            model = self._models.installed()
        except ModelError as problem:
            self._fail(str(problem))
            model = None
        if model is None:
            writer.use_no_model()
            return 0
        return writer.use_model(model.id, model.dimension)

    def _embed(self, writer: IndexWriter, model_id: int) -> bool:
        """Embed texts that have no vector until something more urgent comes; False when all have one."""
        pending = writer.pending_texts(model_id, _PENDING_PAGE)
        if not pending:
            self.progress.queued = 0
            writer.set_embedded(True)
            return False
        try:
            embedder = self._models.embedder()
        except ModelError as problem:
            self._fail(str(problem))
            embedder = None
        if embedder is None:
            return False
        settings = self._settings().embedding
        self.progress.queued = writer.count_pending(model_id)
        # Texts of like length share a batch: padding is most of the cost otherwise.
        for is_code, cap in ((True, settings.code_tokens), (False, settings.text_tokens)):
            texts = sorted((p for p in pending if p.is_code == is_code), key=lambda p: (len(p.text), p.key))
            for start in range(0, len(texts), _EMBED_TEXTS):
                if self._stop.is_set() or self._work:
                    return True
                slice_ = texts[start : start + _EMBED_TEXTS]
                vectors = embedder.embed([p.text for p in slice_], cap)
                writer.store_vectors(model_id, [p.key for p in slice_], vectors)
                self.progress.queued -= len(slice_)
                self._on_change()
        writer.checkpoint()
        return True

    def _become(self, role: Role) -> None:
        if role is not self.role:
            self.role = role
            self._on_change()

    def _fail(self, message: str) -> None:
        self.last_error = message
        self._on_change()
