"""A chunk as a row of the `chunks` table, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cairn.chunking.model import Chunk, ChunkType

CHUNK_COLUMNS = (
    "position", "start_line", "end_line", "text", "type", "language", "title", "header_path",
    "symbol", "symbol_kind", "parent", "defines", "signature", "comment",
)  # fmt: skip
"""The columns of `chunks` that make up a Chunk, in the order of its fields."""


def chunk_to_row(chunk: Chunk) -> tuple[str | int, ...]:
    """The values of CHUNK_COLUMNS."""
    return (
        chunk.position, chunk.start_line, chunk.end_line, chunk.text, chunk.type.value, chunk.language,
        chunk.title, chunk.header_path, chunk.symbol, chunk.symbol_kind, chunk.parent,
        json.dumps(chunk.defines), chunk.signature, chunk.comment,
    )  # fmt: skip


def chunk_from_row(row: Sequence[object]) -> Chunk:
    """The Chunk that `chunk_to_row` wrote."""
    values = dict(zip(CHUNK_COLUMNS, row, strict=True))
    values["type"] = ChunkType(str(values["type"]))
    values["defines"] = tuple(json.loads(str(values["defines"])))
    return Chunk(**values)  # type: ignore[arg-type]
