"""In which order chunks get their vectors: what a person is likely to ask about first comes first."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable
from pathlib import PurePosixPath

from cairn.index.vectors.store import Waiting
from cairn.workspace.collections import FileKind

_RECENT_SECONDS = 24 * 3600
"""Edited within a day: what somebody works on now."""
_ENTRY_POINTS = frozenset(
    {"main", "__main__", "__init__", "index", "lib", "mod", "app", "cli", "server", "readme"}
)
"""Stems of files that a project is entered by."""
_BY_KIND = {FileKind.DOCS: 3, FileKind.SOURCE: 4, FileKind.CONFIG: 5, FileKind.EXAMPLES: 6, FileKind.TESTS: 7}


def by_importance(waiting: Iterable[Waiting], open_paths: Container[str]) -> list[int]:
    """The ids of the waiting chunks: open files, recently edited ones, entry points, documents, then the rest.

    Within a class, files that lie shallow come first, and chunks keep their order.
    """
    since = (time.time() - _RECENT_SECONDS) * 1e9
    chunks = list(waiting)
    # After a clone or a checkout every file is new: that tells nothing.
    recent_tells = sum(chunk.mtime_ns > since for chunk in chunks) < len(chunks) / 2

    def rank(chunk: Waiting) -> tuple[int, int, int]:
        path = PurePosixPath(chunk.path)
        if chunk.path in open_paths:
            level = 0
        elif recent_tells and chunk.mtime_ns > since:
            level = 1
        elif path.stem.lower() in _ENTRY_POINTS and chunk.kind in (FileKind.SOURCE, FileKind.DOCS):
            level = 2
        else:
            level = _BY_KIND.get(FileKind(chunk.kind), 4)
        return (level, len(path.parts), chunk.chunk_id)

    return [chunk.chunk_id for chunk in sorted(chunks, key=rank)]
