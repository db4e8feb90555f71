"""Results related to a line of a file, and the lines that they select."""

from __future__ import annotations

from collections.abc import Collection

from tests.retrieval.indexed_folder import IndexedFolder

from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, TEST, USED
from cairn.retrieval.related_chunks import (
    DEFINES,
    EXPLAINS,
    FILE_WEIGHTS,
    SIMILAR,
    TWIN,
    USES,
    ChunkRange,
    relate,
)
from cairn.retrieval.related_lines import with_lines
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked

EVERY_RELATION = frozenset(FILE_WEIGHTS) | {
    CALLER, CALLEE, IMPLEMENTATION, TEST, USED, DEFINES, EXPLAINS, TWIN, USES, SIMILAR,
}  # fmt: skip
"""With these as the wanted relations, the results are all that was found, however unsure."""


def related_to_line(
    folder: IndexedFolder, path: str, line: int, wanted: Collection[str] = (), limit: int = 10
) -> list[Ranked]:
    chunks = tuple(folder.reader.between(path, line, line + 1))
    passage = ChunkRange(0, path, chunks, focus=range(line, line + 1))
    relations = relate([folder.reader], passage, thorough=bool(wanted))
    ranked = rank_related(relations.found, passage, limit, frozenset(wanted))
    return with_lines(ranked, relations, None)


def selected(result: Ranked) -> str:
    """Return the selected lines of the chunk."""
    assert result.lines is not None
    chunk, (first, last) = result.stored.chunk, result.lines
    assert chunk.start_line <= first < last <= chunk.end_line
    return "\n".join(chunk.text.splitlines()[first - chunk.start_line : last - chunk.start_line])
