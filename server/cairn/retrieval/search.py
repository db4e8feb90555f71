"""The retrieval pipeline: legs, pooling, ranking. It knows indexes and models, and no front."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from cairn.chunking.model import Chunk, ChunkType
from cairn.config import SearchSettings
from cairn.index.reader import ChunkFilter, IndexReader, StoredChunk
from cairn.retrieval.legs import ChunkScores, Legs
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query
from cairn.retrieval.signals import Candidate, Contribution, FileCandidate, score_files

EVERYTHING = ChunkFilter()

_FEWEST_COMPARED = 10
"""Fewer chunks that have both kinds of vectors say nothing of how one goes with the other."""
_PREAMBLE_SHARE = 0.5
"""A preamble is shown only where it matches twice as well as anything that is defined below it."""


@frozen
class Ranked:
    """A result: a chunk, its file's score, and why."""

    folder: int
    stored: StoredChunk
    score: float
    """0 to 1."""
    source: str
    """`exact`, `keyword`, `embedding` or `hybrid`."""
    reasons: tuple[Contribution, ...]


@frozen
class Retrieved:
    """The results of one query, best first."""

    ranked: tuple[Ranked, ...] = ()
    timings: Mapping[str, float] = field(factory=dict)
    """Milliseconds by step."""
    problems: tuple[str, ...] = ()
    """Why legs that failed did; the others answered."""
    cut: bool = False
    """Whether a leg found as many chunks as it may, so that there may be more."""
    broken_off: tuple[str, ...] = ()
    """Legs whose time was over before they had looked everywhere."""


def retrieve(
    readers: Sequence[IndexReader],
    query: Query,
    meaning: Meaning | None,
    settings: SearchSettings,
    *,
    limit: int,
    per_file: int = 1,
    only: ChunkFilter = EVERYTHING,
    vector: QueryVector | None = None,
    case: bool = False,
    word: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
) -> Retrieved:
    """The best `limit` chunks of the indexes for `query`, at most `per_file` of a file before any other.

    `vector` is the query's, where the caller has it already; `case` and `word` are those of `Legs.by_text`. Raises QueryCancelledError
    soon after `cancelled()` turns true, and a leg's error where no other leg found anything.
    """
    legs = Legs(readers, only, settings, cancelled)
    started = time.perf_counter()
    if query.alpha < 1:
        legs.by_words(query)
        legs.by_text(query, case=case, word=word)
    if meaning is not None and query.alpha > 0 and query.terms:
        began = time.perf_counter()
        asked = vector or meaning.vectors([query.meant])[0]
        legs.timings["embed"] = (time.perf_counter() - began) * 1000
        legs.by_meaning(asked)
    if legs.problems and not any(legs.pools):
        raise legs.problems[0]
    ranked = _rank(query, _gather(readers, legs.pools), limit, per_file)
    legs.timings["rank"] = (time.perf_counter() - started) * 1000 - sum(legs.timings.values())
    timings = {name: round(ms, 3) for name, ms in legs.timings.items()}
    return Retrieved(tuple(ranked), timings, tuple(map(str, legs.problems)), legs.cut, tuple(legs.broken_off))


def _gather(readers: Sequence[IndexReader], pools: Sequence[ChunkScores]) -> list[FileCandidate]:
    """The pooled chunks, grouped by file.

    A chunk that has no vector yet counts as similar as others are that have one: while vectors are being made,
    having one must be no merit.
    """
    expected = _expected_similarity([legs for pool in pools for legs in pool.values()])
    files: dict[tuple[int, str], list[Candidate]] = defaultdict(list)
    for folder, (reader, pool) in enumerate(zip(readers, pools, strict=True)):
        for chunk_id, stored in reader.chunks(pool).items():
            legs = pool[chunk_id]
            similarity = _similarity(legs)
            if similarity is None:
                similarity = expected(legs.get("static"))
            candidate = Candidate(
                folder=folder,
                stored=stored,
                keyword=legs.get("keyword", 0.0),
                definition=legs.get("definition", 0.0),
                symbol=legs.get("symbol", 0.0),
                similarity=max(0.0, similarity),
                exact=legs.get("exact", 0.0),
                legs=frozenset(legs),
            )
            files[folder, stored.path].append(candidate)
    return [
        FileCandidate(folder, path, chunks[0].stored.kind, tuple(chunks))
        for (folder, path), chunks in sorted(files.items())
    ]


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


def _rank(query: Query, files: Sequence[FileCandidate], limit: int, per_file: int) -> list[Ranked]:
    scores = score_files(query, files)
    order = sorted(range(len(files)), key=lambda i: (-scores[i][0], files[i].folder, files[i].path))
    strongest = _strongest(files)
    first: list[Ranked] = []
    later: list[Ranked] = []
    for place in order:
        score, reasons = scores[place]
        chunks = sorted(
            files[place].chunks,
            key=lambda c: (-_chunk_score(c, strongest, query.alpha), c.stored.chunk.position),
        )
        best = _chunk_score(chunks[0], strongest, query.alpha) or 1.0
        for rank, candidate in enumerate(chunks):
            # Within a file a chunk counts as much as it matches in proportion to the best one.
            share = _chunk_score(candidate, strongest, query.alpha) / best
            result = Ranked(candidate.folder, candidate.stored, score * share, _source(candidate), reasons)
            (first if rank < per_file else later).append(result)
    # What is shown falls in score, so a file's second passage may stand before a weaker file's first.
    first.sort(key=_best_first)
    if len(first) < limit:
        lowest = first[-1].score if first else 0.0
        # Fewer files than asked for: further passages follow, never above a file's best one.
        extra = sorted(later, key=_best_first)[: limit - len(first)]
        first += [evolve(result, score=min(result.score, lowest)) for result in extra]
    return first[:limit]


def _best_first(result: Ranked) -> tuple[float, int, str, int]:
    return (-result.score, result.folder, result.stored.path, result.stored.chunk.position)


def _strongest(files: Sequence[FileCandidate]) -> Candidate | None:
    chunks = [chunk for file in files for chunk in file.chunks]
    if not chunks:
        return None
    return evolve(
        chunks[0],
        keyword=max(c.keyword for c in chunks) or 1.0,
        definition=max(c.definition for c in chunks) or 1.0,
        similarity=max(c.similarity for c in chunks) or 1.0,
    )


def _chunk_score(candidate: Candidate, strongest: Candidate | None, alpha: float) -> float:
    """How well one chunk of a file answers, for choosing which to show; the weights are the files' own."""
    if strongest is None:
        return 0.0
    keyword = 2.0 * candidate.keyword / strongest.keyword + 1.5 * candidate.definition / strongest.definition
    meaning = 2.0 * candidate.similarity / strongest.similarity
    score = (1 - alpha) * (keyword + 2.0 * candidate.symbol) + alpha * meaning
    score += 4.0 * (1 - alpha) * candidate.exact
    return score * _PREAMBLE_SHARE if _is_preamble(candidate.stored.chunk) else score


def _is_preamble(chunk: Chunk) -> bool:
    """Code that defines nothing: a licence, imports. Short, so a file's name alone makes it score high."""
    return chunk.type is ChunkType.CODE and not chunk.symbol and not chunk.defines


def _source(candidate: Candidate) -> str:
    if candidate.legs & {"symbol", "exact"}:
        return "exact"
    by_words = bool(candidate.legs & {"keyword", "definition"})
    if by_words and "similarity" in candidate.legs:
        return "hybrid"
    return "keyword" if by_words else "embedding"
