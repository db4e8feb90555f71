"""The retrieval pipeline: legs, pooling, ranking. It knows indexes and models, and no front."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from cairn.errors import QueryCancelledError
from cairn.index.store.reader import ChunkFilter, IndexReader, StoredChunk
from cairn.retrieval.candidates import Candidates, Chunks, Floats, gather, whole_files
from cairn.retrieval.diversity import Diverse, diversify, is_diverse
from cairn.retrieval.learned import Learned
from cairn.retrieval.legs import Legs, Pool, run_legs
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query
from cairn.retrieval.ranking import definitions, weighted
from cairn.retrieval.signals import Asked, Contribution, Scores, score_files
from cairn.settings.tree import DiversitySettings, SearchSettings

EVERYTHING = ChunkFilter()
_NOTHING_LEARNED: Mapping[int, Learned] = {}

_PREAMBLE_SHARE = 0.5
"""A preamble is shown only where it matches twice as well as anything that is defined below it."""
_DEFINITION = 20.0
"""Whoever asks for a name is shown where it is defined, however often it stands elsewhere in the file."""
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

    def spoken_for_by(self) -> tuple[str, ...]:
        """Names of the signals that speak for it, the strongest first."""
        return tuple(reason.signal for reason in self.reasons if reason.value * reason.weight > 0)


@frozen
class Retrieved:
    """The results of one query, best first."""

    ranked: tuple[Ranked, ...] = ()
    timings: Mapping[str, float] = field(factory=dict)
    """Milliseconds by step; words and meaning are looked for side by side."""
    problems: tuple[str, ...] = ()
    """Why legs that failed did; the others answered."""
    broken_off: tuple[str, ...] = ()
    """Legs whose time was over before they had looked everywhere."""
    without_vectors: bool = False
    """Whether meaning was to be compared and could not be."""


@frozen
class _Place:
    """A chunk in the order of results."""

    chunk: int
    """Which of the candidate chunks it is."""
    file: int
    """Which of the candidate files it is of."""
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
    learned: Mapping[int, Learned] = _NOTHING_LEARNED,
    cancelled: Callable[[], bool] = lambda: False,
) -> Retrieved:
    """The best `limit` chunks of the indexes for `query`, at most `per_file` of a file before any other.

    `vector` is the query's, where the caller has it already; `case` and `word` are those of `Legs.by_text`;
    `learned` is what earlier choices say, by the index's place. Raises QueryCancelledError soon after `cancelled()` turns true, and a leg's error where no other leg found anything.
    """
    legs = Legs(readers, only, settings, cancelled)
    asked = run_legs(legs, query, meaning, vector=vector, case=case, word=word)
    began = time.perf_counter()
    outlines = whole_files(readers, legs.pools, only)
    legs.timings["outline"] = (time.perf_counter() - began) * 1000
    if asked is not None:
        legs.compare(asked)
    if legs.problems and not any(pool.chunks() for pool in legs.pools):
        raise legs.problems[0]
    began = time.perf_counter()
    candidates = gather(readers, legs.pools, outlines)
    matching = matching_of(candidates.chunks, query)
    scores = scores_of(readers, query, candidates, legs.pools, matching, settings, learned)
    if cancelled():
        raise QueryCancelledError("The request was cancelled.")
    spare = _SPARE if per_file == 1 else 0  # who wants several passages of a file compares them itself
    places = _places(candidates, matching, scores, limit + spare, per_file)

    def fetched(some: Sequence[_Place]) -> list[Ranked]:
        return _fetched(readers, legs.pools, candidates, scores, some)

    ranked = fetched(places[:limit])
    if per_file == 1 and not is_diverse(_compared(ranked), settings.diversity):
        ranked = _diverse(ranked + fetched(places[limit:]), settings.diversity)[:limit]
    legs.timings["rank"] = (time.perf_counter() - began) * 1000
    timings = {name: round(ms, 3) for name, ms in legs.timings.items()}
    problems = tuple(map(str, legs.problems))
    return Retrieved(tuple(ranked), timings, problems, tuple(legs.broken_off), legs.without_vectors)


def scores_of(
    readers: Sequence[IndexReader],
    query: Query,
    candidates: Candidates,
    pools: Sequence[Pool],
    matching: Floats,
    settings: SearchSettings,
    learned: Mapping[int, Learned],
) -> Scores:
    """The files' scores; where signals read texts, in a second stage over the best files.

    `matching`, float64[chunks], says which chunk of a file is read then; `learned` is that of `retrieve`.
    """
    files, chunks = candidates.files, candidates.chunks
    signals = weighted(settings.weights)
    asked = Asked(query, files, chunks, learned=learned, telling=_telling(pools) if learned else {})
    scores = score_files(asked, signals)
    if not any(signal.needs_text and signal.weight for signal in signals):
        return scores
    best = set(np.argsort(-scores.totals, kind="stable")[:_READ].tolist())
    ordered = chunks.ordered(matching)
    shown = {
        chunks.outlines[chunk].id: files[file]
        for chunk in ordered[chunks.places() == 0]
        if (file := int(chunks.files[chunk])) in best
    }
    texts: dict[tuple[int, str], str] = {}
    for folder, reader in enumerate(readers):
        ids = [chunk for chunk, file in shown.items() if file.folder == folder]
        texts |= {(folder, stored.path): stored.chunk.text for stored in reader.chunks(ids).values()}
    return score_files(evolve(asked, texts=texts), signals)


def _places(
    candidates: Candidates, matching: Floats, scores: Scores, limit: int, per_file: int
) -> list[_Place]:
    """The `limit` best chunks, by `matching` at most `per_file` of a file before any further ones."""
    chunks = candidates.chunks
    ordered = chunks.ordered(matching)
    of_file = chunks.files[ordered]
    # Within a file a chunk counts as much as it matches in proportion to the best one.
    best = chunks.best(matching)[of_file] if len(ordered) else matching
    shares = np.divide(matching[ordered], best, out=np.ones_like(best), where=best != 0)
    values = scores.totals[of_file] * shares
    is_first = chunks.places() < per_file

    # What is shown falls in score, so a file's second passage may stand before a weaker file's first.
    def taken(which: NDArray[np.bool_], most: int) -> list[_Place]:
        every = np.flatnonzero(which)
        # Where scores are equal, in the order of folder, path and position, which candidates have.
        best_first = np.lexsort((ordered[every], -values[every]))[:most]
        return [_Place(int(ordered[i]), int(of_file[i]), float(values[i])) for i in every[best_first]]

    first = taken(is_first, limit)
    if len(first) < limit:
        lowest = first[-1].score if first else 0.0
        # Fewer files than asked for: further passages follow, never above a file's best one.
        extra = taken(~is_first, limit - len(first))
        first += [evolve(place, score=min(place.score, lowest)) for place in extra]
    return first


def _fetched(
    readers: Sequence[IndexReader],
    pools: Sequence[Pool],
    candidates: Candidates,
    scores: Scores,
    places: Sequence[_Place],
) -> list[Ranked]:
    """The places with their chunks; one that is gone since is left out."""
    wanted = [(candidates.files[p.file].folder, candidates.chunks.outlines[p.chunk].id) for p in places]
    stored = [
        reader.chunks([chunk for within, chunk in wanted if within == folder])
        for folder, reader in enumerate(readers)
    ]
    ranked = []
    for place, (folder, chunk_id) in zip(places, wanted, strict=True):
        chunk = stored[folder].get(chunk_id)
        if chunk is not None:
            source = source_of(pools[folder].legs_of(chunk_id))
            ranked.append(Ranked(folder, chunk, place.score, source, scores.reasons(place.file)))
    return ranked


def _diverse(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    return [
        evolve(ranked[result.key], score=result.score)
        for result in diversify(_compared(ranked), settings)
        if isinstance(result.key, int)
    ]


def _compared(ranked: Sequence[Ranked]) -> list[Diverse]:
    return [
        Diverse(result.score, result.stored.path, result.stored.chunk.text, key=place, folder=result.folder)
        for place, result in enumerate(ranked)
    ]


def matching_of(chunks: Chunks, query: Query) -> Floats:
    """float64[chunks]: how well each answers, for choosing which of its file's to show."""

    def share(column: Floats) -> Floats:
        return column / (column.max(initial=0.0) or 1.0)

    words = 3.0 * share(chunks.keyword) + 0.5 * share(chunks.definition)
    symbol = 2.0 * chunks.symbol
    if query.is_symbol:
        symbol = _DEFINITION * np.maximum(definitions(query, chunks), chunks.reexport)
    by_words = (1 - query.alpha) * (words + symbol + 4.0 * chunks.exact)
    matching = by_words + query.alpha * share(chunks.similarity)
    is_preamble = np.array([outline.is_preamble for outline in chunks.outlines], np.bool_)
    return np.where(is_preamble, _PREAMBLE_SHARE * matching, matching)


def source_of(legs: Set[str]) -> str:
    """What a result of these legs is found by: `exact`, `keyword`, `embedding` or `hybrid`."""
    if legs & {"symbol", "exact", "reexport"}:
        return "exact"
    by_words = bool(legs & {"keyword", "definition", "file"})
    if by_words and legs & {"similarity", "static", "varied"}:
        return "hybrid"
    return "keyword" if by_words else "embedding"


def _telling(pools: Sequence[Pool]) -> dict[str, float]:
    """How much the stems of the question tell, in whichever index they tell most."""
    telling: dict[str, float] = {}
    for word in (word for pool in pools for word in pool.words):
        for stem in word.stems:
            telling[stem] = max(word.weight, telling.get(stem, 0.0))
    return telling
