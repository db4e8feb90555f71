"""What ranking ranks: the files that legs found something in, with the chunks found and all that is known of either."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from cairn.index.file_queries import FileFacts, file_facts
from cairn.index.reader import ChunkFilter, IndexReader, Outline
from cairn.retrieval.legs import Pool

_FEWEST_COMPARED = 10
"""Fewer chunks that have both kinds of vectors say nothing of how one goes with the other."""
_CHUNKS_OF_A_FILE = 6
"""Of a file that was found as a whole, by its path or its commits: chunks that may be shown for it."""


@frozen
class Candidate:
    """A chunk that at least one leg found, with what the legs say of it (0 where a leg does not know it)."""

    outline: Outline
    keyword: float = 0.0
    """BM25 over all columns."""
    definition: float = 0.0
    """BM25 over the names it defines."""
    symbol: float = 0.0
    """How well it defines the very name that was asked for, 1 at most."""
    similarity: float = 0.0
    """Cosine to the query's vector, 0 to 1."""
    exact: float = 0.0
    """How well it holds the very text that was asked for, 1 at most."""
    legs: frozenset[str] = frozenset()


@frozen
class FileCandidate:
    """A file with its candidate chunks."""

    folder: int
    """Which of the searched folders it is from."""
    path: str
    kind: str
    chunks: tuple[Candidate, ...]
    subjects: float = 0.0
    """BM25 over the subjects of the commits that touched it, as a share of what is possible."""
    facts: FileFacts = field(factory=FileFacts)
    is_named: bool = False
    """Whether the question names it, or a folder of it, by its path."""


Outlines = dict[int, Outline]


def whole_files(readers: Sequence[IndexReader], pools: Sequence[Pool], only: ChunkFilter) -> list[Outlines]:
    """The outlines of all pooled chunks, by folder; for files of which no chunk was found, some are added to the pool."""
    outlines = []
    for reader, pool in zip(readers, pools, strict=True):
        found = reader.outlines(pool.chunks)
        known = {outline.path for outline in found.values()}
        missing = [path for path in pool.files if path not in known]
        added = reader.leading_chunks(missing, _CHUNKS_OF_A_FILE, only) if missing else []
        for chunk in added:
            pool.chunks[chunk]["file"] = 1.0
        outlines.append(found | (reader.outlines(added) if added else {}))
    return outlines


def gather(
    readers: Sequence[IndexReader], pools: Sequence[Pool], outlines: Sequence[Outlines]
) -> list[FileCandidate]:
    """The pooled chunks, grouped by file, in the order of folder and path.

    A chunk that has no vector yet counts as similar as others are that have one: while vectors are being made,
    having one must be no merit.
    """
    expected = _expected_similarity([legs for pool in pools for legs in pool.chunks.values()])
    files: list[FileCandidate] = []
    for folder, (reader, pool, known) in enumerate(zip(readers, pools, outlines, strict=True)):
        by_path: dict[str, list[Candidate]] = defaultdict(list)
        for outline in known.values():
            by_path[outline.path].append(_candidate(outline, pool.chunks[outline.id], expected))
        facts = file_facts(reader, by_path)
        for path, chunks in sorted(by_path.items()):
            files.append(
                FileCandidate(
                    folder,
                    path,
                    chunks[0].outline.kind,
                    tuple(chunks),
                    pool.subjects.get(path, 0.0),
                    facts.get(path, FileFacts()),
                    path in pool.named,
                )
            )
    return files


def _candidate(
    outline: Outline, legs: Mapping[str, float], expected: Callable[[float | None], float]
) -> Candidate:
    similarity = _similarity(legs)
    if similarity is None:
        similarity = expected(legs.get("static"))
    return Candidate(
        outline,
        legs.get("keyword", 0.0),
        legs.get("definition", 0.0),
        legs.get("symbol", 0.0),
        max(0.0, similarity),
        legs.get("exact", 0.0),
        frozenset(legs),
    )


def _expected_similarity(found: Sequence[Mapping[str, float]]) -> Callable[[float | None], float]:
    """From a chunk's static similarity, where it has one, to the similarity that chunks have on average which are so."""
    known = [score for legs in found if (score := _similarity(legs)) is not None]
    both = [
        (legs["static"], score)
        for legs in found
        if (score := _similarity(legs)) is not None and "static" in legs
    ]
    usual = sum(known) / len(known) if known else 0.0
    if len({static for static, _ in both}) < _FEWEST_COMPARED:
        return lambda static: usual
    statics, scores = zip(*both, strict=True)
    slope = max(0.0, statistics.linear_regression(statics, scores).slope)
    middle, level = statistics.fmean(statics), statistics.fmean(scores)
    return lambda static: usual if static is None else level + slope * (static - middle)


def _similarity(legs: Mapping[str, float]) -> float | None:
    """The chunk's cosine to the query, None where it has no vector."""
    return legs.get("similarity", legs.get("compared"))
