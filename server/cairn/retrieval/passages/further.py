"""Further passages of files that a search shows: where the best chunk of a file is not all that answers."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from cairn.embedding.static import StaticTable
from cairn.retrieval.passages.ranking import Passage, passages
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked
from cairn.text.verbatim import lines_of

_LEAST_SHARE = 0.6
"""Of the best passage's score. A file whose other passages score less is shown by its best chunk alone."""
_CHUNKS_PER_FILE = 4
"""Chunks of each shown file, about, that are read for it."""


def further_passages(
    ranking: Ranking, shown: Sequence[Ranked], most: int, table: StaticTable | None
) -> list[tuple[Passage, ...]]:
    """For each of the results up to `most` further passages of its file, best first; none overlaps another or the result."""
    files = {(result.folder, result.stored.path) for result in shown}
    if most <= 0 or not shown or ranking.legs.query.is_symbol:
        return [()] * len(shown)
    ranked = passages(ranking, table, _CHUNKS_PER_FILE * len(files), files)
    found: dict[tuple[int, str], list[Passage]] = {file: [] for file in files}
    taken = {(r.folder, r.stored.path): [(r.stored.chunk.start_line, r.stored.chunk.end_line)] for r in shown}
    for passage in ranked:
        if passage.score < _LEAST_SHARE * ranked[0].score:
            break
        file = passage.folder, passage.stored.path
        if any(passage.first < last and first < passage.last for first, last in taken[file]):
            continue
        taken[file].append((passage.first, passage.last))
        if not _joined(found[file], passage) and len(found[file]) < most:
            found[file].append(passage)
    # A file that has several results has further passages beside the first.
    return [tuple(found.pop((result.folder, result.stored.path), ())) for result in shown]


def _joined(found: list[Passage], passage: Passage) -> bool:
    """Whether the passage continues one of its chunk that was found, which then holds both."""
    for place, other in enumerate(found):
        if other.stored.id == passage.stored.id and (
            other.last == passage.first or passage.last == other.first
        ):
            found[place] = evolve(
                other, first=min(other.first, passage.first), last=max(other.last, passage.last)
            )
            return True
    return False


def text_of(passage: Passage) -> str:
    """The passage's lines, as the index has them."""
    start = passage.stored.chunk.start_line
    lines = lines_of(passage.stored.chunk.text.removesuffix("\n"))
    return "\n".join(lines[passage.first - start : passage.last - start])
