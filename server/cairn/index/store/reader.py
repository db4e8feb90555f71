"""Read access to an index: keyword and vector queries, chunks, counts. Safe from many threads at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import apsw
from attrs import define, evolve, field, frozen

from cairn.chunking.model import Chunk
from cairn.errors import IndexUnavailableError, OutOfTimeError, QueryCancelledError
from cairn.index.store.database import DAMAGE, DATABASE_NAME, file_identity, open_reader
from cairn.index.store.meta import Facts, read_facts
from cairn.index.store.remembered import Remembered
from cairn.index.store.requests import ask_for_check
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row, key_text
from cairn.index.store.schema import STATIC_TABLE, static_cosine, vectors_table
from cairn.index.store.until import Until
from cairn.index.text.exact import Found, Literal, find
from cairn.index.text.vocabulary import Vocabulary, read_vocabulary
from cairn.protocol.chunk_type import ChunkType
from cairn.workspace.ignore_patterns import Selection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.index.vectors.static_matrix import StaticMatrix, StaticRows

T = TypeVar("T")

MAX_NEIGHBOURS = 200
"""sqlite-vec's cost grows with the square of k; beyond this it is no longer a search (docs/design.md)."""

_LOOK_EVERY_S = 0.02
"""How often a thread looks whether another file has taken the index's place: a search asks some thirty times."""

_MOST_OUTLINES = 20_000
"""Outlines kept: 11 MB."""

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
class Outline:
    """What ranking asks of a chunk: all but its text."""

    id: int
    path: str
    kind: str
    position: int
    type: str
    symbol: str
    symbol_kind: str
    names: str
    """The names that it defines, as a JSON list."""

    @property
    def defines(self) -> tuple[str, ...]:
        """Every name defined in the chunk."""
        return tuple(json.loads(self.names))

    @property
    def is_preamble(self) -> bool:
        """Code that defines nothing: a licence, imports."""
        return self.type == ChunkType.CODE and not self.symbol and self.names == "[]"


def outline(stored: StoredChunk) -> Outline:
    """The outline of a chunk that is there as a whole."""
    chunk = stored.chunk
    return Outline(
        stored.id, stored.path, stored.kind, chunk.position, chunk.type.value, chunk.symbol, chunk.symbol_kind,
        json.dumps(chunk.defines),
    )  # fmt: skip


@frozen
class ChunkFilter:
    """Which chunks may be found; an empty field lets all pass, several values mean any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Gitignore-style globs."""
    collections: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths of files whose chunks are not found; they use up nothing of a limit."""

    def __bool__(self) -> bool:
        """Whether anything but hidden files is kept out."""
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

    facts: Facts = field(factory=Facts)
    files_indexed: int = 0
    collections: tuple[CollectionStats, ...] = ()


@frozen
class ColumnWeights:
    """How much a keyword counts in each column of the index."""

    text: float = 1.0
    identifiers: float = 1.0
    symbol: float = 1.0

    @property
    def sql(self) -> str:
        """As arguments of FTS5's bm25."""
        return f"{self.text}, {self.identifiers}, {self.symbol}"


NAMES_ONLY = ColumnWeights(text=0.0, identifiers=0.0, symbol=1.0)


@frozen
class Hit:
    """A chunk one leg found; higher is better, comparable within the leg."""

    chunk_id: int
    score: float
    names: float = 0.0
    """Of a keyword hit, what the names that the chunk defines score alone."""


@define(eq=False)
class IndexMemory:
    """What is remembered of one index, and the connections to it, for all threads and readers of a process."""

    local: threading.local = field(factory=threading.local, init=False)
    """Each thread's connection."""
    vocabulary: Vocabulary = field(factory=Vocabulary, init=False)
    outlines: Remembered[int, Outline] = field(factory=partial(Remembered, _MOST_OUTLINES), init=False)
    matrix: StaticMatrix | None = field(default=None, init=False)
    making_matrix: threading.Lock = field(factory=threading.Lock, init=False)

    def forget_vectors(self) -> None:
        """Free the memory that static vectors take; the next question reads them anew."""
        if self.matrix is not None:
            self.matrix.forget()


@define(eq=False)
class IndexReader:
    """Reads the index in `folder`; while there is none, every answer is empty."""

    folder: Path
    _open: Callable[[], apsw.Connection | None] | None = None
    """How to connect; to the index file in `folder` where nothing is given."""
    _stats: IndexStats = field(factory=IndexStats, init=False)
    memory: IndexMemory = field(factory=IndexMemory, kw_only=True)

    def keywords(
        self, match: str, weights: ColumnWeights, limit: int, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Hit]:
        """The best chunks for the FTS5 expression `match` by BM25, best first."""
        if not match:
            return []
        passes, values = self._passes("+rowid", only)
        with self._query(cancelled) as db:
            if db is None:
                return []
            # `+rowid`: one keyword query whose rows are filtered, not a keyword query for each admitted row.
            rows = db.execute(
                f"""SELECT rowid, -bm25(chunks_fts, {weights.sql}) AS score, -bm25(chunks_fts, {NAMES_ONLY.sql})
                    FROM chunks_fts WHERE chunks_fts MATCH ? AND {passes}
                    ORDER BY score DESC, rowid LIMIT ?""",
                (match, *values, limit),
            )
            return [Hit(int(row[0]), float(row[1]), float(row[2])) for row in rows]

    def containing(
        self,
        literal: str,
        *,
        case: bool,
        word: bool,
        limit: int,
        only: ChunkFilter,
        cancelled: Callable[[], bool],
        deadline_ms: float = float("inf"),
        first: Iterable[int] = (),
    ) -> Found:
        """Chunks in whose text `literal` stands as it is written, `limit` at most besides those of `first`.

        `case` and `word`: whether its case must be the same, and whether it may not be part of a longer word. `first`
        are chunks that pass `only` and are looked at before any other. After `deadline_ms` it answers with what it has.
        """
        until = Until(cancelled, deadline_ms)
        memory = self.memory
        passes, values = self._passes("{column}", only)
        with self._query(until) as db:
            if db is None:
                return Found()

            def vocabulary() -> Vocabulary:
                memory.vocabulary = read_vocabulary(db, memory.vocabulary)
                return memory.vocabulary

            return find(
                db,
                Literal(literal, case, word),
                limit,
                lambda column: (passes.replace("{column}", column), values),
                until,
                vocabulary,
                first,
            )

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
        passes, passing = self._passes("c.id", only)
        with self._query(cancelled) as db:
            if db is None or (model_id := _model_id(db, model)) is None:
                return []
            where, values, spare = self._neighbour_filter(db, only)
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
                    WHERE {passes} ORDER BY similarity DESC, c.id""",
                (_blob(vector), min(limit, MAX_NEIGHBOURS) + spare, *values, *passing),
            )
            hits = [Hit(int(row[0]), float(row[1])) for row in rows]
            return hits[:limit] if spare else hits

    def similarities(self, ids: Sequence[int], vector: NDArray[np.float32], model: str) -> dict[int, float]:
        """The cosine similarity of these chunks to `vector`; a chunk without a vector is left out."""
        from cairn.index.vectors.model_vectors import of_unit_length  # with numpy

        found, vectors = self.vectors(ids, vector.size, model)
        return dict(zip(found, (vectors @ of_unit_length(vector)).tolist(), strict=True))

    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        """Those of these chunks that have a vector of the model, and float32[n, dimension] of unit length."""
        from cairn.index.vectors.model_vectors import chunk_vectors, no_vectors  # with numpy

        with self._query() as db:
            if db is None or (model_id := _model_id(db, model)) is None:
                return [], no_vectors(dimension)
            return chunk_vectors(db, model_id, ids, dimension)

    def key_vectors(self, keys: Iterable[str], dimension: int, model: str) -> dict[str, NDArray[np.float32]]:
        """The vectors, float32[dimension] of unit length, of the texts with these embedding keys that have one."""
        with self._query() as db:
            if db is None or (model_id := _model_id(db, model)) is None:
                return {}
            from cairn.index.vectors.model_vectors import text_vectors  # with numpy

            return text_vectors(db, model_id, keys, dimension)

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Hit]:
        """The chunks whose static vectors are nearest to `vector`, int8[dimension], by cosine similarity."""
        matrix = self._static_rows()
        with self._query(cancelled) as db:
            if db is None or not _has_static(db):
                return []
            if matrix is not None:
                return self._nearest_of(matrix, db, vector, min(limit, MAX_NEIGHBOURS), only, cancelled)
            passes, passing = self._passes("id", only)
            where, values, spare = self._neighbour_filter(db, only)
            rows = db.execute(
                f"""WITH nearest AS MATERIALIZED (
                        SELECT rowid AS id, distance FROM {STATIC_TABLE}
                        WHERE embedding MATCH vec_int8(?) AND k = ? {f"AND rowid IN ({where})" if where else ""})
                    SELECT id, {static_cosine("distance")} FROM nearest WHERE {passes if spare else "true"}
                    ORDER BY distance, id""",
                (vector.tobytes(), min(limit, MAX_NEIGHBOURS) + spare, *values, *(passing if spare else ())),
            )
            hits = [Hit(int(row[0]), float(row[1])) for row in rows]
            return hits[:limit] if spare else hits

    def static_similarities(self, ids: Sequence[int], vector: NDArray[np.int8]) -> dict[int, float]:
        """The cosine similarity of these chunks' static vectors to `vector`; a chunk without one is left out."""
        matrix = self._static_rows()
        with self._query() as db:
            if db is None or not _has_static(db):
                return {}
            if matrix is not None:
                return matrix.similarities(ids, vector)
            rows = db.execute(
                f"""WITH compared AS (
                        SELECT v.rowid AS id, vec_distance_L2(v.embedding, vec_int8(?)) AS distance
                        FROM json_each(?) i CROSS JOIN {STATIC_TABLE} v ON v.rowid = i.value)
                    SELECT id, {static_cosine("distance")} FROM compared""",
                (vector.tobytes(), json.dumps(list(ids))),
            )
            return {int(row[0]): float(row[1]) for row in rows}

    def _static_rows(self) -> StaticRows | None:
        """The static vectors in memory, where that is faster than sqlite-vec.

        Reading them is not broken off: the next question would have to begin anew.
        """
        if self._open is not None:
            return None
        memory = self.memory
        with memory.making_matrix:
            if memory.matrix is None:
                from cairn.index.vectors.static_matrix import (
                    StaticMatrix,
                )  # with numpy: when there is something to compare

                memory.matrix = StaticMatrix()
        with self._query() as db:
            has_rows = db is not None and _has_static(db)
            return memory.matrix.rows(db, self.memory.local.identity) if db is not None and has_rows else None

    def _nearest_of(
        self,
        matrix: StaticRows,
        db: apsw.Connection,
        vector: NDArray[np.int8],
        limit: int,
        only: ChunkFilter,
        cancelled: Callable[[], bool],
    ) -> list[Hit]:
        from cairn.index.vectors.static_matrix import read_ids

        allowed = None
        where, values = self._filter_sql(only)
        if where:
            allowed = matrix.among((where, *values), lambda: read_ids(db, where, values))
        elif only.hidden:
            allowed = matrix.except_for(read_ids(db, _HIDDEN_CHUNKS, [json.dumps(only.hidden)]))
        if cancelled():  # numpy cannot be broken off
            raise _broken_off(cancelled)
        ids, scores = matrix.nearest(vector, limit, allowed)
        return [Hit(*each) for each in zip(ids.tolist(), scores.tolist(), strict=True)]

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names`; 1 for the very spelling, 0.9 for another case."""
        passes, values = self._passes("d.chunk_id", only)
        with self._query() as db:
            if db is None or not names:
                return []
            rows = db.execute(
                f"""SELECT d.chunk_id, max(iif(d.name = n.value COLLATE BINARY, 1.0, 0.9)) AS score
                    FROM json_each(?) n JOIN definitions d ON d.name = n.value
                    WHERE {passes} GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",
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

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        """The outlines of the chunks with these ids; one that is gone is left out."""
        with self._query() as db:
            if db is None:
                return {}
            version = (self._identity_read(), read_facts(db).content)
            return self.memory.outlines.get(version, ids, partial(_read_outlines, db))

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        """Of each of these files up to `per_file` chunks that define something, or else its first ones."""
        passes, values = self._passes("c.id", only)
        with self._query() as db:
            if db is None:
                return []
            rows = db.execute(
                f"""SELECT id FROM (
                        SELECT c.id, row_number() OVER (
                            PARTITION BY c.file_id ORDER BY c.defines = '[]', c.position) AS place
                        FROM json_each(?) wanted CROSS JOIN files f ON f.path = wanted.value
                        JOIN chunks c ON c.file_id = f.id WHERE {passes})
                    WHERE place <= ?""",
                (json.dumps(list(paths)), *values, per_file),
            )
            return [int(row[0]) for row in rows]

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

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        """For each of `places`, path and position of a chunk, up to `window` chunks on each side of it, in file order.

        One query for all: ten places took 0.5 ms where ten queries took 1.3.
        """
        with self._query() as db:
            if db is None:
                return {}
            rows = db.execute(_SELECT_NEIGHBOURS, (json.dumps(list(places)), window))
            found: dict[tuple[str, int], list[StoredChunk]] = {}
            for path, position, *columns in rows:
                found.setdefault((str(path), int(str(position))), []).append(_stored(columns))
            return found

    def page(self, path: str) -> list[StoredChunk]:
        """All chunks of a file in order; empty for a path that is not indexed."""
        with self._query() as db:
            rows = db.execute(f"{_SELECT_CHUNKS} WHERE f.path = ? ORDER BY c.position", (path,)) if db else ()
            return list(map(_stored, rows))

    def contents(self, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The content hash and the collection of those of `paths` that are indexed."""
        with self._query() as db:
            if db is None:
                return {}
            rows = db.execute(
                "SELECT path, content_hash, collection FROM files WHERE path IN (SELECT value FROM json_each(?))",
                (json.dumps(list(paths)),),
            )
            return {str(row[0]): (key_text(row[1]), str(row[2])) for row in rows}

    def has_language(self, language: str) -> bool:
        """Whether a chunk is in the language; looks at all of them."""
        with self._query() as db:
            found = db and db.execute("SELECT 1 FROM chunks WHERE language = ? LIMIT 1", (language,)).get
            return found is not None

    def read(
        self, ask: Callable[[apsw.Connection], T], cancelled: Callable[[], bool] | None = None
    ) -> T | None:
        """What `ask` reads through the calling thread's connection; None while there is no index."""
        with self._query(cancelled) as db:
            return None if db is None else ask(db)

    def identity(self) -> object:
        """Which index this is: differs once another one has taken its place, whose generations start anew."""
        return file_identity(self.folder / DATABASE_NAME)

    def facts(self) -> Facts:
        """The facts about the index as they are now; all zero while there is none."""
        with self._query() as db:
            return read_facts(db) if db else Facts()

    def generation(self) -> int:
        """Rises with every change of the index; 0 while there is none."""
        return self.facts().generation

    def scanned(self) -> bool:
        """Whether every present file is indexed."""
        return bool(self.facts().scanned)

    def complete(self) -> bool:
        """Whether every present file is indexed and, where there is a model, embedded."""
        return self.facts().complete

    def has_requests(self) -> bool:
        """Whether something that was asked of the writing process still waits."""
        with self._query() as db:
            return db is not None and bool(db.execute("SELECT EXISTS (SELECT 1 FROM requests)").get)

    def stats(self) -> IndexStats:
        """The facts, with counts that are made anew only when files or chunks changed."""
        known = self._stats
        facts = self.facts()
        if known.facts.content != facts.content:
            with self._query() as db:
                known = IndexStats() if db is None else _read_stats(db)
        self._stats = evolve(known, facts=facts)
        return self._stats

    def _filter_sql(self, only: ChunkFilter) -> tuple[str, list[str]]:
        """SQL for the ids of the chunks that pass, with its values; "" where none but hidden files are kept out."""
        return self._admitted_sql(only) if only else ("", [])

    def _passes(self, column: str, only: ChunkFilter) -> tuple[str, list[str]]:
        """A condition for chunks to pass, on the column that holds their ids, with its values."""
        where, values = self._filter_sql(only)
        if where:
            return f"{column} IN ({where})", values
        if not only.hidden:
            return "true", []
        # Cheaper than listing all others: of 60,000 chunks that would take as long as the query itself.
        return f"{column} NOT IN ({_HIDDEN_CHUNKS})", [json.dumps(only.hidden)]

    def _neighbour_filter(self, db: apsw.Connection, only: ChunkFilter) -> tuple[str, list[str], int]:
        """As `_filter_sql`; or, where a few chunks are hidden, how many more neighbours to ask for instead.

        Beyond MAX_NEIGHBOURS more, listing the chunks that pass was measured to be faster (60,000 chunks).
        """
        where, values = self._filter_sql(only)
        if where or not only.hidden:
            return where, values, 0
        hidden = int(db.execute(f"SELECT count(*) FROM ({_HIDDEN_CHUNKS})", (json.dumps(only.hidden),)).get)
        return ("", [], hidden) if hidden <= MAX_NEIGHBOURS else (*self._admitted_sql(only), 0)

    def _admitted_sql(self, only: ChunkFilter) -> tuple[str, list[str]]:
        """SQL for the ids of the chunks that pass, with its values."""
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
        if only.hidden:
            conditions.append("f.path NOT IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(only.hidden))
        where = " AND ".join(conditions)
        return f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {where}", values

    def _files_matching(self, globs: tuple[str, ...]) -> list[int]:
        wanted = Selection(globs)
        with self._query() as db:
            rows = db.execute("SELECT id, path FROM files") if db else ()
            return [int(row[0]) for row in rows if wanted.names(str(row[1]))]

    def _connection(self) -> apsw.Connection | None:
        """The calling thread's connection, a new one when the file is no longer what it was opened as."""
        local = self.memory.local
        if self._open is not None:
            if getattr(local, "db", None) is None:
                local.db = self._open()
            return cast("apsw.Connection | None", local.db)
        now = time.monotonic()
        if getattr(local, "db", None) is None or now >= local.looked + _LOOK_EVERY_S:
            path = self.folder / DATABASE_NAME
            identity = file_identity(path)
            if getattr(local, "db", None) is None or local.identity != identity:
                local.db, local.identity = open_reader(path), identity
            local.looked = now
        return cast("apsw.Connection | None", local.db)

    def _identity_read(self) -> object:
        """Of the index that the calling thread's connection reads."""
        return getattr(self.memory.local, "identity", None)

    @contextmanager
    def _query(self, cancelled: Callable[[], bool] | None = None) -> Iterator[apsw.Connection | None]:
        """The calling thread's connection; a statement running when `cancelled()` turns true is broken off.

        Raises QueryCancelledError then, or OutOfTimeError where it is an Until and only its time was over.
        """
        db = self._connection()
        if db is not None and cancelled is not None:
            db.set_progress_handler(cancelled, _CHECK_EVERY)
        try:
            yield db
        except apsw.InterruptError:
            raise _broken_off(cancelled) from None
        except DAMAGE as problem:
            if self._open is None:
                ask_for_check(self.folder)
            raise IndexUnavailableError(
                f"The index in {self.folder} is damaged ({problem}). It is made anew once Cairn indexes the folder."
            ) from problem
        except apsw.Error as problem:
            raise IndexUnavailableError(
                f"The index in {self.folder} cannot be read ({problem}). Try again; if it stays so, restart Cairn."
            ) from problem
        finally:
            if db is not None and cancelled is not None:
                db.set_progress_handler(None)


_STORED_COLUMNS = f"""c.id, f.path, f.kind, f.collection, c.content_hash,
    {", ".join(f"c.{name}" for name in CHUNK_COLUMNS)}"""

_SELECT_CHUNKS = f"SELECT {_STORED_COLUMNS} FROM chunks c JOIN files f ON f.id = c.file_id"

_SELECT_NEIGHBOURS = f"""
    WITH places AS (
        SELECT key, json_extract(value, '$[0]') AS path, json_extract(value, '$[1]') AS position FROM json_each(?1))
    SELECT p.path, p.position, {_STORED_COLUMNS}
    FROM places p CROSS JOIN files f ON f.path = p.path
    CROSS JOIN chunks c ON c.file_id = f.id AND c.position BETWEEN p.position - ?2 AND p.position + ?2
    WHERE c.position <> p.position ORDER BY p.key, c.position"""

_HIDDEN_CHUNKS = (
    "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
    " WHERE f.path IN (SELECT value FROM json_each(?))"
)


def _broken_off(cancelled: Callable[[], bool] | None) -> OutOfTimeError | QueryCancelledError:
    if isinstance(cancelled, Until) and cancelled.is_over and not cancelled.cancelled():
        return OutOfTimeError("The query was broken off, as its time was over.")
    return QueryCancelledError("The request was cancelled.")


def _read_outlines(db: apsw.Connection, ids: Sequence[int]) -> dict[int, Outline]:
    rows = db.execute(
        """SELECT c.id, f.path, f.kind, c.position, c.type, c.symbol, c.symbol_kind, c.defines
           FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value JOIN files f ON f.id = c.file_id""",
        (json.dumps(list(ids)),),
    )
    return {outline.id: outline for outline in starmap(Outline, rows)}


def _stored(row: Sequence[object]) -> StoredChunk:
    chunk_id, path, kind, collection, content_hash, *columns = row
    chunk = chunk_from_row(columns)
    return StoredChunk(
        int(str(chunk_id)), str(path), str(kind), str(collection), chunk, key_text(content_hash)
    )


def _blob(vector: NDArray[np.float32]) -> bytes:
    """As sqlite-vec reads it: contiguous float32."""
    return vector.astype("float32", copy=False).tobytes()


def _model_id(db: apsw.Connection, model: str) -> int | None:
    # A model's vectors are kept apart by how much of a text was embedded; those in use now come first.
    found = db.execute(
        "SELECT id FROM models WHERE model = ?1 OR substr(model, 1, length(?1) + 1) = ?1 || ':'"
        " ORDER BY id = (SELECT value FROM meta WHERE key = 'model_id') DESC LIMIT 1",
        (model,),
    ).get
    return None if found is None else int(found)


def _has_static(db: apsw.Connection) -> bool:
    return bool(read_facts(db).has_static)


def _read_stats(db: apsw.Connection) -> IndexStats:
    rows = db.execute(
        "SELECT collection, min(kind), count(*), sum(chunks), min(indexed_at), max(indexed_at)"
        " FROM files WHERE is_text GROUP BY collection ORDER BY collection"
    )
    collections = tuple(CollectionStats(*row) for row in rows)
    indexed = int(db.execute("SELECT count(*) FROM files").get or 0)
    return IndexStats(files_indexed=indexed, collections=collections)
