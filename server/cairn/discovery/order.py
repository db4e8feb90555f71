"""The order of equally good chunks, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Iterable

from cairn.protocol.evidence import ScoredChunk


def place(chunk: ScoredChunk) -> tuple[str, str, str, int, str]:
    metadata = chunk.metadata
    return chunk.collection, metadata.folder, metadata.file_path, metadata.chunk_index, chunk.doc_id


def best_first(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Sort by score, highest first, and equal scores by `place`."""
    return sorted(chunks, key=lambda chunk: (-chunk.score, place(chunk)))


def merge(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Sort as `best_first`, with each `doc_id` once, at its best score."""
    merged: dict[str, ScoredChunk] = {}
    for chunk in best_first(chunks):
        merged.setdefault(chunk.doc_id, chunk)
    return list(merged.values())
