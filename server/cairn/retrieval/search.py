"""The retrieval pipeline: legs, pooling, ranking. It knows indexes and models, and no front."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from cairn.config import SearchSettings
from cairn.index.reader import ChunkFilter, IndexReader, StoredChunk
from cairn.retrieval.candidates import Candidate, FileCandidate, add_whole_files, gather
from cairn.retrieval.legs import Legs, run_legs
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query
from cairn.retrieval.ranking import weighted
from cairn.retrieval.signals import Asked, Contribution, Scored, Signal, score_files

EVERYTHING = ChunkFilter()

_PREAMBLE_SHARE = 0.5
"""A preamble is shown only where it matches twice as well as anything that is defined below it."""
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

    folder: int
    candidate: Candidate
    score: float
    reasons: tuple[Contribution, ...]

    @property
    def order(self) -> tuple[float, int, str, int]:
        return (-self.score, self.folder, self.candidate.outline.path, self.candidate.outline.position)


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
    add_whole_files(readers, legs.pools, only)
    if asked is not None:
        legs.compare(asked)
    if legs.problems and not any(pool.chunks for pool in legs.pools):
        raise legs.problems[0]
    began = time.perf_counter()
    files = gather(readers, legs.pools)
    signals = weighted(settings.weights)
    places = _places(query, files, _scores(readers, query, files, signals), limit, per_file)
    ranked = _fetched(readers, places)
    legs.timings["rank"] = (time.perf_counter() - began) * 1000
    timings = {name: round(ms, 3) for name, ms in legs.timings.items()}
    return Retrieved(tuple(ranked), timings, tuple(map(str, legs.problems)), legs.cut, tuple(legs.broken_off))


def _scores(
    readers: Sequence[IndexReader], query: Query, files: Sequence[FileCandidate], signals: Sequence[Signal]
) -> list[Scored]:
    """The files' scores; where signals read texts, the best files get theirs in a second stage."""
    asked = Asked(query, tuple(files))
    scores = score_files(asked, signals)
    if not any(signal.needs_text and signal.weight for signal in signals):
        return scores
    best = sorted(range(len(files)), key=lambda place: -scores[place].score)[:_READ]
    strongest = _strongest(files)
    shown = {
        place: max(files[place].chunks, key=lambda c: _chunk_score(c, strongest, query.alpha))
        for place in best
    }
    texts: dict[int, str] = {}
    for folder, reader in enumerate(readers):
        ids = [chunk.outline.id for place, chunk in shown.items() if files[place].folder == folder]
        texts |= {stored.id: stored.chunk.text for stored in reader.chunks(ids).values()}
    again = score_files(evolve(asked, texts=texts), signals)
    return [again[place] if place in shown else scores[place] for place in range(len(files))]


def _places(
    query: Query, files: Sequence[FileCandidate], scores: Sequence[Scored], limit: int, per_file: int
) -> list[_Place]:
    strongest = _strongest(files)
    first: list[_Place] = []
    later: list[_Place] = []
    for file, scored in zip(files, scores, strict=True):
        values = [(_chunk_score(chunk, strongest, query.alpha), chunk) for chunk in file.chunks]
        values.sort(key=lambda each: (-each[0], each[1].outline.position))
        best = values[0][0] or 1.0
        for rank, (value, chunk) in enumerate(values):
            # Within a file a chunk counts as much as it matches in proportion to the best one.
            place = _Place(file.folder, chunk, scored.score * value / best, scored.reasons)
            if rank == 0:
                place = evolve(place, score=scored.score)
            (first if rank < per_file else later).append(place)
    # What is shown falls in score, so a file's second passage may stand before a weaker file's first.
    first.sort(key=lambda place: place.order)
    if len(first) < limit:
        lowest = first[-1].score if first else 0.0
        # Fewer files than asked for: further passages follow, never above a file's best one.
        extra = sorted(later, key=lambda place: place.order)[: limit - len(first)]
        first += [evolve(place, score=min(place.score, lowest)) for place in extra]
    return first[:limit]


def _fetched(readers: Sequence[IndexReader], places: Iterable[_Place]) -> list[Ranked]:
    """The places with their chunks; one that is gone since is left out."""
    every = list(places)
    stored = [
        reader.chunks([place.candidate.outline.id for place in every if place.folder == folder])
        for folder, reader in enumerate(readers)
    ]
    return [
        Ranked(place.folder, chunk, place.score, _source(place.candidate), place.reasons)
        for place in every
        if (chunk := stored[place.folder].get(place.candidate.outline.id)) is not None
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
