"""The stored forms of chunks, symbol tables and git history."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from cairn.chunking.model import Chunk
from cairn.chunking.references.symbol_table import SymbolTable
from cairn.index.store.keyword_columns import compound_parts, operator_words, split_words
from cairn.protocol.chunk_types import ChunkType
from cairn.text.unspaced import spread
from cairn.workspace.git_log import Change, Commit

_DESCRIBED = (
    "type", "language", "title", "header_path", "symbol", "symbol_kind", "parent", "defines", "signature",
    "comment",
)  # fmt: skip
CHUNK_COLUMNS = ("position", "start_line", "end_line", "text", *_DESCRIBED)
"""The columns of `chunks` from which a Chunk is made, in the order of its fields."""
IDENTITY_COLUMNS = ("content_hash", *_DESCRIBED)
"""The columns that describe a chunk apart from its place in the file."""


def chunk_to_row(chunk: Chunk) -> tuple[str | int | bytes, ...]:
    """Return the values of CHUNK_COLUMNS."""
    # Compression to 0.41 of the size takes 19 µs a chunk, decompression 5 µs.
    packed = zlib.compress(chunk.text.encode("utf-8", "surrogatepass"))
    return (chunk.position, chunk.start_line, chunk.end_line, packed, *_described(chunk))


def chunk_identity(chunk: Chunk) -> tuple[str | bytes, ...]:
    return (bytes.fromhex(chunk.content_hash), *_described(chunk))


def _described(chunk: Chunk) -> tuple[str, ...]:
    return (
        chunk.type.value, chunk.language, chunk.title, chunk.header_path, chunk.symbol, chunk.symbol_kind,
        chunk.parent, json.dumps(chunk.defines), chunk.signature, chunk.comment,
    )  # fmt: skip


def chunk_from_row(row: Sequence[Any]) -> Chunk:
    """Return the chunk of the values of CHUNK_COLUMNS. A query reads some hundred rows."""
    (
        position, start_line, end_line, packed,
        kind, language, title, header_path, symbol, symbol_kind, parent, defines, signature, comment,
    ) = row  # fmt: skip
    text = text_of(packed)
    names = tuple(json.loads(defines)) if defines != "[]" else ()
    return Chunk(
        position, start_line, end_line, text,
        _TYPES[kind], language, title, header_path, symbol, symbol_kind, parent, names, signature, comment,
    )  # fmt: skip


def text_of(packed: bytes) -> str:
    """Return the text of a chunk from its column `text`."""
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


_TYPES = {kind.value: kind for kind in ChunkType}


@frozen
class ChunkRow:
    """All values that the index stores for a chunk, except ids."""

    columns: tuple[str | int | bytes, ...]
    content_hash: bytes
    keywords: tuple[str, str, str]
    """The text, the parts of its compound names, and the words of its definitions and title."""
    operators: str
    vector: bytes | None = None
    """The static vector, if already computed."""

    @classmethod
    def of(cls, chunk: Chunk, vector: bytes | None = None) -> ChunkRow:
        return cls(
            chunk_to_row(chunk),
            bytes.fromhex(chunk.content_hash),
            (spread(chunk.text), " ".join(compound_parts(chunk.text)), symbol_words(chunk)),
            " ".join(operator_words(chunk.text)),
            vector,
        )

    @property
    def place(self) -> tuple[int, int, int]:
        """The chunk's position, its first line and the line after its last."""
        position, start_line, end_line = self.columns[:3]
        return (int(position), int(start_line), int(end_line))

    @property
    def identity(self) -> tuple[str | bytes, ...]:
        described = self.columns[1 - len(IDENTITY_COLUMNS) :]
        return (self.content_hash, *map(str, described))


def symbol_words(chunk: Chunk) -> str:
    return " ".join(chain.from_iterable(map(split_words, (*chunk.defines, chunk.title))))


@frozen
class PackedSymbols:
    language: str
    packed: bytes
    words: str

    @classmethod
    def of(cls, table: SymbolTable) -> PackedSymbols:
        # Imported here because it needs numpy, and opening an index does not.
        from cairn.chunking.references.packed_table import names_of, pack

        return cls(table.language, pack(table), names_of(table))


COMMITS_IN_BLOCK = 200
_TOUCH = struct.Struct("<IB")
TOUCH_BYTES = _TOUCH.size


def packed_commits(commits: Iterable[Commit]) -> bytes:
    """Return the stored form of a block of commits, whose ids are consecutive."""
    rows = [(c.hash, c.time, c.subject, [(x.path, x.before, x.deleted) for x in c.changes]) for c in commits]
    return zlib.compress(json.dumps(rows).encode())


def unpacked_commits(first: int, packed: bytes) -> Iterator[tuple[int, Commit]]:
    """Yield the commits of a block with their ids, the first of which is `first`."""
    rows = json.loads(zlib.decompress(packed))
    for number, (commit_hash, seconds, subject, changes) in enumerate(rows, first):
        yield number, Commit(commit_hash, seconds, subject, tuple(Change(*each) for each in changes))


def packed_touches(touches: Iterable[tuple[int, int]]) -> bytes:
    """Return the packed pairs (commit id, number of files in it) of the commits of a file, newest first."""
    return b"".join(_TOUCH.pack(number, files) for number, files in touches)


def unpacked_touches(packed: bytes) -> Iterator[tuple[int, int]]:
    """Yield the pairs given to `packed_touches`."""
    yield from _TOUCH.iter_unpack(packed)
