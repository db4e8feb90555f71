"""Several questions in one pass: a question and variations of it, found side by side, compared and ranked together.

The question alone decides how much a file counts; a variation brings further chunks, and says which of a file's chunks
answer it. So all files are scored once, all questions are embedded in one call, and each chunk's vector is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.errors import QueryCancelledError
from cairn.index.store.reader import ChunkFilter, IndexReader
from cairn.retrieval.candidates import Candidates, Floats, gather, whole_files
from cairn.retrieval.learned import Learned
from cairn.retrieval.legs import Legs, Pool, comparing, is_identifier, side_by_side, wait_for_meaning
from cairn.retrieval.meaning import Meaning, QueryVector, similarities
from cairn.retrieval.query import Query
from cairn.retrieval.ranking import definitions
from cairn.retrieval.search import Ranked, matching_of, scores_of, source_of
from cairn.retrieval.signals import Scores
from cairn.settings.tree import SearchSettings

_VARIATION = 0.5
"""What an answer to a variation is worth beside one to the question."""

# What a passage is worth as an answer, each a share of the best. A search shows each file's best passage, so its files
# decide; evidence is many passages, and most of a good file's are about something else. With these weights the first
# 20 passages held 89 % of what 60 questions must cite; by the file's score times the passage's share of its file's best
# match, 81 % (docs/ranking.md).
_FILE = 1.0
_HELD_BACK = 0.2
"""For each unit that a signal such as "is a test" takes from the file's sum: the share of a file among others says too little."""
_LEAST_LEFT = 0.05
_KEYWORDS = 0.75
_MEANING = 1.0
_COVERAGE = 2.0
"""Words of the question that the passage holds, by how much each tells."""
_NAME = 2.0
"""That it defines the very name that is asked for, or holds the very text."""


@frozen(eq=False)
class Ranking:
    """The candidates of several questions, with what each chunk is worth as an answer to each of them."""

    readers: Sequence[IndexReader]
    pools: Sequence[Pool]
    candidates: Candidates
    scores: Scores
    """Of the files, as the first question ranks them."""
    values: Floats
    """float64[questions, chunks]: comparable throughout; 0 where a question did not find the chunk."""
    collections: NDArray[np.str_]
    """The collection of each file."""
    without_vectors: bool = False
    """Whether meaning was to be compared and could not be."""
    _fetched: dict[int, Ranked] = field(factory=dict, init=False)

    def best(self, question: int, collections: Iterable[str], limit: int, per_file: int) -> list[int]:
        """The places of the `limit` best chunks of the collections for one of the questions, best first.

        `per_file` of each file at most.
        """
        chunks, values = self.candidates.chunks, self.values[question]
        ordered = chunks.ordered(values)
        is_first = np.empty(len(values), np.bool_)
        is_first[ordered] = chunks.places() < per_file
        of_file = np.isin(self.collections, list(collections))
        places = np.flatnonzero((values > 0) & is_first & of_file[chunks.files])
        # Where values are equal, in the order of folder, path and position, which candidates have.
        best_first = places[np.argsort(-values[places], kind="stable")][:limit]
        return [int(place) for place in best_first]

    def fetch(self, places: Iterable[int]) -> Mapping[int, Ranked]:
        """The chunks at these places, and those fetched before, with their texts; one that is gone since is left out."""
        chunks, files = self.candidates.chunks, self.candidates.files
        missing = [place for place in dict.fromkeys(places) if place not in self._fetched]
        for folder, reader in enumerate(self.readers):
            wanted = {
                chunks.outlines[place].id: place
                for place in missing
                if files[int(chunks.files[place])].folder == folder
            }
            for chunk_id, stored in (reader.chunks(list(wanted)) if wanted else {}).items():
                place = wanted[chunk_id]
                self._fetched[place] = Ranked(
                    folder,
                    stored,
                    float(self.values[:, place].max()),
                    source_of(self.pools[folder].legs_of(chunk_id)),
                    self.scores.reasons(int(chunks.files[place])),
                )
        return self._fetched


def rank_together(
    readers: Sequence[IndexReader],
    queries: Sequence[Query],
    meaning: Meaning | None,
    settings: SearchSettings,
    *,
    only: ChunkFilter,
    learned: Mapping[int, Learned],
    cancelled: Callable[[], bool],
) -> Ranking:
    """Rank the chunks of the indexes for all `queries`, one at least; the first is the question, the others vary it.

    `learned` is that of `retrieve`. Raises QueryCancelledError soon after `cancelled()` turns true, and a leg's error where no leg found anything.
    """
    every = [Legs(readers, only, settings, cancelled) for _ in queries]
    vectors = _find(every, queries, meaning)
    found = [_Found.of(legs) for legs in every]
    own = every[0]
    for legs, theirs in zip(every[1:], found[1:], strict=True):
        _add(own, legs, theirs)
    if own.problems and not any(pool.chunks() for pool in own.pools):
        raise own.problems[0]
    outlines = whole_files(readers, own.pools, only)
    compared = _compare(own, vectors, len(queries))
    if cancelled():
        raise QueryCancelledError("The request was cancelled.")
    candidates = gather(readers, own.pools, outlines)
    columns = _Columns(candidates)
    chunks = candidates.chunks
    matching = matching_of(chunks, queries[0])
    scores = scores_of(readers, queries[0], candidates, own.pools, matching, settings, learned)
    in_file = _FILE * _share(scores.totals)[chunks.files]
    held_back = _HELD_BACK * scores.held_back()[chunks.files]
    named = _NAME * np.maximum(definitions(queries[0], chunks) * queries[0].is_symbol, chunks.exact)
    values = []
    similarity = columns.similarity(compared)
    for number, (legs, theirs) in enumerate(zip(every, found, strict=True)):
        keyword = columns.of(theirs.keyword)
        worth = (
            in_file
            + _KEYWORDS * _share(keyword)
            + _MEANING * _above_usual(similarity[number])
            + _COVERAGE * columns.coverage(legs.pools)
        )
        if number == 0:
            values.append(_less(worth + named, held_back))
        else:
            is_found = (keyword > 0) | (columns.of(theirs.nearest) > 0)
            values.append(np.where(is_found, _VARIATION * _less(worth, held_back), 0.0))
    return Ranking(
        readers,
        own.pools,
        candidates,
        scores,
        np.stack(values),
        _collections(readers, candidates),
        own.without_vectors,
    )


@frozen(eq=False)
class _Found:
    """What one question's legs found: by folder, chunk and score."""

    keyword: Sequence[Mapping[int, float]]
    nearest: Sequence[Mapping[int, float]]

    @classmethod
    def of(cls, legs: Legs) -> _Found:
        return cls(
            [dict(pool.found.get("keyword", {})) for pool in legs.pools],
            [{**pool.found.get("static", {}), **pool.found.get("similarity", {})} for pool in legs.pools],
        )


@frozen(eq=False)
class _Columns:
    """Turns what legs say of chunks into columns over the candidate chunks."""

    candidates: Candidates
    places: Sequence[Mapping[int, int]] = field(init=False)
    """For each folder where each of its chunks stands among the candidates."""

    @places.default
    def _of_chunks(self) -> Sequence[Mapping[int, int]]:
        files = self.candidates.files
        places: list[dict[int, int]] = [{} for _ in range(1 + max((f.folder for f in files), default=0))]
        of_chunks = zip(self.candidates.chunks.outlines, self.candidates.chunks.files.tolist(), strict=True)
        for place, (outline, file) in enumerate(of_chunks):
            places[files[file].folder][outline.id] = place
        return places

    def of(self, by_folder: Sequence[Mapping[int, float]]) -> Floats:
        """float64[chunks]; 0 where nothing is said."""
        column = np.zeros(len(self.candidates.chunks.outlines))
        for places, said in zip(self.places, by_folder, strict=False):
            here = [chunk for chunk in said if chunk in places]
            column[[places[chunk] for chunk in here]] = [said[chunk] for chunk in here]
        return column

    def similarity(self, compared: Sequence[_Compared]) -> Floats:
        """float64[questions, chunks] from what was compared in each folder; 0 for a chunk without a vector."""
        chunks = len(self.candidates.chunks.outlines)
        similarity = np.zeros((len(compared[0].cosines) if compared else 1, chunks))
        for places, of_folder in zip(self.places, compared, strict=False):
            known = [number for number, chunk in enumerate(of_folder.ids) if chunk in places]
            cosines = np.nan_to_num(of_folder.cosines[:, known])
            similarity[:, [places[of_folder.ids[number]] for number in known]] = cosines
        return similarity

    def coverage(self, pools: Sequence[Pool]) -> Floats:
        """float64[chunks]: how much of a question each chunk holds, 0 to 1, by how much its words tell."""
        chunks, files = self.candidates.chunks, self.candidates.files
        ids = np.array([outline.id for outline in chunks.outlines], np.int64)
        folders = np.array([file.folder for file in files], np.intp)[chunks.files]
        covered = np.zeros(len(ids))
        for folder, pool in enumerate(pools):
            possible = sum(word.weight for word in pool.words) or 1.0
            here = folders == folder
            for word in pool.words:
                covered[here] += word.weight / possible * word.held.holds(ids[here])
        return covered


def _find(every: Sequence[Legs], queries: Sequence[Query], meaning: Meaning | None) -> Sequence[QueryVector]:
    """Run all legs, what can be side by side; the questions' vectors, none where there is no meaning."""
    own, question = every[0], queries[0]
    own.by_name(question)
    embedding: Future[Sequence[QueryVector]] | None = None
    if meaning is not None and question.terms and not (is_identifier(question) and own.is_defined):
        embedding = comparing.submit(meaning.vectors, [query.meant for query in queries])
    others = list(zip(every[1:], queries[1:], strict=True))
    keywords = [side_by_side.submit(legs.by_keywords, query) for legs, query in others]
    own.by_words(question)
    own.by_text(question)
    own.by_reexports(question)
    for task in keywords:
        task.result()
    if embedding is None or meaning is None:
        return ()
    vectors = wait_for_meaning(embedding, own)
    if vectors is None:
        return ()
    for legs, query, vector in zip(every, queries, vectors, strict=True):
        legs.by_meaning(query, meaning, vector)
    return vectors


def _add(own: Legs, legs: Legs, theirs: _Found) -> None:
    """Add what a variation found to what the question found, as candidates: how well they answer is another matter."""
    for pool, keyword, nearest in zip(own.pools, theirs.keyword, theirs.nearest, strict=True):
        pool.found["varied"].update(keyword)
        pool.found["varied"].update(nearest)
    own.problems += legs.problems
    own.broken_off += legs.broken_off
    own.without_vectors |= legs.without_vectors


@frozen(eq=False)
class _Compared:
    """How similar the pooled chunks of one folder are to each question."""

    ids: Sequence[int]
    cosines: Floats
    """float64[questions, n], NaN where a chunk has no vector."""


def _compare(own: Legs, vectors: Sequence[QueryVector], questions: int) -> list[_Compared]:
    """Compare all pooled chunks with all questions."""
    compared = []
    for reader, pool in zip(own.readers, own.pools, strict=True):
        ids = pool.chunks()
        cosines = similarities(vectors, reader, ids) if vectors else np.full((questions, len(ids)), np.nan)
        known = np.flatnonzero(~np.isnan(cosines[0])).tolist()
        pool.found["compared"].update((ids[place], float(cosines[0, place])) for place in known)
        compared.append(_Compared(ids, cosines))
    return compared


def _less(worth: Floats, held_back: Floats) -> Floats:
    """What is left of each passage's worth: never nothing, for a folder of tests alone still has a best one."""
    return np.maximum(worth - held_back, _LEAST_LEFT * worth)


def _share(column: Floats) -> Floats:
    return column / (column.max(initial=0.0) or 1.0)


def _above_usual(cosines: Floats) -> Floats:
    """0 to 1: how far each cosine lies between the median and the highest. Any two texts are somewhat alike."""
    if not cosines.any():
        return cosines
    usual = np.median(cosines)
    return np.maximum(cosines - usual, 0.0) / ((cosines.max() - usual) or 1.0)


def _collections(readers: Sequence[IndexReader], candidates: Candidates) -> NDArray[np.str_]:
    """The collection of each candidate file."""
    names: dict[tuple[int, str], str] = {}
    for folder, reader in enumerate(readers):
        paths = [file.path for file in candidates.files if file.folder == folder]
        indexed = reader.contents(paths)
        names |= {(folder, path): collection for path, (_, collection) in indexed.items()}
        new = {path for path in paths if path not in indexed}  # on the screen alone
        ids = [outline.id for outline in candidates.chunks.outlines if outline.path in new]
        names |= {(folder, stored.path): stored.collection for stored in reader.chunks(ids).values()}
    return np.array([names.get((file.folder, file.path), "") for file in candidates.files], np.str_)
