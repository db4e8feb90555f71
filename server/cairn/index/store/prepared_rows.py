"""Rows of chunks and symbol tables. The writer or a worker process computes them without the index."""

from __future__ import annotations

from itertools import chain

from attrs import frozen

from cairn.chunking.model import Chunk, content_key
from cairn.chunking.references.symbol_table import SymbolTable
from cairn.index.store.keyword_columns import compound_parts, operator_words, split_words
from cairn.index.store.rows import IDENTITY_COLUMNS, chunk_to_row


@frozen
class ChunkRow:
    """All values that the index stores for a chunk, except ids."""

    columns: tuple[str | int | bytes, ...]
    hashes: tuple[bytes, bytes]
    keywords: tuple[str, str, str]
    """The text, the parts of its compound names, and the words of its definitions and title."""
    operators: str
    vector: bytes | None = None
    """The static vector, if already computed."""

    @classmethod
    def of(cls, chunk: Chunk, embedded: str, vector: bytes | None = None) -> ChunkRow:
        """Return the row of a chunk whose embedded text is `embedded`."""
        embedding_key = content_key(embedded)
        return cls(
            chunk_to_row(chunk),
            (bytes.fromhex(chunk.content_hash), bytes.fromhex(embedding_key)),
            (chunk.text, " ".join(compound_parts(chunk.text)), symbol_words(chunk)),
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
        return (self.hashes[0], *map(str, described))


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
