"""Records that readers return: chunks, their outlines, hits and counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from attrs import field, frozen

from cairn.chunking.model import Chunk
from cairn.index.store.meta import Facts
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row
from cairn.protocol.chunk_types import ChunkType


@frozen
class StoredChunk:
    id: int
    path: str
    kind: str
    collection: str
    chunk: Chunk
    content_hash: str


STORED_COLUMNS = f"""c.id, f.path, f.kind, f.collection, lower(hex(c.content_hash)),
    {", ".join(f"c.{name}" for name in CHUNK_COLUMNS)}"""
"""The columns of chunks `c` and files `f` that `stored_chunk` reads."""


def stored_chunk(row: Sequence[Any]) -> StoredChunk:
    chunk_id, path, kind, collection, content_hash, *columns = row
    return StoredChunk(chunk_id, path, kind, collection, chunk_from_row(columns), content_hash)


class Outline(NamedTuple):
    """The properties of a chunk that ranking reads. A tuple is created much faster than an attrs object."""

    id: int
    path: str
    kind: str
    position: int
    type: str
    symbol: str
    symbol_kind: str
    names: str
    """The names that the chunk defines, as a JSON list."""
    parent: str
    has_signature: bool

    @property
    def defines(self) -> tuple[str, ...]:
        return tuple(json.loads(self.names))

    @property
    def is_preamble(self) -> bool:
        """Whether the chunk is code that defines nothing, such as a licence or imports."""
        return self.type == ChunkType.CODE and self.names == "[]" and not (self.symbol or self.parent)


def outline(stored: StoredChunk) -> Outline:
    chunk = stored.chunk
    return Outline(
        stored.id, stored.path, stored.kind, chunk.position, chunk.type.value, chunk.symbol,
        chunk.symbol_kind, json.dumps(chunk.defines), chunk.parent, bool(chunk.signature),
    )  # fmt: skip


@frozen
class CollectionStats:
    name: str
    kind: str
    files: int
    chunks: int
    created_at: str
    updated_at: str


@frozen
class LanguageStats:
    """The numbers of files and chunks of a collection that a filter by this language finds."""

    collection: str
    language: str
    """Empty for text in an unknown language."""
    files: int
    """The number of files with a chunk in the language. A page with Python examples also counts as Python."""
    chunks: int


@frozen
class IndexStats:
    facts: Facts = field(factory=Facts)
    files_indexed: int = 0
    collections: tuple[CollectionStats, ...] = ()


@frozen
class ColumnWeights:
    """The weight of a keyword match in each column of the index."""

    text: float = 1.0
    identifiers: float = 1.0
    symbol: float = 1.0

    @property
    def sql(self) -> str:
        return f"{self.text}, {self.identifiers}, {self.symbol}"


@frozen
class Hit:
    """A chunk that one leg of a search found, such as the keywords. Higher scores are better and are
    comparable within the leg."""

    chunk_id: int
    score: float


@frozen
class FoundName:
    """A name and a chunk that defines it. Several chunks may define the same name."""

    chunk_id: int
    path: str
    name: str


@frozen
class KeywordCounts:
    rows: int = 0
    matching: Mapping[str, int] = field(factory=dict)
    """The number of rows that match each word or FTS5 expression. Counting stops at a bound."""
