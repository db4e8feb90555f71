"""Makes the vector of every chunk of an index: by the code model within seconds, by a user's own model in the
background.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from attrs import define, field

from cairn.errors import ModelError
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import StaticRecipe, VectorStore, Waiting, static_vectors
from cairn.settings.tree import EmbeddingSettings
from cairn.startup.interpreter import trim_memory
from cairn.workspace.collections import FileKind

if TYPE_CHECKING:
    from cairn.embedding.packaged import PackagedModel
    from cairn.embedding.shared import SharedModel, TextEncoder


_PAGE = 512
"""The number of chunks that the code model embeds at once."""
_SLOW_PAGE = 4
"""The number of chunks that a user's own model embeds between two checks for queries and other work: 50 ms of
one core by a model of 90 MB."""
_AT_ONCE = 64
"""The code model embeds up to this many new chunks, such as those of a save, immediately; more are queued."""
_RECENT_SECONDS = 24 * 3600
"""A file edited within this time is probably being worked on."""
_ENTRY_POINTS = frozenset("main __main__ __init__ index lib mod app cli server readme".split())
_BY_KIND = {FileKind.DOCS: 3, FileKind.SOURCE: 4, FileKind.CONFIG: 5, FileKind.EXAMPLES: 6, FileKind.TESTS: 7}


@define
class _ChunkQueue:
    """A priority queue of the ids of chunks without a vector, filled when it is first used."""

    find: Callable[[], list[Waiting]]
    """Finds all chunks without a vector, in 0.1 s for 107,000 chunks."""
    open_paths: Callable[[], Container[str]]
    _ids: dict[int, None] | None = field(default=None, init=False)
    """The ids in reverse order, so that taking and returning them is cheap; None before first use."""

    def __len__(self) -> int:
        return len(self._ids or ())

    @property
    def is_made(self) -> bool:
        return self._ids is not None

    def take(self, most: int) -> list[int]:
        """Remove and return the next ids, up to `most`; none if no chunk waits."""
        if self._ids is None:
            self._ids = dict.fromkeys(reversed(by_importance(self.find(), self.open_paths())))
        return [self._ids.popitem()[0] for _ in range(min(most, len(self._ids)))]

    def put_first(self, ids: Iterable[int]) -> None:
        if self._ids is not None:
            for each in reversed(list(ids)):
                self._ids.pop(each, None)
                self._ids[each] = None

    def restart(self, *, is_done: bool = False) -> None:
        """Fill the queue again at its next use, or empty it if `is_done`."""
        self._ids = {} if is_done else None


def by_importance(waiting: Sequence[Waiting], open_paths: Container[str]) -> list[int]:
    """Return the chunks' ids by priority: chunks of open files first, then of recently edited files, entry
    points, documents, and the rest. Within such a class, files in fewer folders come first."""
    since = (time.time() - _RECENT_SECONDS) * 1e9
    # After a clone or a checkout every file is new, so the time of its last change means nothing.
    recency_counts = sum(chunk.mtime_ns > since for chunk in waiting) < len(waiting) / 2

    def rank(chunk: Waiting) -> tuple[int, int, int]:
        path = PurePosixPath(chunk.path)
        if chunk.path in open_paths:
            level = 0
        elif recency_counts and chunk.mtime_ns > since:
            level = 1
        elif path.stem.lower() in _ENTRY_POINTS and chunk.kind in (FileKind.SOURCE, FileKind.DOCS):
            level = 2
        else:
            level = _BY_KIND.get(FileKind(chunk.kind), 4)
        return (level, len(path.parts), chunk.chunk_id)

    return [chunk.chunk_id for chunk in sorted(waiting, key=rank)]


class VectorIntake:
    """Makes the vectors, on the thread that owns the writer."""

    def __init__(
        self,
        writer: IndexWriter,
        models: SharedModel,
        open_paths: Callable[[], Container[str]],
        on_slow_step: Callable[[int, float, int], None] = lambda count, seconds, queued: None,
    ) -> None:
        """`on_slow_step` is called after each step of a user's own model with its number of texts, its
        seconds, and the number of waiting chunks."""
        self._writer = writer
        self._store = VectorStore(writer.db)
        self._models = models
        self._on_slow_step = on_slow_step
        self._encoder: TextEncoder | None = None
        self.is_slow = False
        """Whether a user's own model makes the vectors."""
        self._queue = _ChunkQueue(self._store.without_static, open_paths)

    def announce(self, settings: EmbeddingSettings | None) -> None:
        """Record in the index, before the code model is loaded, that it will have vectors. A user's own model
        is loaded for that, since only the loaded one knows its dimension."""
        if settings is not None and self._own_is_usable():
            self.select(settings)
        else:
            self._use(self._packaged() if settings else None, settings)

    def select(self, settings: EmbeddingSettings | None, encoder: TextEncoder | None = None) -> None:
        """Use `encoder` from now on, by default the one that the settings name; no encoder if `settings` is
        None."""
        self._encoder = (encoder or self._models.encoder()) if settings else None
        self.is_slow = self._encoder is not None and self._encoder is not self._models.static_table()
        self._use(self._encoder, settings)
        self._queue.restart(is_done=self._encoder is not None and bool(self._writer.facts().static))

    def _own_is_usable(self) -> bool:
        with contextlib.suppress(ModelError):  # the status reports it
            return self._models.own() is not None
        return False

    def _packaged(self) -> PackagedModel | None:
        with contextlib.suppress(ModelError):  # the status reports it
            return self._models.packaged()
        return None

    def _use(self, encoder: TextEncoder | PackagedModel | None, settings: EmbeddingSettings | None) -> None:
        if encoder is None or settings is None:
            self._store.use_no_static()
        else:
            # The token limits change the vector of a text.
            embedded = f"{settings.code_tokens}/{settings.text_tokens}"
            self._store.use_static(encoder.id, encoder.dimension, embedded)

    def recipe(self, settings: EmbeddingSettings) -> StaticRecipe | None:
        """Return the recipe by which other processes make vectors; None if they cannot: only the code model
        is fast enough."""
        if self._own_is_usable() or not self._writer.facts().has_static:
            return None
        model = self._packaged()
        return StaticRecipe(model.folder, settings) if model else None

    def added(self, ids: list[int], settings: EmbeddingSettings) -> None:
        """Make the missing vectors of new chunks immediately if the model is fast and they are few, otherwise
        in the next steps."""
        if not self._writer.facts().has_static:
            return
        ids = self._store.lacking_static(ids)
        if self._encoder is not None and len(ids) <= _AT_ONCE and not self.is_slow:
            self._embed(ids, settings)
        else:
            self._queue.put_first(ids)

    def put_first(self, ids: Iterable[int]) -> None:
        """Embed these chunks next, because a user opened their files, except those that have a vector."""
        if self._queue.is_made and self._writer.facts().has_static:
            self._queue.put_first(self._store.lacking_static(ids))

    def step(self, settings: EmbeddingSettings) -> bool:
        """Make the vectors of the next chunks; return false if all chunks have one."""
        if self._encoder is None or self._writer.facts().static:
            return False
        page = self._queue.take(_SLOW_PAGE if self.is_slow else _PAGE)
        if not page:
            self._writer.note(static=1, static_queued=0)
            if self.is_slow:
                self._on_slow_step(0, 0.0, 0)
                trim_memory()
            return False
        self._embed(page, settings)
        return True

    def _embed(self, ids: list[int], settings: EmbeddingSettings) -> None:
        texts = self._store.texts(ids)
        if self._encoder is None or not texts:
            return
        began = time.monotonic()
        vectors = static_vectors(self._encoder, texts, settings)
        queue = self._queue
        queued = len(queue) if queue.is_made else max(0, self._writer.facts().static_queued - len(texts))
        self._store.store_static([text.chunk_id for text in texts], vectors, queued)
        if self.is_slow:
            self._on_slow_step(len(texts), time.monotonic() - began, queued)
