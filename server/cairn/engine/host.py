"""What the engines of one process share: the model, and one indexing thread for each folder.

`cairn lsp` has one engine. `cairn serve` has one for HTTP, and one for each editor, which has unsaved documents and settings
of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import define, field, frozen

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.folder_state import Intervals
from cairn.index.indexing.gate import QueryGate
from cairn.index.indexing.indexer import Indexer
from cairn.index.reader.connection import IndexMemory
from cairn.operations.metrics import Metrics
from cairn.settings.tree import EmbeddingSettings, Settings

_INTERVALS = Intervals()


@define(eq=False)
class _Shared:
    """An indexing thread, and who wants to hear of it."""

    indexer: Indexer
    memory: IndexMemory = field(factory=IndexMemory)
    listeners: list[Callable[[], None]] = field(factory=list)
    open_paths: dict[object, frozenset[str]] = field(factory=dict)
    """What the editor behind each lease shows."""

    def opened(self, lease: object, paths: Iterable[str]) -> None:
        """Take in what a lease's editor shows now; nothing says that it has let go."""
        before, now = self.open_paths.pop(lease, frozenset()), frozenset(paths)
        if now:
            self.open_paths[lease] = now
        # Another editor may show it already, and both have missed something.
        self.indexer.queue.changed(now - before)
        self.indexer.queue.opened(frozenset().union(*self.open_paths.values()))

    def tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()


@frozen
class Lease:
    """A folder's indexing thread, as long as somebody needs it."""

    indexer: Indexer
    memory: IndexMemory
    give_back: Callable[[], None]
    opened: Callable[[Iterable[str]], None]
    """Tells which files (relative paths) the editor shows now; those of other leases stay open."""


class Host:
    """Made once in a process. Methods may be called from several threads at once."""

    def __init__(
        self, embedding: EmbeddingSettings, metrics: Metrics | None = None, intervals: Intervals = _INTERVALS
    ) -> None:
        """`metrics` is where the engines count; by default nothing is counted."""
        self._intervals = intervals
        self.model = SharedModel(embedding)
        self.gate = QueryGate()
        self.metrics = metrics or Metrics()
        self._shared: dict[tuple[Path, bool], _Shared] = {}
        self._changing = threading.Lock()

    def lease(
        self, root: Path, settings: Callable[[], Settings], on_change: Callable[[], None], *, writes: bool
    ) -> Lease:
        """The indexing thread of a folder, made and started by the first who asks, with its settings.

        `on_change` is called on that thread. With `writes` false, the index is only read.
        """
        key = (root, writes)
        with self._changing:
            shared = self._shared.get(key)
            if shared is None:
                shared = self._shared[key] = self._made(root, settings, writes)
            shared.listeners.append(on_change)
        given_back = threading.Event()

        def give_back() -> None:
            if not given_back.is_set():
                given_back.set()
                self._give_back(key, shared, on_change, given_back)

        def opened(paths: Iterable[str]) -> None:
            with self._changing:
                if not given_back.is_set():
                    shared.opened(given_back, paths)

        return Lease(shared.indexer, shared.memory, give_back, opened)

    def _made(self, root: Path, settings: Callable[[], Settings], writes: bool) -> _Shared:
        told: list[_Shared] = []
        indexer = Indexer(root, settings, self.model, lambda: told[0].tell(), self.gate, self._intervals)
        told.append(_Shared(indexer))
        if writes:
            indexer.start()
        else:
            indexer.only_read()
        return told[0]

    def _give_back(
        self, key: tuple[Path, bool], shared: _Shared, listener: Callable[[], None], lease: object
    ) -> None:
        with self._changing:
            shared.listeners.remove(listener)
            if shared.listeners:
                shared.opened(lease, ())
                return
            # Whoever opens the folder now gets a thread of its own, which waits for this one's lock.
            del self._shared[key]
        shared.indexer.stop()
        shared.memory.forget_vectors()
