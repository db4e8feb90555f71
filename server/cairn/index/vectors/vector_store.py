"""The stored vectors of an index: the model's for each distinct text, and a static one for each chunk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
from attrs import frozen

from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.index.store.meta import raise_generation, set_facts, static_key
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row
from cairn.index.store.schema import (
    STATIC_TABLE,
    create_static_table,
    create_vectors_table,
    static_table_name,
    vectors_table,
)
from cairn.protocol.chunk_type import ChunkType
from cairn.settings.tree import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.embedding.static import StaticTable


_STATIC_IDS = f"{STATIC_TABLE}_rowids"
"""sqlite-vec's table of the ids that have a static vector. Selecting ids from the table of vectors would read
every block."""


@frozen
class ChunkText:
    chunk_id: int
    key: bytes
    text: str
    body: str
    """The code whose skeleton is `text`, or "" for prose. Static vectors are made of both."""
    is_code: bool

    @classmethod
    def of(cls, chunk: Chunk, text: str, chunk_id: int = 0, key: bytes = b"") -> ChunkText:
        """Return the text of a chunk whose embedded text is `text`. An unsaved chunk has no id and no key."""
        is_code = chunk.type is ChunkType.CODE
        return cls(chunk_id, key, text, chunk.text if is_code else "", is_code)


@frozen
class Waiting:
    """A chunk without a vector, and the data that its priority depends on."""

    chunk_id: int
    path: str
    kind: str
    mtime_ns: int


class VectorStore:
    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    # --- the model ---------------------------------------------------------------------------------

    def use_model(self, model: str, dimension: int) -> int:
        """Let searches compare the vectors of `model` from now on; return the model's id."""
        known = self._db.execute("SELECT id FROM models WHERE model = ?", (model,)).get
        if known is None or known != self._current_model():
            with self._db:
                if known is None:
                    self._db.execute("INSERT INTO models(model, dimension) VALUES (?, ?)", (model, dimension))
                    known = self._db.last_insert_rowid()
                    self._db.execute(create_vectors_table(known, dimension))
                self._set_model(int(known))
        return int(known)

    def use_no_model(self) -> None:
        """Let searches compare no vectors of a model; existing vectors are kept."""
        if self._current_model() != 0:
            with self._db:
                self._set_model(0)

    def waiting(self, model_id: int) -> list[Waiting]:
        return self._waiting(_lacks_vector(model_id))

    def waiting_among(self, ids: Iterable[int], model_id: int) -> list[int]:
        """Return the `ids` of chunks whose text has no vector of the model, in the given order."""
        rows = self._db.execute(
            f"""SELECT c.id FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value
                WHERE {_lacks_vector(model_id)} ORDER BY wanted.key""",
            (json.dumps(list(ids)),),
        )
        return [int(row[0]) for row in rows]

    def texts(self, ids: Iterable[int], model_id: int | None = None) -> list[ChunkText]:
        """Return the chunks' embedded texts in order; with `model_id`, only those without its vector."""
        columns = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)
        missing = _lacks_vector(model_id) if model_id is not None else "true"
        rows = self._db.execute(
            f"""SELECT {columns}, c.id, c.embedding_key, f.path, f.collection
                FROM json_each(?) wanted
                CROSS JOIN chunks c ON c.id = wanted.value JOIN files f ON f.id = c.file_id
                WHERE {missing} ORDER BY wanted.key""",
            (json.dumps(list(ids)),),
        )
        found = []
        for *row, chunk_id, key, path, collection in rows:
            chunk = chunk_from_row(row)
            found.append(ChunkText.of(chunk, composite_text(path, collection, chunk), chunk_id, key))
        return found

    def store(self, model_id: int, keys: Sequence[bytes], vectors: NDArray[np.float32], queued: int) -> None:
        """Store float32[n, dimension] for the texts with the n `keys`. `queued` chunks have no vector yet."""
        add_key = "INSERT OR IGNORE INTO embeddings(model_id, key) VALUES (?, ?)"
        add_vector = f"INSERT INTO {vectors_table(model_id)}(rowid, embedding) VALUES (?, ?)"
        with self._db:
            for key, vector in zip(keys, vectors, strict=True):
                # The vector may have been copied from another index meanwhile.
                self._db.execute(add_key, (model_id, key))
                if self._db.changes():
                    self._db.execute(add_vector, (self._db.last_insert_rowid(), vector.tobytes()))
            set_facts(self._db, queued=queued)
            raise_generation(self._db)

    def _waiting(self, condition: str) -> list[Waiting]:
        chunks = "SELECT c.id, f.path, f.kind, f.mtime_ns FROM chunks c JOIN files f ON f.id = c.file_id"
        return [Waiting(*row) for row in self._db.execute(f"{chunks} WHERE {condition}")]

    def _current_model(self) -> int:
        return int(self._db.execute("SELECT value FROM meta WHERE key = 'model_id'").get or 0)

    def _set_model(self, model_id: int) -> None:
        lacking = f"SELECT count(*) FROM chunks c WHERE {_lacks_vector(model_id)}"
        queued = int(self._db.execute(lacking).get or 0) if model_id else 0
        set_facts(self._db, model_id=model_id, embedded=0, queued=queued)
        raise_generation(self._db)

    # --- the static table ---------------------------------------------------------------------------

    def use_static(self, table: str, dimension: int, embedded: str = "") -> None:
        """Use static vectors of `table` with the token limits `embedded`, and drop those made with others."""
        names = {"static_table": static_table_name(table, dimension), "static_text": embedded}
        rows = self._db.execute("SELECT key, value FROM meta WHERE key IN ('static_table', 'static_text')")
        if dict(rows) == names:
            return
        with self._db:
            self._drop_static()
            chunks = int(self._db.execute("SELECT count(*) FROM chunks").get or 0)
            self._db.execute(create_static_table(dimension))
            self._db.execute(
                f"CREATE TRIGGER static_deleted AFTER DELETE ON chunks BEGIN"
                f" DELETE FROM {STATIC_TABLE} WHERE rowid = old.id; END"
            )
            self._db.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", names.items())
            set_facts(self._db, static_dimension=dimension, static_key=static_key(table))
            set_facts(self._db, has_static=1, static_queued=chunks)
            raise_generation(self._db)

    def use_no_static(self) -> None:
        if self._db.execute("SELECT 1 FROM meta WHERE key = 'static_table'").get:
            with self._db:
                self._drop_static()
                raise_generation(self._db)

    def without_static(self) -> list[Waiting]:
        return self._waiting(f"c.id NOT IN (SELECT rowid FROM {_STATIC_IDS})")

    def lacking_static(self, ids: Iterable[int]) -> list[int]:
        """Return the `ids` of chunks without a static vector, in the given order."""
        rows = self._db.execute(
            f"""SELECT value FROM json_each(?)
                WHERE NOT EXISTS (SELECT 1 FROM {_STATIC_IDS} WHERE rowid = value)
                ORDER BY key""",
            (json.dumps(list(ids)),),
        )
        return [int(str(row[0])) for row in rows]

    def store_static(self, ids: Sequence[int], vectors: NDArray[np.int8], queued: int) -> None:
        """Store int8[n, dimension] for the n chunks `ids`. `queued` chunks still have no static vector."""
        with self._db:
            self._db.executemany(
                f"INSERT INTO {STATIC_TABLE}(rowid, embedding) VALUES (?, vec_int8(?))",
                ((chunk_id, vector.tobytes()) for chunk_id, vector in zip(ids, vectors, strict=True)),
            )
            set_facts(self._db, static_queued=queued)
            raise_generation(self._db)

    def _drop_static(self) -> None:
        try:
            self._db.execute(f"DROP TRIGGER IF EXISTS static_deleted; DROP TABLE IF EXISTS {STATIC_TABLE}")
        except apsw.SQLError as problem:
            # sqlite-vec raises this error if the tables below its own are damaged.
            raise apsw.CorruptError(f"the static vectors cannot be removed: {problem}") from problem
        self._db.execute("DELETE FROM meta WHERE key = 'has_static' OR key GLOB 'static*'")


def _lacks_vector(model_id: int) -> str:
    """Return the SQL condition that the row `c` of `chunks` has no vector of the model."""
    own = f"e.model_id = {int(model_id)} AND e.key = c.embedding_key"
    return f"NOT EXISTS (SELECT 1 FROM embeddings e WHERE {own})"


@frozen
class StaticRecipe:
    """The folder of a static table, and the settings that limit the tokens of a text."""

    folder: Path
    settings: EmbeddingSettings

    def vectors(self, chunks: Sequence[Chunk], embedded: Sequence[str]) -> list[bytes]:
        """Return each chunk's vector, int8[dimension] as bytes. The first call loads the table in 20 ms."""
        texts = list(map(ChunkText.of, chunks, embedded))
        return [row.tobytes() for row in static_vectors(_table(self.folder), texts, self.settings)]


def static_vectors(
    table: StaticTable, texts: Sequence[ChunkText], settings: EmbeddingSettings
) -> NDArray[np.int8]:
    """Return the vectors of `texts`, int8[n, dimension]. Those of code are made of skeleton and body."""
    import numpy as np

    vectors = np.empty((len(texts), table.dimension), np.int8)
    for is_code, tokens in ((True, settings.code_tokens), (False, settings.text_tokens)):
        rows = [row for row, text in enumerate(texts) if text.is_code == is_code]
        if rows:
            chosen = [texts[row] for row in rows]
            bodies = [text.body for text in chosen] if is_code else None
            vectors[rows] = table.embed_int8([text.text for text in chosen], tokens, bodies)
    return vectors


@lru_cache(maxsize=1)
def _table(folder: Path) -> StaticTable:
    from cairn.embedding.packaged import load_packaged

    return load_packaged(folder)
