"""Read access to an index: keyword and vector queries, chunks, counts. Safe from many threads at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from pathspec import GitIgnoreSpec

from cairn.chunking.model import Chunk
from cairn.errors import IndexUnavailableError, QueryCancelledError
from cairn.index.database import DATABASE_NAME, open_reader
from cairn.index.rows import CHUNK_COLUMNS, chunk_from_row
from cairn.index.schema import vectors_table

MAX_NEIGHBOURS = 200
"""sqlite-vec's cost grows with the square of k; beyond this it is no longer a search (docs/design.md)."""

_CHECK_EVERY = 1_000
"""SQLite instructions between two looks at the cancel flag: about a hundred rows of a keyword query."""


@frozen
class StoredChunk:
    """A chunk with where it is stored."""

    id: int
    path: str
    kind: str
    collection: str
    chunk: Chunk
    content_hash: str


@frozen
class ChunkFilter:
    """Which chunks may be found; an empty field lets all pass, several values mean any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Gitignore-style globs."""
    collections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.types or self.languages or self.paths or self.collections)


@frozen
class CollectionStats:
    """One collection of the index."""

    name: str
    kind: str
    files: int
    chunks: int
    created_at: str
    updated_at: str


@frozen
class IndexStats:
    """What the index holds at one generation."""

    generation: int = 0
    scanned: bool = False
    """Whether every present file is in it."""
    files_total: int = 0
    files_indexed: int = 0
    chunks: int = 0
    embedded: int = 0
    """Chunks that have a vector of the current model."""
    queued: int = 0
    """Texts without one."""
    model: str = ""
    collections: tuple[CollectionStats, ...] = ()


@frozen
class ColumnWeights:
    """How much a keyword counts in each column of the index."""

    text: float = 1.0
    identifiers: float = 1.0
    path: float = 1.0
    symbol: float = 1.0


@frozen
class Hit:
    """A chunk one leg found; higher is better, comparable within the leg."""

    chunk_id: int
    score: float


@define(eq=False)
class IndexReader:
    """Reads the index in `folder`; while there is none, every answer is empty."""

    folder: Path
    _local: threading.local = field(factory=threading.local, init=False)
    _stats: IndexStats = field(factory=IndexStats, init=False)

    def keywords(
        self, match: str, weights: ColumnWeights, limit: int, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Hit]:
        """The best chunks for the FTS5 expression `match` by BM25, best first."""
        if not match:
            return []
        where, values = self._filter_sql(only)
        with self._query(cancelled) as db:
            if db is None:
                return []
            # `+rowid`: one keyword query whose rows are filtered, not a keyword query for each admitted row.
            rows = db.execute(
                f"""SELECT rowid, -bm25(chunks_fts, {weights.text}, {weights.identifiers}, {weights.path},
                           {weights.symbol}) AS score
                    FROM chunks_fts WHERE chunks_fts MATCH ? {f"AND +rowid IN ({where})" if where else ""}
                    ORDER BY score DESC, rowid LIMIT ?""",
                (match, *values, limit),
            )
            return [Hit(int(row[0]), float(row[1])) for row in rows]

    # CROSS JOIN fixes the order of the tables below; left to itself, SQLite walks all embeddings for a few
    # chunks (55 ms instead of 2 at 2,000 chunks).

    def nearest(
        self,
        vector: NDArray[np.float32],
        model: str,
        limit: int,
        only: ChunkFilter,
        cancelled: Callable[[], bool],
    ) -> list[Hit]:
        """The chunks whose vectors are nearest to `vector`, float32[dimension], by cosine similarity."""
        where, values = self._filter_sql(only)
        with self._query(cancelled) as db:
            if db is None or (model_id := _model_id(db, model)) is None:
                return []
            admitted = (
                f"AND rowid IN (SELECT e.id FROM ({where}) admitted CROSS JOIN chunks c ON c.id = admitted.id"
                f" CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key)"
                if where
                else ""
            )
            rows = db.execute(
                f"""WITH nearest AS (
                        SELECT rowid, distance FROM {vectors_table(model_id)}
                        WHERE embedding MATCH ? AND k = ? {admitted})
                    SELECT c.id, 1.0 - n.distance AS similarity
                    FROM nearest n JOIN embeddings e ON e.id = n.rowid JOIN chunks c ON c.embedding_key = e.key
                    {f"WHERE c.id IN ({where})" if where else ""}
                    ORDER BY similarity DESC, c.id""",
                (
                    _blob(vector),
                    min(limit, MAX_NEIGHBOURS), *values, *values,
                ),
            )  # fmt: skip
            return [Hit(int(row[0]), float(row[1])) for row in rows]

    def similarities(self, ids: Sequence[int], vector: NDArray[np.float32], model: str) -> dict[int, float]:
        """The cosine similarity of these chunks to `vector`; a chunk without a vector is left out."""
        with self._query() as db:
            if db is None or (model_id := _model_id(db, model)) is None:
                return {}
            rows = db.execute(
                f"""SELECT c.id, 1.0 - vec_distance_cosine(v.embedding, ?)
                    FROM json_each(?) i CROSS JOIN chunks c ON c.id = i.value
                    CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = c.embedding_key
                    CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
                (_blob(vector), json.dumps(list(ids))),
            )
            return {int(row[0]): float(row[1]) for row in rows}

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names`; 1 for the very spelling, 0.9 for another case."""
        where, values = self._filter_sql(only)
        with self._query() as db:
            if db is None or not names:
                return []
            rows = db.execute(
                f"""SELECT d.chunk_id, max(iif(d.name = n.value COLLATE BINARY, 1.0, 0.9)) AS score
                    FROM json_each(?) n JOIN definitions d ON d.name = n.value
                    {f"WHERE d.chunk_id IN ({where})" if where else ""}
                    GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",
                (json.dumps(list(names)), *values, limit),
            )
            return [Hit(int(row[0]), float(row[1])) for row in rows]

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """The chunks with these ids; one that is gone is left out."""
        with self._query() as db:
            if db is None:
                return {}
            rows = db.execute(
                f"{_SELECT_CHUNKS} WHERE c.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
            )
            return {chunk.id: chunk for chunk in map(_stored, rows)}

    def around(self, path: str, position: int, window: int) -> list[StoredChunk]:
        """The chunk at `position` of `path` with up to `window` chunks on each side, in file order."""
        with self._query() as db:
            if db is None:
                return []
            rows = db.execute(
                f"{_SELECT_CHUNKS} WHERE f.path = ? AND c.position BETWEEN ? AND ? ORDER BY c.position",
                (path, position - window, position + window),
            )
            return list(map(_stored, rows))

    def page(self, path: str) -> list[StoredChunk]:
        """All chunks of a file in order; empty for a path that is not indexed."""
        with self._query() as db:
            rows = db.execute(f"{_SELECT_CHUNKS} WHERE f.path = ? ORDER BY c.position", (path,)) if db else ()
            return list(map(_stored, rows))

    def generation(self) -> int:
        """Rises with every change of the index; 0 while there is none."""
        return self._meta().get("generation", 0)

    def scanned(self) -> bool:
        """Whether every present file is indexed."""
        return bool(self._meta().get("scanned"))

    def complete(self) -> bool:
        """Whether every present file is indexed and, where there is a model, embedded."""
        meta = self._meta()
        return bool(meta.get("scanned") and (not meta.get("model_id") or meta.get("embedded")))

    def has_vectors(self) -> bool:
        """Whether any text is embedded yet."""
        with self._query() as db:
            return db is not None and bool(db.execute("SELECT EXISTS (SELECT 1 FROM embeddings)").get)

    def _meta(self) -> dict[str, int]:
        with self._query() as db:
            rows = db.execute("SELECT key, value FROM meta") if db else ()
            return {str(row[0]): int(str(row[1])) for row in rows}

    def stats(self) -> IndexStats:
        """Counts, made once a generation."""
        if self._stats.generation != self.generation():
            with self._query() as db:
                self._stats = IndexStats() if db is None else _read_stats(db)
        return self._stats

    def _filter_sql(self, only: ChunkFilter) -> tuple[str, list[str]]:
        """SQL for the ids of the chunks that pass, with its values; "" when all do."""
        if not only:
            return "", []
        conditions: list[str] = []
        values: list[str] = []
        named = (("c.type", only.types), ("c.language", only.languages), ("f.collection", only.collections))
        for column, allowed in named:
            if allowed:
                conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(list(allowed)))
        if only.paths:
            conditions.append("f.id IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(self._files_matching(only.paths)))
        where = " AND ".join(conditions)
        return f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {where}", values

    def _files_matching(self, globs: tuple[str, ...]) -> list[int]:
        spec = GitIgnoreSpec.from_lines(globs)
        with self._query() as db:
            rows = db.execute("SELECT id, path FROM files") if db else ()
            return [int(row[0]) for row in rows if spec.match_file(str(row[1]))]

    @contextmanager
    def _query(self, cancelled: Callable[[], bool] | None = None) -> Iterator[apsw.Connection | None]:
        """The calling thread's connection; a statement running when `cancelled()` turns true is broken off."""
        db = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = open_reader(self.folder / DATABASE_NAME)
        if db is not None and cancelled is not None:
            db.set_progress_handler(cancelled, _CHECK_EVERY)
        try:
            yield db
        except apsw.InterruptError:
            raise QueryCancelledError("The request was cancelled.") from None
        except apsw.Error as problem:
            raise IndexUnavailableError(
                f"The index in {self.folder} cannot be read ({problem}). Restart Cairn; it repairs or rebuilds."
            ) from problem
        finally:
            if db is not None and cancelled is not None:
                db.set_progress_handler(None)


_SELECT_CHUNKS = f"""
    SELECT c.id, f.path, f.kind, f.collection, c.content_hash, {", ".join(f"c.{name}" for name in CHUNK_COLUMNS)}
    FROM chunks c JOIN files f ON f.id = c.file_id"""


def _stored(row: Sequence[object]) -> StoredChunk:
    chunk_id, path, kind, collection, content_hash, *columns = row
    chunk = chunk_from_row(columns)
    return StoredChunk(int(str(chunk_id)), str(path), str(kind), str(collection), chunk, str(content_hash))


def _blob(vector: NDArray[np.float32]) -> bytes:
    """As sqlite-vec reads it: contiguous float32."""
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def _model_id(db: apsw.Connection, model: str) -> int | None:
    found = db.execute("SELECT id FROM models WHERE model = ?", (model,)).get
    return None if found is None else int(found)


def _read_stats(db: apsw.Connection) -> IndexStats:
    with db:  # one snapshot for all counts
        meta = {str(row[0]): row[1] for row in db.execute("SELECT key, value FROM meta")}
        indexed = db.execute("SELECT count(*) FROM files").get
        chunks = db.execute("SELECT count(*) FROM chunks").get
        model = db.execute("SELECT model FROM models WHERE id = ?", (meta.get("model_id", 0),)).get
        has_vector = "EXISTS (SELECT 1 FROM embeddings e WHERE e.model_id = ? AND e.key = c.embedding_key)"
        embedded, queued = next(
            db.execute(
                f"SELECT coalesce(sum({has_vector}), 0), count(DISTINCT iif({has_vector}, NULL, embedding_key))"
                " FROM chunks c",
                (meta.get("model_id", 0), meta.get("model_id", 0)),
            )
        )
        collections = tuple(
            CollectionStats(*row)
            for row in db.execute(
                "SELECT collection, kind, count(DISTINCT f.id), count(c.id), min(indexed_at), max(indexed_at)"
                " FROM files f LEFT JOIN chunks c ON c.file_id = f.id WHERE is_text"
                " GROUP BY collection ORDER BY collection"
            )
        )
    return IndexStats(
        generation=int(meta.get("generation", 0)),
        scanned=bool(meta.get("scanned", 0)),
        files_total=int(meta.get("files_total", 0)),
        files_indexed=int(indexed),
        chunks=int(chunks),
        embedded=int(embedded),
        queued=int(queued),
        model=str(model or ""),
        collections=collections,
    )
