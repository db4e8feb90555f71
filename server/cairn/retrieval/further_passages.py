"""Find further passages of the files in a search result, beside each file's best chunk."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve

from cairn.embedding.static import StaticTable
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked
from cairn.retrieval.window_ranking import Strength, rank_passages
from cairn.retrieval.windows import Passage
from cairn.text.verbatim import lines_of

_LEAST_SHARE = 0.6
"""The minimum score of a further passage, as a share of the best passage's score. A file with only weaker
passages shows its best chunk alone."""
_GAP = 20
"""The maximum number of lines between two passages that are joined; these lines are shown too. With 12, the
share of facts found within 4,000 tokens for 93 questions was 0.03 lower."""
_MOST_LINES = 80
_PASSAGE = 0.08
"""The maximum bonus of a file for its best passage; the score itself is at most 1. For 55 questions about a
tree of 78,000 files it raises the mean reciprocal rank from 0.55 to 0.57; 0.25 raises it to 0.59. The NDCG@10
of the development set is 0.886 with 0.05 and 0.08, 0.883 with 0.1, 0.88 with 0.15."""
_LEAST_SCORE = 1e-6
_CHUNKS_PER_FILE = 2
"""The average number of chunks read for each shown file."""


@define
class FurtherPassage:
    """Lines `[first, last)` of a file, shown beside those of a result."""

    best: Passage
    first: int
    last: int
    text: str = ""


def passages_of_results(
    ranking: Ranking, found: Sequence[Ranked], table: StaticTable | None
) -> tuple[list[Passage], Strength | None]:
    """Return the passages of the found files, best first, and their strength; none if the query is a name."""
    files = {(result.folder, result.stored.path) for result in found}
    if not files or ranking.legs.query.is_symbol:
        return [], None
    return rank_passages(ranking, table, _CHUNKS_PER_FILE * len(files), files)


def by_best_passage(found: Sequence[Ranked], passages: Sequence[Passage]) -> list[Ranked]:
    """Return the results in the order of their scores plus a bonus for each file's best passage. A passage of
    some lines is more precise than a chunk, whose one vector stands for all that the chunk does."""
    if not passages:
        return list(found)
    best: dict[tuple[int, str], float] = {}
    for passage in passages:
        best.setdefault((passage.folder, passage.stored.path), passage.score)
    highest, least = max(passages[0].score, _LEAST_SCORE), passages[-1].score
    worth = [
        result.score + _PASSAGE * best.get((result.folder, result.stored.path), least) / highest
        for result in found
    ]
    order = sorted(range(len(found)), key=lambda place: -worth[place])
    scores = sorted((result.score for result in found), reverse=True)
    return [evolve(found[place], score=score) for place, score in zip(order, scores, strict=True)]


def further_passages(
    ranking: Ranking, ranked: Sequence[Passage], shown: Sequence[Ranked], most: int
) -> list[Sequence[FurtherPassage]]:
    """Return for each result up to `most` passages of its file, best first, without overlaps."""
    files = {(result.folder, result.stored.path): result for result in reversed(shown)}
    ranked = [each for each in ranked if (each.folder, each.stored.path) in files]
    if most <= 0:
        return [()] * len(shown)
    found: dict[tuple[int, str], list[FurtherPassage]] = {file: [] for file in files}
    for passage in ranked:
        if passage.score < _LEAST_SHARE * ranked[0].score:
            break
        file = passage.folder, passage.stored.path
        chunk = files[file].stored.chunk
        _add(found[file], passage, (chunk.start_line, chunk.end_line), most)
    for (folder, path), of_file in found.items():
        found[folder, path] = [each for each in of_file if _read(each, ranking.readers[folder], path)]
    # Only the first result of a file gets the file's further passages.
    return [found.pop((result.folder, result.stored.path), ()) for result in shown]


def best_lines(ranked: Sequence[Passage], shown: Sequence[Ranked]) -> list[tuple[int, int] | None]:
    """Return for each result the lines `[first, last)` shared with its file's best passage, or None."""
    best: list[tuple[int, int] | None] = []
    for result in shown:
        chunk, file = result.stored.chunk, (result.folder, result.stored.path)
        parts = (
            (max(each.first, chunk.start_line), min(each.last, chunk.end_line))
            for each in ranked
            if (each.folder, each.stored.path) == file
        )
        best.append(next(((first, last) for first, last in parts if first < last), None))
    return best


def _add(found: list[FurtherPassage], passage: Passage, shown: tuple[int, int], most: int) -> None:
    """Add the passage to `found`, or join it to near ones. `shown` are the lines of the file's result."""
    first, last = passage.first, passage.last
    if first < shown[1] and shown[0] < last:
        return
    if shown[1] <= first <= shown[1] + _GAP:
        first = shown[1]
    elif shown[0] - _GAP <= last <= shown[0]:
        last = shown[0]
    between = [each for each in found if (each.first >= shown[1]) == (first >= shown[1])]
    near = [each for each in between if first <= each.last + _GAP and each.first - _GAP <= last]
    if not near:
        if len(found) < most:
            found.append(FurtherPassage(passage, first, last))
        return
    first, last = min(first, *(each.first for each in near)), max(last, *(each.last for each in near))
    if last - first <= _MOST_LINES:
        near[0].first, near[0].last = first, last
        for each in near[1:]:
            found.remove(each)


def _read(passage: FurtherPassage, reader: IndexReader, path: str) -> bool:
    """Set the passage's text from the index, trimmed of blank lines. Return False if no text is left."""
    lines: dict[int, str] = {}
    best = passage.best.stored
    is_within = best.chunk.start_line <= passage.first and passage.last <= best.chunk.end_line
    for stored in [best] if is_within else reader.between(path, passage.first, passage.last):
        own = lines_of(stored.chunk.text.removesuffix("\n"))
        lines.update(enumerate(own, stored.chunk.start_line))
    numbers = [n for n in range(passage.first, passage.last) if lines.get(n, "").strip()]
    if numbers:
        passage.first, passage.last = numbers[0], numbers[-1] + 1
        passage.text = "\n".join(lines.get(n, "") for n in range(passage.first, passage.last))
    return bool(numbers)
