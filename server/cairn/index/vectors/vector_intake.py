"""Makes the vectors of every chunk of an index: static ones within seconds, the model's in the background.

The model's vectors are first looked up in other indexes: those of other folders, and this folder's previous
one. A vector depends only on the model and the text, so no text need be embedded twice on one machine.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

import apsw
from attrs import define, field

from cairn.errors import ModelError
from cairn.index.store.database import DATABASE_NAME, PREVIOUS_NAME, connect_read_only, remove_previous
from cairn.index.store.schema import vectors_table
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import ChunkText, StaticRecipe, VectorStore, Waiting, static_vectors
from cairn.settings.tree import EmbeddingSettings
from cairn.startup.interpreter import trim_memory
from cairn.workspace.collections import FileKind

if TYPE_CHECKING:
    from cairn.embedding.packaged import PackagedModel
    from cairn.embedding.shared import SharedModel
    from cairn.embedding.static import StaticTable


logger = logging.getLogger(__name__)

_MOST = 64
"""The maximum number of other indexes used; looking up a page takes about a millisecond in each."""


class Siblings:
    """The indexes in folders beside `folder` that have vectors of the model. Call `close` after use."""

    def __init__(self, folder: Path, model: str) -> None:
        beside = (path for path in folder.parent.glob(f"*/{DATABASE_NAME}") if path.parent != folder)
        others = sorted(beside, key=_modified, reverse=True)
        paths = (folder / PREVIOUS_NAME, *others[:_MOST])
        self._databases = [opened for path in paths if (opened := _open(path, model))]

    def look_up(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that other indexes have for `keys`: float32 as bytes, by key."""
        missing = set(keys)
        found: dict[bytes, bytes] = {}
        for db, model_id in self._databases:
            if not missing:
                break
            try:
                rows = db.execute(
                    f"""SELECT e.key, v.embedding FROM json_each(?) wanted
                        CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = unhex(wanted.value)
                        CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
                    (json.dumps([key.hex() for key in missing]),),
                ).fetchall()
            except apsw.Error as problem:  # the index is being rebuilt; the texts will be embedded instead
                logger.info("vectors of another index cannot be read: %s", problem)
                continue
            found.update((bytes(cast(bytes, key)), bytes(cast(bytes, vector))) for key, vector in rows)
            missing.difference_update(found)
        return found

    def close(self) -> None:
        for db, _ in self._databases:
            db.close()
        self._databases = []


def _open(path: Path, model: str) -> tuple[apsw.Connection, int] | None:
    """Return a connection to an index and the model's id there; None if it has no vectors of the model."""
    try:
        db = connect_read_only(path)
        model_id = db.execute("SELECT id FROM models WHERE model = ?", (model,)).get
    except apsw.Error:
        return None  # the index is missing, of a version without these tables, or being created
    if model_id is None:
        db.close()
        return None
    return db, int(model_id)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


_PAGE = 512
"""The number of chunks taken from the queue at once. Of these, texts of similar length are embedded together,
because padding takes as much time as text."""
_TEXTS_A_STEP = 4
"""The number of texts embedded between two checks for queries and other work: 50 ms of one core."""
_STATIC_AT_ONCE = 64
"""Up to this many new chunks, such as those of a save, get static vectors immediately; more are queued."""
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

    def take(self) -> list[int]:
        """Remove and return the next page, which is empty if no chunk waits."""
        if self._ids is None:
            self._ids = dict.fromkeys(reversed(by_importance(self.find(), self.open_paths())))
        return [self._ids.popitem()[0] for _ in range(min(_PAGE, len(self._ids)))]

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


@define(eq=False)
class VectorIntake:
    """Makes the model's vectors, on the thread that owns the writer."""

    _writer: IndexWriter
    _models: SharedModel
    _open_paths: Callable[[], Container[str]]
    _on_embedded: Callable[[int, float, int], None]
    """Called after each step with its number of texts, its seconds, and the number of waiting chunks."""
    _on_problem: Callable[[str | None], None]
    """Called with a sentence for the status if the model cannot be used, otherwise with None."""
    _name: str = field(default="", init=False)
    _model_id: int = field(default=0, init=False)
    _siblings: Siblings | None = field(default=None, init=False)
    _store: VectorStore = field(init=False)
    _queue: _ChunkQueue = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._store = VectorStore(self._writer.db)
        self._queue = _ChunkQueue(lambda: self._store.waiting(self._model_id), self._open_paths)

    @property
    def has_model(self) -> bool:
        return self._model_id != 0

    def select_model(self, settings: EmbeddingSettings | None) -> None:
        """Use the installed model from now on, or no model if `settings` is None."""
        model = None
        try:
            model = self._models.installed() if settings else None
            self._on_problem(None)
        except ModelError as problem:
            self._on_problem(str(problem))
        self._close_siblings()  # they were opened for another model
        if model is None or settings is None:
            self._name, self._model_id = "", 0
            self._store.use_no_model()
        else:
            # The token limits are part of the name because they change the vector of a text.
            self._name = f"{model.id}:{settings.code_tokens}/{settings.text_tokens}"
            self._model_id = self._store.use_model(self._name, model.dimension)
        self._queue.restart(is_done=self.has_model and bool(self._writer.facts().embedded))

    def put_first(self, ids: Iterable[int]) -> None:
        """Embed these chunks next, which are new or in opened files, except those that have a vector."""
        if self.has_model and self._queue.is_made:
            self._queue.put_first(self._store.waiting_among(ids, self._model_id))

    def step(
        self, settings: EmbeddingSettings, interrupted: Callable[[], bool], on_step: Callable[[], None]
    ) -> bool:
        """Embed a page of texts, or fewer if `interrupted()`; return false if none is left."""
        if not self.has_model or self._writer.facts().embedded:
            return False
        page = self._queue.take()
        if not page:
            self._finish()
            return False
        texts = self._store.texts(page, self._model_id)
        waiting = {text.chunk_id for text in texts}
        missing = self._from_siblings(texts, waiting)
        try:
            embedder = self._models.embedder() if missing else None
        except ModelError:
            embedder = None
        if missing and embedder is None:
            self.select_model(settings)  # reports the problem and continues without a model
            return False
        for step, max_tokens in _steps(missing, settings):
            if interrupted() or embedder is None:
                self._queue.put_first(text.chunk_id for text in texts if text.chunk_id in waiting)
                return True
            began = time.monotonic()
            vectors = embedder.embed([text.text for text in step], max_tokens)
            done = {text.key for text in step}
            waiting.difference_update(text.chunk_id for text in texts if text.key in done)
            queued = len(self._queue) + len(waiting)
            self._store.store(self._model_id, [text.key for text in step], vectors, queued)
            self._on_embedded(len(step), time.monotonic() - began, queued)
            on_step()
        # A smaller page adds little to the log, and truncating the log waits for the disk.
        if len(page) == _PAGE:
            self._writer.checkpoint()
        return True

    def _from_siblings(self, texts: list[ChunkText], waiting: set[int]) -> list[ChunkText]:
        """Copy vectors from other indexes and remove their chunks from `waiting`; return the other texts."""
        wanted = {text.key: text for text in texts}
        if not wanted:
            return []
        if self._siblings is None:
            self._siblings = Siblings(self._writer.folder, self._name)
        found = self._siblings.look_up(wanted)
        if found:
            import numpy as np

            vectors = np.stack([np.frombuffer(vector, np.float32) for vector in found.values()])
            waiting.difference_update(text.chunk_id for text in texts if text.key in found)
            self._store.store(self._model_id, list(found), vectors, len(self._queue) + len(waiting))
        return [text for key, text in wanted.items() if key not in found]

    def _finish(self) -> None:
        self._on_embedded(0, 0.0, 0)
        self._writer.note(embedded=1, queued=0)
        self._close_siblings()
        remove_previous(self._writer.folder)
        trim_memory()

    def _close_siblings(self) -> None:
        if self._siblings is not None:
            self._siblings.close()
            self._siblings = None


def _steps(texts: list[ChunkText], settings: EmbeddingSettings) -> list[tuple[list[ChunkText], int]]:
    """Return steps of texts of similar length, each with its token limit."""
    steps = []
    for is_code, max_tokens in ((True, settings.code_tokens), (False, settings.text_tokens)):
        alike = sorted((t for t in texts if t.is_code == is_code), key=lambda t: (len(t.text), t.key))
        starts = range(0, len(alike), _TEXTS_A_STEP)
        steps += [(alike[start : start + _TEXTS_A_STEP], max_tokens) for start in starts]
    return steps


class StaticIntake:
    """Makes static vectors, on the thread that owns the writer."""

    def __init__(
        self, writer: IndexWriter, models: SharedModel, open_paths: Callable[[], Container[str]]
    ) -> None:
        self._writer = writer
        self._store = VectorStore(writer.db)
        self._models = models
        self._table: StaticTable | None = None
        self._queue = _ChunkQueue(self._store.without_static, open_paths)

    def announce(self, settings: EmbeddingSettings | None) -> None:
        """Record in the index, before the table is loaded, that it will have static vectors."""
        try:
            model = self._models.packaged() if settings else None
        except ModelError:  # the status reports it
            model = None
        self._use(model, settings)

    def select_table(self, settings: EmbeddingSettings | None) -> None:
        """Use the code model's table from now on, or no table if `settings` is None."""
        self._table = self._models.static_table() if settings else None
        self._use(self._table, settings)
        self._queue.restart(is_done=self._table is not None and bool(self._writer.facts().static))

    def _use(self, table: StaticTable | PackagedModel | None, settings: EmbeddingSettings | None) -> None:
        if table is None or settings is None:
            self._store.use_no_static()
        else:
            # The token limits change the vector of a text.
            embedded = f"{settings.code_tokens}/{settings.text_tokens}"
            self._store.use_static(table.id, table.dimension, embedded)

    def recipe(self, settings: EmbeddingSettings) -> StaticRecipe | None:
        try:
            model = self._models.packaged() if self._writer.facts().has_static else None
        except ModelError:  # the status reports it
            return None
        return StaticRecipe(model.folder, settings) if model else None

    def added(self, ids: list[int], settings: EmbeddingSettings) -> None:
        """Make the missing vectors of new chunks immediately if they are few, otherwise in the next step."""
        if not self._writer.facts().has_static:
            return
        ids = self._store.lacking_static(ids)
        if self._table is not None and len(ids) <= _STATIC_AT_ONCE:
            self._embed(ids, settings)
        else:
            self._queue.put_first(ids)

    def step(self, settings: EmbeddingSettings) -> bool:
        """Make the vectors of a page of chunks; return false if all chunks have one."""
        if self._table is None or self._writer.facts().static:
            return False
        page = self._queue.take()
        if not page:
            self._writer.note(static=1, static_queued=0)
            return False
        self._embed(page, settings)
        return True

    def _embed(self, ids: list[int], settings: EmbeddingSettings) -> None:
        table = self._table
        texts = self._store.texts(ids)
        if table is None or not texts:
            return
        vectors = static_vectors(table, texts, settings)
        queue = self._queue
        queued = len(queue) if queue.is_made else max(0, self._writer.facts().static_queued - len(texts))
        self._store.store_static([text.chunk_id for text in texts], vectors, queued)
