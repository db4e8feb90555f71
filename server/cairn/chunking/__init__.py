"""Text as chunks: code by syntax, documents by headings, everything else by lines."""

from __future__ import annotations

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk, ChunkType

__all__ = ["Chunk", "ChunkType", "chunk_text", "composite_text"]
