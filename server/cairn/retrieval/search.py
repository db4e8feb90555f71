"""The retrieval pipeline: legs, pooling, ranking. It knows indexes and models, and no front."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from cairn.config import DiversitySettings, SearchSettings
from cairn.index.reader import ChunkFilter, IndexReader, StoredChunk
from cairn.retrieval.candidates import Candidate, FileCandidate, gather, whole_files
from cairn.retrieval.diversity import Diverse, diversify
from cairn.retrieval.legs import Legs, run_legs
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query
from cairn.retrieval.ranking import weighted
from cairn.retrieval.signals import Asked, Contribution, Scores, Signal, score_files

EVERYTHING = ChunkFilter()

_PREAMBLE_SHARE = 0.5
"""A preamble is shown only where it matches twice as well as anything that is defined below it."""
_SPARE = 10
"""Results beyond those asked for, that may take the places of near-duplicates."""
_READ = 100
"""Files whose texts are read, where a signal asks for texts: the best by all other signals."""


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
    """Milliseconds by step; words and meaning are looked for side by side."""
    problems: tuple[str, ...] = ()
    """Why legs that failed did; the others answered."""
    cut: bool = False
    """Whether a leg found as many chunks as it may, so that there may be more."""
    broken_off: tuple[str, ...] = ()
    """Legs whose time was over before they had looked everywhere."""


@frozen
class _Place:
    """A chunk in the order of results."""

    file: int
    """Which of the candidate files it is of."""
    chunk: Candidate
    score: float


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

    `vector` is the query's, where the caller has it already; `case` and `word` are those of `Legs.by_text`. Raises
    QueryCancelledError soon after `cancelled()` turns true, and a leg's error where no other leg found anything.
    """
    legs = Legs(readers, only, settings, cancelled)
    asked = run_legs(legs, query, meaning, vector=vector, case=case, word=word)
    began = time.perf_counter()
    outlines = whole_files(readers, legs.pools, only)
    legs.timings["outline"] = (time.perf_counter() - began) * 1000
    if asked is not None:
        legs.compare(asked)
    if legs.problems and not any(pool.chunks for pool in legs.pools):
        raise legs.problems[0]
    began = time.perf_counter()
    files = gather(readers, legs.pools, outlines)
    signals = weighted(settings.weights)
    scores = _scores(readers, query, files, signals)
    spare = _SPARE if per_file == 1 else 0  # who wants several passages of a file compares them itself
    places = _places(query, files, scores, limit + spare, per_file)
    ranked = _fetched(readers, files, scores, places)
    if per_file == 1:
        ranked = _diverse(ranked, settings.diversity)[:limit]
    legs.timings["rank"] = (time.perf_counter() - began) * 1000
    timings = {name: round(ms, 3) for name, ms in legs.timings.items()}
    return Retrieved(tuple(ranked), timings, tuple(map(str, legs.problems)), legs.cut, tuple(legs.broken_off))


def _scores(
    readers: Sequence[IndexReader], query: Query, files: Sequence[FileCandidate], signals: Sequence[Signal]
) -> Scores:
    """The files' scores; where signals read texts, in a second stage over the best files."""
    asked = Asked(query, tuple(files))
    scores = score_files(asked, signals)
    if not any(signal.needs_text and signal.weight for signal in signals):
        return scores
    best = sorted(range(len(files)), key=lambda place: -scores.totals[place])[:_READ]
    strongest = _strongest(files)
    shown = {
        place: max(files[place].chunks, key=lambda c: _chunk_score(c, strongest, query.alpha))
        for place in best
    }
    texts: dict[tuple[int, int], str] = {}
    for folder, reader in enumerate(readers):
        ids = [chunk.outline.id for place, chunk in shown.items() if files[place].folder == folder]
        texts |= {(folder, stored.id): stored.chunk.text for stored in reader.chunks(ids).values()}
    return score_files(evolve(asked, texts=texts), signals)


def _places(
    query: Query, files: Sequence[FileCandidate], scores: Scores, limit: int, per_file: int
) -> list[_Place]:
    strongest = _strongest(files)

    def order(place: _Place) -> tuple[float, int, str, int]:
        file = files[place.file]
        return (-place.score, file.folder, file.path, place.chunk.outline.position)

    first: list[_Place] = []
    later: list[_Place] = []
    for number, (file, score) in enumerate(zip(files, scores.totals, strict=True)):
        values = [(_chunk_score(chunk, strongest, query.alpha), chunk) for chunk in file.chunks]
        values.sort(key=lambda each: (-each[0], each[1].outline.position))
        best = values[0][0]
        # Within a file a chunk counts as much as it matches in proportion to the best one.
        places = [_Place(number, chunk, score * value / best if best else score) for value, chunk in values]
        first += places[:per_file]
        later += places[per_file:]
    # What is shown falls in score, so a file's second passage may stand before a weaker file's first.
    first.sort(key=order)
    if len(first) < limit:
        lowest = first[-1].score if first else 0.0
        # Fewer files than asked for: further passages follow, never above a file's best one.
        extra = sorted(later, key=order)[: limit - len(first)]
        first += [evolve(place, score=min(place.score, lowest)) for place in extra]
    return first[:limit]


def _fetched(
    readers: Sequence[IndexReader], files: Sequence[FileCandidate], scores: Scores, places: Sequence[_Place]
) -> list[Ranked]:
    """The places with their chunks; one that is gone since is left out."""
    stored = [
        reader.chunks([place.chunk.outline.id for place in places if files[place.file].folder == folder])
        for folder, reader in enumerate(readers)
    ]
    ranked = []
    for place in places:
        folder = files[place.file].folder
        chunk = stored[folder].get(place.chunk.outline.id)
        if chunk is not None:
            reasons = scores.reasons(place.file)
            ranked.append(Ranked(folder, chunk, place.score, _source(place.chunk), reasons))
    return ranked


def _diverse(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    results = [
        Diverse(result.score, result.stored.path, result.stored.chunk.text, key=place, folder=result.folder)
        for place, result in enumerate(ranked)
    ]
    return [
        evolve(ranked[result.key], score=result.score)
        for result in diversify(results, settings)
        if isinstance(result.key, int)
    ]


@frozen
class _Strongest:
    """The best of all candidate chunks by each leg; 1 where none has any."""

    keyword: float
    definition: float
    similarity: float


def _strongest(files: Sequence[FileCandidate]) -> _Strongest:
    chunks = [chunk for file in files for chunk in file.chunks]
    return _Strongest(
        max((chunk.keyword for chunk in chunks), default=0.0) or 1.0,
        max((chunk.definition for chunk in chunks), default=0.0) or 1.0,
        max((chunk.similarity for chunk in chunks), default=0.0) or 1.0,
    )


def _chunk_score(chunk: Candidate, strongest: _Strongest, alpha: float) -> float:
    """How well one chunk of a file answers, for choosing which to show."""
    words = 3.0 * chunk.keyword / strongest.keyword + 0.5 * chunk.definition / strongest.definition
    meaning = 1.0 * chunk.similarity / strongest.similarity
    score = (1 - alpha) * (words + 2.0 * chunk.symbol + 4.0 * chunk.exact) + alpha * meaning
    return score * _PREAMBLE_SHARE if chunk.outline.is_preamble else score


def _source(candidate: Candidate) -> str:
    if candidate.legs & {"symbol", "exact"}:
        return "exact"
    by_words = bool(candidate.legs & {"keyword", "definition", "file"})
    if by_words and "similarity" in candidate.legs:
        return "hybrid"
    return "keyword" if by_words else "embedding"
