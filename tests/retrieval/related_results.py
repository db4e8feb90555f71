"""Results related to a line of a file, and the lines that they select."""

from __future__ import annotations

from tests.retrieval.indexed_folder import IndexedFolder

from cairn.retrieval.related_chunks import ChunkRange, relate
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.related_lines import with_lines
from cairn.retrieval.scores import Ranked


def related_to_line(folder: IndexedFolder, path: str, line: int) -> list[Ranked]:
    chunks = tuple(folder.reader.between(path, line, line + 1))
    passage = ChunkRange(0, path, chunks, focus=range(line, line + 1))
    relations = relate([folder.reader], passage)
    return with_lines(rank_related(relations.found, passage, 10), relations, None)


def selected(result: Ranked) -> str:
    """Return the selected lines of the chunk."""
    assert result.lines is not None
    chunk, (first, last) = result.stored.chunk, result.lines
    assert chunk.start_line <= first < last <= chunk.end_line
    return "\n".join(chunk.text.splitlines()[first - chunk.start_line : last - chunk.start_line])
