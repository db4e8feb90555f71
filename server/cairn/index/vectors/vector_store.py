"""The vectors of chunks: how they are made of texts, also in another process, and how they are stored."""

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
from cairn.index.store.schema import STATIC_TABLE, create_static_table, static_table_name
from cairn.protocol.chunk_types import ChunkType
from cairn.settings.tree import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.embedding.shared import TextEncoder
    from cairn.embedding.static import StaticTable


_STATIC_IDS = f"{STATIC_TABLE}_rowids"
"""sqlite-vec's table of the ids that have a static vector. Selecting ids from the table of vectors would read
every block."""


@frozen
class ChunkText:
    chunk_id: int
    text: str
    body: str
    """The code whose skeleton is `text`, or "" for prose. Static vectors are made of both."""
    is_code: bool

    @classmethod
    def of(cls, chunk: Chunk, text: str, chunk_id: int = 0) -> ChunkText:
        """Return the text of a chunk whose embedded text is `text`. A chunk that is not stored has no id."""
        is_code = chunk.type is ChunkType.CODE
        return cls(chunk_id, text, chunk.text if is_code else "", is_code)


def static_vectors(
    encoder: TextEncoder, texts: Sequence[ChunkText], settings: EmbeddingSettings
) -> NDArray[np.int8]:
    """Return the vectors of `texts`, int8[n, dimension]. Those of code are made of skeleton and body."""
    import numpy as np

    vectors = np.empty((len(texts), encoder.dimension), np.int8)
    for is_code, tokens in ((True, settings.code_tokens), (False, settings.text_tokens)):
        rows = [row for row, text in enumerate(texts) if text.is_code == is_code]
        if rows:
            chosen = [texts[row] for row in rows]
            bodies = [text.body for text in chosen] if is_code else None
            vectors[rows] = encoder.embed_int8([text.text for text in chosen], tokens, bodies)
    return vectors


@frozen
class StaticRecipe:
    """The recipe of an index's vectors by the code model, which can be sent to another process: the model's
    folder, and the settings that limit the tokens of a text."""

    folder: Path
    settings: EmbeddingSettings

    def vectors(self, chunks: Sequence[Chunk], embedded: Sequence[str]) -> list[bytes]:
        """Return each chunk's vector, int8[dimension] as bytes. The first call loads the table in 20 ms."""
        texts = list(map(ChunkText.of, chunks, embedded))
        return [row.tobytes() for row in static_vectors(_table(self.folder), texts, self.settings)]


@lru_cache(maxsize=1)
def _table(folder: Path) -> StaticTable:
    from cairn.embedding.packaged import load_packaged

    return load_packaged(folder)


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

    def texts(self, ids: Iterable[int]) -> list[ChunkText]:
        """Return the chunks' embedded texts in order."""
        columns = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)
        rows = self._db.execute(
            f"""SELECT {columns}, c.id, f.path, f.collection FROM json_each(?) wanted
                CROSS JOIN chunks c ON c.id = wanted.value JOIN files f ON f.id = c.file_id
                ORDER BY wanted.key""",
            (json.dumps(list(ids)),),
        )
        found = []
        for *row, chunk_id, path, collection in rows:
            chunk = chunk_from_row(row)
            found.append(ChunkText.of(chunk, composite_text(path, collection, chunk), chunk_id))
        return found

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
        chunks = "SELECT c.id, f.path, f.kind, f.mtime_ns FROM chunks c JOIN files f ON f.id = c.file_id"
        rows = self._db.execute(f"{chunks} WHERE c.id NOT IN (SELECT rowid FROM {_STATIC_IDS})")
        return [Waiting(*row) for row in rows]

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
