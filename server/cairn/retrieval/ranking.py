"""Rank passages of the searched folders for queries. All requests use this one pipeline.

A search ranks one query. A discovery adds variations of the query. The query alone decides how much a file
counts; a variation finds further chunks, and tells which chunks of a file answer it. The word legs run in
parallel with the model, which embeds all queries in one call: SQLite and the model release Python's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.errors import CairnError, OutOfTimeError, QueryCancelledError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.store.deadline import check_end
from cairn.retrieval.candidates import Candidates, add_whole_files, gather, shortlist
from cairn.retrieval.feedback_values import Learned
from cairn.retrieval.legs import Legs
from cairn.retrieval.meaning import Meaning, QueryVector, table_of
from cairn.retrieval.packages import folder_likelihoods, package_relevance
from cairn.retrieval.query import Query
from cairn.retrieval.scores import (
    FileSignal,
    Ranked,
    Scores,
    SignalInputs,
    diversify,
    is_diverse,
    score_files,
)
from cairn.retrieval.scoring import Scoring, best_of_file, look_closer
from cairn.retrieval.signals import SIGNALS, weighted
from cairn.settings.tree import DiversitySettings, SearchSettings
from cairn.startup.figures import part_of_request

EVERYTHING = ChunkFilter()
_NOTHING_LEARNED: Mapping[int, Learned] = {}

_SPARE = 10
"""The number of additional results, which may replace near-duplicates."""
_LONGEST_MEANING_MS = 2_000.0
"""The maximum wait for vectors, after which the comparison fails. The model's call cannot be interrupted."""

_variation_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="cairn-leg")
"""Threads that search for variations. Each keeps a connection to every index that it reads."""
_meaning_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="cairn-meaning")
"""Threads that compare by meaning. They are separate, so that a hanging model does not block other work."""


@frozen(eq=False)
class Ranking:
    """The candidates of one or several queries, and the value of each chunk as an answer to each query."""

    readers: Sequence[IndexReader]
    legs: Legs
    """The first query's legs, with the results of all queries merged."""
    inputs: SignalInputs
    """What the signals of the files look at: the first query, the candidates of all queries, and so on."""
    scores: Scores
    values: NDArray[np.float64]
    """float64[queries, chunks]: the values, comparable between queries and chunks."""
    vectors: Sequence[QueryVector] = ()
    """The queries' vectors; empty if they were not compared by meaning."""
    _fetched: dict[int, Ranked] = field(factory=dict, init=False)

    @property
    def candidates(self) -> Candidates:
        return self.inputs.candidates

    @property
    def timings(self) -> dict[str, float]:
        """Milliseconds by step. The steps of words and of meaning run in parallel."""
        return {name: round(ms, 3) for name, ms in self.legs.timings.items()}

    @property
    def problem(self) -> str | None:
        """The message of the first leg that failed, if any did. The other legs still found results."""
        return next(map(str, self.legs.problems), None)

    def results(self, limit: int, diversity: DiversitySettings) -> list[Ranked]:
        """Return the first query's `limit` best chunks: one for each file, then further ones if files are too
        few. Scores never rise, so a further chunk never scores above a file's best."""
        with self.legs.timed("rank"):
            is_first = self._is_first(0, 1)
            places = self._best(0, is_first, limit + _SPARE)
            places += self._best(0, ~is_first, limit + _SPARE - len(places))
            scores = np.minimum.accumulate(self.values[0][places]).tolist()

            def shown(which: slice) -> list[Ranked]:
                fetched = self.fetch(places[which])
                scored = zip(places[which], scores[which], strict=True)
                return [fetched[place].with_score(score) for place, score in scored if place in fetched]

            results = shown(slice(limit))
            if not is_diverse(results, diversity):
                results = diversify(results + shown(slice(limit, None)), diversity)[:limit]
            return results

    def called(self, beside: Sequence[Ranked], limit: int) -> list[Ranked]:
        """Return the best chunk of up to `limit` further files that define a name with most of the first
        query's words, each with the score of its file."""
        files = self.candidates.files
        known = {(each.folder, each.stored.path) for each in beside}
        shares = self.candidates.column(self.legs.found("called"))
        best: dict[int, int] = {}
        order = np.lexsort((-self.values[0], -shares))
        for place in order[: np.count_nonzero(shares)].tolist():
            file = int(self.candidates.file_of[place])
            if (files[file].folder, files[file].path) not in known:
                best.setdefault(file, place)
        chosen = dict(list(best.items())[:limit])
        fetched = self.fetch(chosen.values())
        totals = self.scores.totals
        return [
            fetched[place].with_score(float(totals[file]))
            for file, place in chosen.items()
            if place in fetched
        ]

    def package(self, folder: int, path: str) -> float:
        packages = self.inputs.packages
        return packages[folder].around(path) if packages else 0.0

    def best(self, question: int, collections: Iterable[str], limit: int, per_file: int) -> list[int]:
        """Return the indexes of one query's `limit` best chunks of positive value in the collections."""
        of_file = np.isin(self._collections, list(collections))[self.candidates.file_of]
        return self._best(
            question, (self.values[question] > 0) & self._is_first(question, per_file) & of_file, limit
        )

    def _best(self, question: int, which: NDArray[np.bool_], limit: int) -> list[int]:
        places = np.flatnonzero(which)
        # Chunks of equal value keep the candidates' order: by folder, path and position.
        best_first: list[int] = places[np.argsort(-self.values[question][places], kind="stable")].tolist()
        return best_first[:limit]

    def _is_first(self, question: int, per_file: int) -> NDArray[np.bool_]:
        """Return bool[chunks]: whether each chunk is among the `per_file` best of its file."""
        values = self.values[question]
        is_first = np.empty(len(values), np.bool_)
        is_first[self.candidates.ordered(values)] = self.candidates.places() < per_file
        return is_first

    def fetch(self, places: Iterable[int]) -> Mapping[int, Ranked]:
        """Return the chunks at these places and those fetched earlier. Deleted chunks are missing."""
        candidates = self.candidates
        missing = [place for place in dict.fromkeys(places) if place not in self._fetched]
        for folder, reader in enumerate(self.readers):
            here = (place for place in missing if candidates.folders[place] == folder)
            wanted = {candidates.outlines[place].id: place for place in here}
            for chunk_id, stored in (reader.chunks(list(wanted)) if wanted else {}).items():
                place = wanted[chunk_id]
                self._fetched[place] = Ranked(
                    folder,
                    stored,
                    float(self.values[:, place].max()),
                    source_of(self.legs.pools[folder].legs_of(chunk_id)),
                    self.scores.reasons(int(candidates.file_of[place])),
                )
        return self._fetched

    @cached_property
    def _collections(self) -> NDArray[np.str_]:
        files, outlines = self.candidates.files, self.candidates.outlines
        names: dict[tuple[int, str], str] = {}
        for folder, reader in enumerate(self.readers):
            paths = [file.path for file in files if file.folder == folder]
            indexed = reader.contents(paths)
            names |= {(folder, path): collection for path, (_, collection) in indexed.items()}
            new = {path for path in paths if path not in indexed}  # The rest are open documents only.
            ids = [outline.id for outline in outlines if outline.path in new]
            names |= {(folder, stored.path): stored.collection for stored in reader.chunks(ids).values()}
        return np.array([names.get((file.folder, file.path), "") for file in files], np.str_)


def rank(
    readers: Sequence[IndexReader],
    queries: Sequence[Query],
    meaning: Meaning | None,
    settings: SearchSettings,
    *,
    scoring: Scoring = best_of_file,
    only: ChunkFilter = EVERYTHING,
    case: bool = False,
    word: bool = False,
    learned: Mapping[int, Learned] = _NOTHING_LEARNED,
    signals: Sequence[FileSignal] = SIGNALS,
) -> Ranking:
    """Rank the chunks of the indexes for `queries`: the first is the main query, the others are its
    variations. `scoring` values passages, `case` and `word` go to `Legs.by_text`, and `learned` has earlier
    choices. Raises QueryCancelledError soon after the request is cancelled, and a leg's error if none found
    anything."""
    every = [Legs(readers, query, only, settings) for query in queries]
    question = every[0]

    # Legs
    vectors = _run_legs(every, meaning, case=case, word=word)
    with question.timed("outline"):
        add_whole_files(readers, question.pools, only)
        question.restrict()
    if vectors:
        question.compare(every, vectors)
    if question.problems and not question.found_anything:
        raise question.problems[0]

    # Candidates
    with question.timed("outline"):
        listed = zip(readers, question.pools, strict=True)
        outlines = [reader.outlines(shortlist(reader, pool)) for reader, pool in listed]
    with question.timed("rank"):
        candidates = gather(readers, question.pools, outlines)

        # Signals
        inputs = _inputs(question, candidates, vectors, meaning, learned)
        scores = score_files(inputs, weighted(settings.weights, signals))

        # Passages
        values = scoring(candidates, scores, every)
        check_end()
    return Ranking(readers, question, inputs, scores, values, vectors)


def _run_legs(
    every: Sequence[Legs], meaning: Meaning | None, *, case: bool, word: bool
) -> Sequence[QueryVector]:
    """Run the legs of all queries, merge what they find into those of the first, and return the vectors."""
    question = every[0]
    by_words = question.query.alpha < 1
    if by_words:
        question.by_name()
        question.by_report()
    beside = [legs.empty_copy() for legs in every]
    embedding = (
        _meaning_threads.submit(part_of_request(_embed_and_find), beside, meaning)
        if meaning and _compares(question)
        else None
    )
    varying = [_variation_threads.submit(part_of_request(legs.by_keywords)) for legs in every[1:]]
    if by_words:
        question.by_keywords()
        question.by_files()
        question.by_reexports()
    if by_words or question.query.required:
        question.by_text(case=case, word=word)
    for task in varying:
        task.result()
    if vectors := wait_for_meaning(embedding, question) if embedding else ():
        for legs, found in zip(every, beside, strict=True):
            legs.merge(found)
    for legs in every[1:]:
        question.merge(legs, leg="varied")
    if by_words and question.broken_off and not question.found_anything:
        question.by_keywords(patiently=True)  # Without this, an empty result would look like an answer.
    return vectors


def _inputs(
    question: Legs,
    candidates: Candidates,
    vectors: Sequence[QueryVector],
    meaning: Meaning | None,
    learned: Mapping[int, Learned],
) -> SignalInputs:
    query, readers = question.query, question.readers
    return SignalInputs(
        query,
        candidates,
        learned=learned,
        idf=_idf(question),
        # For searches, packages lowered NDCG@10 by 0.009 (60 questions, workspaces of 4 to 7 packages).
        packages=package_relevance(readers, query, table_of(meaning))
        if vectors and query.for_evidence
        else (),
        folders=folder_likelihoods(question.pools, [reader.facts().chunks for reader in readers])
        if len(readers) > 1
        else (),
        look=partial(look_closer, readers, query, candidates, meaning)
        if vectors and meaning and not query.is_symbol
        else None,
    )


def _compares(question: Legs) -> bool:
    """Return whether vectors can help to answer the query."""
    query = question.query
    return query.alpha > 0 and bool(query.terms) and not (query.is_identifier and question.is_defined)


def _embed_and_find(beside: Sequence[Legs], meaning: Meaning) -> Sequence[QueryVector]:
    """Embed the queries in one model call, find their nearest chunks, and return the vectors."""
    check_end()  # The model's call cannot be interrupted.
    with beside[0].timed("embed"):
        vectors: Sequence[QueryVector] = meaning.vectors([legs.query.meant for legs in beside])
    for legs, vector in zip(beside, vectors, strict=True):
        legs.by_meaning(vector)
    return vectors


def wait_for_meaning(embedding: Future[Sequence[QueryVector]], legs: Legs) -> Sequence[QueryVector]:
    """Return the queries' vectors. After a failure or timeout, which `legs` records, return none. Raises
    QueryCancelledError if the request was cancelled."""
    longest_ms = max(_LONGEST_MEANING_MS, legs.settings.leg_deadline_ms)
    try:
        return embedding.result(timeout=longest_ms / 1000)
    except QueryCancelledError:
        raise
    except TimeoutError:
        embedding.cancel()
        legs.failed(
            OutOfTimeError(f"Comparing by meaning took more than {longest_ms:,.0f} ms."), "similarity"
        )
    except CairnError as problem:
        legs.failed(problem, "similarity")
    return ()


def neighbours(
    results: Sequence[Ranked], readers: Sequence[IndexReader], window: int
) -> list[list[StoredChunk]]:
    """Return for each result up to `window` chunks on either side in its file, by one query per folder."""
    around: dict[tuple[int, str, int], list[StoredChunk]] = {}
    for folder in {r.folder for r in results} if window else ():
        places = [(r.stored.path, r.stored.chunk.position) for r in results if r.folder == folder]
        for (path, position), found in readers[folder].neighbours(places, window).items():
            around[folder, path, position] = [other for other in found if other.chunk.position != position]
    return [around.get((r.folder, r.stored.path, r.stored.chunk.position), []) for r in results]


def source_of(legs: Set[str]) -> str:
    """Return the kind of search that these legs are: `exact`, `keyword`, `embedding` or `hybrid`."""
    if legs & {"symbol", "exact", "reexport"}:
        return "exact"
    by_words = bool(legs & {"keyword", "definition", "file"})
    if by_words and legs & {"similarity", "varied"}:
        return "hybrid"
    return "keyword" if by_words else "embedding"


def _idf(question: Legs) -> dict[str, float]:
    idf: dict[str, float] = {}
    for word in (word for pool in question.pools for word in pool.words):
        for stem in word.stems:
            idf[stem] = max(word.idf, idf.get(stem, 0.0))
    return idf
