"""What is written for a chunk and for a file's symbols, computed without the index: by the writer, or ahead of it by a worker."""

from __future__ import annotations

from itertools import chain

from attrs import frozen

from cairn.chunking.model import Chunk, content_key
from cairn.chunking.references.model import SymbolTable
from cairn.index.store.keyword_columns import compound_parts, operator_words, split_words
from cairn.index.store.rows import IDENTITY_COLUMNS, chunk_to_row


@frozen
class ChunkRow:
    """All values that the index keeps of a chunk, but for ids."""

    columns: tuple[str | int | bytes, ...]
    """Those of CHUNK_COLUMNS."""
    hashes: tuple[bytes, bytes]
    """The text's digest, and that of what is embedded."""
    keywords: tuple[str, str, str]
    """The text, the parts of its compound names, and the words of what it defines."""
    operators: str
    vector: bytes | None = None
    """Its static vector, where that was made with it."""

    @classmethod
    def of(cls, chunk: Chunk, embedded: str, vector: bytes | None = None) -> ChunkRow:
        """That of a chunk, of which the text `embedded` is embedded."""
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
        """Position, first line and the line after the last."""
        position, start_line, end_line = self.columns[:3]
        return (int(position), int(start_line), int(end_line))

    @property
    def identity(self) -> tuple[str | bytes, ...]:
        """The values of IDENTITY_COLUMNS."""
        described = self.columns[1 - len(IDENTITY_COLUMNS) :]
        return (self.hashes[0], *map(str, described))


def symbol_words(chunk: Chunk) -> str:
    """The words of what a chunk defines, and of its title."""
    return " ".join(chain.from_iterable(map(split_words, (*chunk.defines, chunk.title))))


@frozen
class PackedSymbols:
    """A file's symbol table as it is stored."""

    language: str
    packed: bytes
    words: str

    @classmethod
    def of(cls, table: SymbolTable) -> PackedSymbols:
        """The table, packed."""
        # Imported here: it needs numpy, which opening an index does without.
        from cairn.chunking.references.packing import names_of, pack

        return cls(table.language, pack(table), names_of(table))
