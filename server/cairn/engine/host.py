"""What the engines of one process share: the model, and one indexing thread for each folder.

`cairn lsp` has one engine. `cairn serve` has one for HTTP, and one for each editor, which has unsaved documents and settings
of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import frozen

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.folder_state import Intervals, QueryGate
from cairn.index.indexing.indexer import Indexer
from cairn.index.reader.connection import IndexMemory
from cairn.operations.metrics import Metrics
from cairn.settings.tree import EmbeddingSettings, Settings

_INTERVALS = Intervals()


class Host:
    """Made once in a process. Methods may be called from several threads at once."""

    def __init__(
        self, embedding: EmbeddingSettings, metrics: Metrics | None = None, intervals: Intervals = _INTERVALS
    ) -> None:
        """`metrics` is where the engines count; by default nothing is counted."""
        self.intervals = intervals
        self.model = SharedModel(embedding)
        self.gate = QueryGate()
        self.metrics = metrics or Metrics()
        self.shared: dict[tuple[Path, bool], Shared] = {}
        """By folder, and whether its thread writes."""
        self.changing = threading.Lock()
        """Guards `shared`, and the leases there."""

    def lease(
        self, root: Path, settings: Callable[[], Settings], on_change: Callable[[], None], *, writes: bool
    ) -> Lease:
        """The indexing thread of a folder, made and started by the first who asks, with its settings.

        `on_change` is called on that thread. With `writes` false, the index is only read.
        """
        key = (root, writes)
        with self.changing:
            shared = self.shared.get(key)
            if shared is None:
                shared = self.shared[key] = Shared(self, root, settings, writes)
            lease = Lease(self, key, shared, on_change)
            shared.leases[lease] = frozenset()
        return lease


class Shared:
    """An indexing thread, and who needs it."""

    def __init__(self, host: Host, root: Path, settings: Callable[[], Settings], writes: bool) -> None:
        self.memory = IndexMemory()
        self.leases: dict[Lease, frozenset[str]] = {}
        """With the files that the editor behind each shows."""
        self.indexer = Indexer(root, settings, host.model, self._tell, host.gate, host.intervals)
        if writes:
            self.indexer.start()
        else:
            self.indexer.only_read()

    def _tell(self) -> None:
        for lease in tuple(self.leases):
            lease.on_change()

    def tell_opened(self) -> None:
        self.indexer.queue.opened(frozenset().union(*self.leases.values()))


@frozen(eq=False)
class Lease:
    """A folder's indexing thread, as long as somebody needs it."""

    _host: Host
    _key: tuple[Path, bool]
    shared: Shared
    on_change: Callable[[], None]

    @property
    def writes(self) -> bool:
        """Whether the thread keeps the index up to date, rather than only reading it."""
        return self._key[1]

    def opened(self, paths: Iterable[str]) -> None:
        """Tell which files (relative paths) the editor shows now; those of other leases stay open."""
        with self._host.changing:
            before = self.shared.leases.get(self)
            if before is not None:
                now = self.shared.leases[self] = frozenset(paths)
                # Another editor may show it already, and both have missed something.
                self.shared.indexer.queue.changed(now - before)
                self.shared.tell_opened()

    def give_back(self) -> None:
        """Let go of the thread, which stops with its last lease."""
        shared, host = self.shared, self._host
        with host.changing:
            if shared.leases.pop(self, None) is None:
                return
            if shared.leases:
                shared.tell_opened()
                return
            # Whoever opens the folder now gets a thread of its own, which waits for this one's lock.
            del host.shared[self._key]
        shared.indexer.stop()
        shared.memory.forget_vectors()
