"""Sorts chunks. Equally good chunks have a fixed order, so that runs are repeatable."""

from __future__ import annotations

from collections.abc import Iterable

from cairn.protocol.evidence import ScoredChunk


def place(chunk: ScoredChunk) -> tuple[str, str, str, int, str]:
    metadata = chunk.metadata
    return chunk.collection, metadata.folder, metadata.file_path, metadata.chunk_index, chunk.doc_id


def best_first(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Return the chunks by score, highest first, and equal scores by `place`."""
    return sorted(chunks, key=lambda chunk: (-chunk.score, place(chunk)))


def merge(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Return the chunks as `best_first` does, but each `doc_id` only once, with its best score."""
    merged: dict[str, ScoredChunk] = {}
    for chunk in best_first(chunks):
        merged.setdefault(chunk.doc_id, chunk)
    return list(merged.values())
