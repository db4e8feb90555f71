"""The one order in which equally good chunks stand, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Iterable

from cairn.protocol.evidence import ScoredChunk


def place(chunk: ScoredChunk) -> tuple[str, str, str, int, str]:
    """Where a chunk stands: collection, folder, path, position in the file, identity."""
    metadata = chunk.metadata
    return chunk.collection, metadata.folder, metadata.file_path, metadata.chunk_index, chunk.doc_id


def best_first(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """By score, highest first; equals by `place`."""
    return sorted(chunks, key=lambda chunk: (-chunk.score, place(chunk)))


def merge(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """`best_first`, each `doc_id` once, with the best score it was found with."""
    merged: dict[str, ScoredChunk] = {}
    for chunk in best_first(chunks):
        merged.setdefault(chunk.doc_id, chunk)
    return list(merged.values())
