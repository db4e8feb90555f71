"""Shares the model and one indexing thread per folder among the engines of a process.

`cairn lsp` has one engine. `cairn serve` has one for HTTP, and one for each editor, which has the editor's
unsaved documents and settings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import frozen

from cairn import protocol
from cairn.embedding.shared import SharedModel
from cairn.errors import ModelError
from cairn.index.indexing.folder_state import Intervals, QueryGate
from cairn.index.indexing.indexer import Indexer
from cairn.index.reader.index_memory import IndexMemory
from cairn.operations.metrics import Metrics
from cairn.settings.tree import EmbeddingSettings, Settings

_INTERVALS = Intervals()


class Host:
    """The shared model, metrics and indexing threads of one process. Thread-safe."""

    def __init__(
        self, embedding: EmbeddingSettings, metrics: Metrics | None = None, intervals: Intervals = _INTERVALS
    ) -> None:
        self.intervals = intervals
        self.model = SharedModel(embedding)
        self.gate = QueryGate()
        self.metrics = metrics or Metrics()
        self.shared: dict[tuple[Path, bool], Shared] = {}
        """The indexing threads by folder and by whether they write the index."""
        self.lock = threading.Lock()
        """Protects `shared` and its leases."""

    def model_in_use(self) -> tuple[protocol.ModelInfo | None, str | None]:
        """Return the user's own model, or else the code model that comes with Cairn; and any problem."""
        found, problem = None, None
        for look, packaged in ((self.model.packaged, True), (self.model.own, False)):
            try:
                model = look()
            except ModelError as error:
                problem = str(error)
            else:
                if model is not None:
                    found = protocol.ModelInfo(model.name, model.dimension, model.id, packaged)
        return found, problem

    def lease(
        self, root: Path, settings: Callable[[], Settings], on_change: Callable[[], None], *, writes: bool
    ) -> Lease:
        """Return a lease of the folder's indexing thread, which calls `on_change` when its state changes.

        The first lease starts the thread with these `settings`. Unless `writes` is true, the thread only
        reads the index.
        """
        key = (root, writes)
        with self.lock:
            shared = self.shared.get(key)
            if shared is None:
                shared = self.shared[key] = Shared(self, root, settings, writes)
            lease = Lease(self, key, shared, on_change)
            shared.leases[lease] = frozenset()
        return lease


class Shared:
    def __init__(self, host: Host, root: Path, settings: Callable[[], Settings], writes: bool) -> None:
        self.memory = IndexMemory()
        self.leases: dict[Lease, frozenset[str]] = {}
        """The files that are open in each lease's editor."""
        self.indexer = Indexer(root, settings, host.model, self._notify, host.gate, host.intervals)
        if writes:
            self.indexer.start()
        else:
            self.indexer.only_read()

    def _notify(self) -> None:
        for lease in tuple(self.leases):
            lease.on_change()

    def queue_opened(self) -> None:
        self.indexer.queue.opened(frozenset().union(*self.leases.values()))


@frozen(eq=False)
class Lease:
    """A claim on a folder's indexing thread. The thread stops when its last lease is given back."""

    _host: Host
    _key: tuple[Path, bool]
    shared: Shared
    on_change: Callable[[], None]

    @property
    def writes(self) -> bool:
        """Whether the thread keeps the index up to date. Otherwise it only reads the index."""
        return self._key[1]

    def opened(self, paths: Iterable[str]) -> None:
        """Set the files (relative paths) that the editor has open now. Those of other leases stay open."""
        with self._host.lock:
            before = self.shared.leases.get(self)
            if before is not None:
                now = self.shared.leases[self] = frozenset(paths)
                # Read the files again even if another editor has them open, because a change may have been
                # missed.
                self.shared.indexer.queue.changed(now - before)
                self.shared.queue_opened()

    def give_back(self) -> None:
        shared, host = self.shared, self._host
        with host.lock:
            if shared.leases.pop(self, None) is None:
                return
            if shared.leases:
                shared.queue_opened()
                return
            # A new lease of the folder starts another thread, which waits for this one's lock.
            del host.shared[self._key]
        shared.indexer.stop()
        shared.memory.forget_vectors()
