"""Made-up files, vectors and models for tests of the index."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import content_key
from cairn.embedding.onnx_model import Description, OnnxModel
from cairn.embedding.packaged import PackagedModel
from cairn.embedding.shared import SharedModel, TextEncoder
from cairn.embedding.static import StaticTable, entry_type, to_int8
from cairn.embedding.word_pieces import WordPieces
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import FileRecord, IndexedFile
from cairn.settings.tree import EmbeddingSettings
from cairn.workspace.collections import file_kind

DIMENSION = 4


def indexed(path: str, text: str, mtime_ns: int = 0) -> IndexedFile:
    """Return a file as an intake gives it to the writer."""
    record = FileRecord(path, len(text), mtime_ns, content_key(text), f"project-{file_kind(path)}")
    return IndexedFile(record, file_kind(path), True, tuple(chunk_text(path, text)))


def functions(path: str, count: int, word: str = "ship") -> IndexedFile:
    """Return a source file of `count` chunks."""
    body = "".join(f"    {word}_{line} = rope_{line} + anchor_{line}\n" for line in range(40))
    return indexed(path, "\n\n".join(f"def {word}_{number}():\n{body}" for number in range(count)))


def made_up(text: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return a unit vector that depends only on the text."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])
    vector = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def small_table(table_id: str = "small", dimension: int = 8) -> StaticTable:
    """Return a static table of a few words."""
    words = ["harbour", "ship", "rope", "anchor", "tide"]
    entries = np.zeros(len(words), entry_type(dimension))
    entries["scale"] = entries["query_scale"] = 1 / 127
    entries["vector"][np.arange(len(words)), np.arange(len(words))] = 127
    return StaticTable(table_id, entries, WordPieces(words))


class MadeUpModels(SharedModel):
    """A user's own model of made-up vectors, which records the texts, and a table; None if there is none."""

    def __init__(self, name: str | None = "m", table: StaticTable | None = None) -> None:
        super().__init__(EmbeddingSettings())
        self.name = name
        self.table = table
        self.embedded: list[str] = []
        """Every text that the model embedded."""

    def packaged(self) -> PackagedModel | None:
        return None

    def static_table(self) -> StaticTable | None:
        return self.table

    def own(self) -> OnnxModel | None:
        name = self.name
        return OnnxModel(Path(), Description(name, DIMENSION), f"{name}@1") if name else None

    def encoder(self) -> TextEncoder | None:
        return MadeUpEncoder(self, f"{self.name}@1") if self.name else self.table


@frozen
class MadeUpEncoder:
    """Makes vectors that depend only on the texts."""

    models: MadeUpModels
    id: str
    dimension: int = DIMENSION

    def embed_int8(
        self, texts: Sequence[str], max_tokens: int, bodies: Sequence[str] | None = None
    ) -> NDArray[np.int8]:
        self.models.embedded += texts
        return to_int8(self.embed_queries(texts))

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([made_up(text) for text in texts])

    def embed_queries_int8(self, texts: Sequence[str]) -> NDArray[np.int8]:
        return to_int8(self.embed_queries(texts))


def numbers(db: apsw.Connection, sql: str) -> list[int]:
    """Return the first column."""
    return [int(str(row[0])) for row in db.execute(sql)]


def violated_invariants(db: apsw.Connection, facts_chunks: int) -> list[str]:
    """Return the invariants that the tables of an index violate."""

    def ids(sql: str) -> set[int]:
        return set(numbers(db, sql))

    chunks = ids("SELECT id FROM chunks")
    has_static = db.execute("SELECT value FROM meta WHERE key = 'has_static'").get
    counted = db.execute("SELECT coalesce(sum(chunks), 0) FROM files").get
    invariants = {
        "the fact counts the chunks": len(chunks) == facts_chunks,
        "files count their chunks": counted == len(chunks),
        "each chunk has its keywords": ids("SELECT id FROM chunks_fts_docsize") == chunks,
        "definitions are of chunks": ids("SELECT chunk_id FROM definitions") <= chunks,
        "vectors are of chunks": not has_static or ids(f"SELECT rowid FROM {STATIC_TABLE}") <= chunks,
        "the keyword index is sound": _is_sound(db),
    }
    return [invariant for invariant, holds in invariants.items() if not holds]


def _is_sound(db: apsw.Connection) -> bool:
    try:
        db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')")
    except apsw.CorruptError:
        return False
    return True


_TOUCH = struct.Struct("<IB")


@frozen
class StoredTouch:
    """An indexed commit that touched a file."""

    subject: str
    time: int
    """Unix seconds."""
    files: int
    """Number of files that the commit touched."""


def file_touches(db: apsw.Connection, paths: Iterable[str]) -> dict[str, list[StoredTouch]]:
    """Return the commits that touched each of these files, also under earlier names, newest first."""
    with db:  # one snapshot of the index
        commits = {
            number: (subject, time)
            for first, packed in db.execute("SELECT first, packed FROM commits")
            for number, (_, time, subject, _) in enumerate(json.loads(zlib.decompress(packed)), first)
        }
        found = {}
        for path in paths:
            packed = db.execute("SELECT touches FROM file_history WHERE path = ?", (path,)).get
            if packed is not None:
                found[path] = [StoredTouch(*commits[n], files) for n, files in _TOUCH.iter_unpack(packed)]
    return found
