"""What stands around results in their files."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.scores import Ranked


def neighbours(
    results: Sequence[Ranked], readers: Sequence[IndexReader], window: int
) -> list[list[StoredChunk]]:
    """For each result, up to `window` chunks before and after it in its file, in file order; one query a folder."""
    around: dict[tuple[int, str, int], list[StoredChunk]] = {}
    for folder in {r.folder for r in results} if window else ():
        places = [(r.stored.path, r.stored.chunk.position) for r in results if r.folder == folder]
        for (path, position), found in readers[folder].neighbours(places, window).items():
            around[folder, path, position] = [other for other in found if other.chunk.position != position]
    return [around.get((r.folder, r.stored.path, r.stored.chunk.position), []) for r in results]
