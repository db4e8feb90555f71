"""Collect the candidates for ranking: pool what the legs of a query find in each index, shorten the list, and
collect the scores of the files and chunks that are left. The legs find thousands of chunks, because each leg
finds what others miss. By a rough score of every chunk, the files that later rank in the top ten are among
the first few hundred, so ranking reads details of these only."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, groupby, repeat
from operator import attrgetter
from typing import NamedTuple, cast

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from cairn.index.queries.file_queries import copies_among, file_ids, in_degrees
from cairn.index.queries.found_words import FoundWords
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import Hit, Outline
from cairn.retrieval.file_names import name_stems


@frozen
class QueryWord:
    stems: frozenset[str]
    idf: float
    postings: Postings


@define
class Pool:
    """The results of all legs in one index."""

    found: defaultdict[str, dict[int, float]] = field(factory=lambda: defaultdict(dict))
    """The score of each chunk, by leg and chunk id."""
    words: list[QueryWord] = field(factory=list)
    """The query's words without those that occur almost everywhere."""
    keywords: FoundWords = field(factory=FoundWords)
    """The query's words and other spellings, with the BM25 score of every chunk, whichever leg found it."""
    files: dict[str, None] = field(factory=dict)
    """The paths of files found as wholes, as keys. The values are unused."""
    named: Mapping[str, float] = field(factory=dict)
    """The likelihood that the query means each file which it names, 1 at most, by path."""
    subjects: Mapping[str, float] = field(factory=dict)
    """The BM25 score of each file's commit subjects, divided by the highest possible score, by path."""
    containing: set[int] | None = None
    """The chunks that contain the texts that results must contain; None if no such text was searched for."""

    def add(self, leg: str, hits: Iterable[Hit]) -> None:
        self.found[leg].update((hit.chunk_id, hit.score) for hit in hits)

    def chunks(self) -> list[int]:
        return list(dict.fromkeys(chain.from_iterable(self.found.values())))

    def keep(self, chunks: Set[int]) -> None:
        """Drop all other chunks."""
        for leg, found in self.found.items():
            self.found[leg] = {chunk: score for chunk, score in found.items() if chunk in chunks}

    def legs_of(self, chunk: int) -> set[str]:
        return {leg for leg, found in self.found.items() if chunk in found}


Floats = NDArray[np.float64]

_SCORED_LEGS = ("symbol", "exact", "reexport", "named")
_COSINES = ("similarity", "compared")
_NOT_FOUND: Mapping[str, float] = {**dict.fromkeys(_SCORED_LEGS, 0.0), **dict.fromkeys(_COSINES, math.nan)}
"""The score that each leg gives a chunk that it did not find."""
_NOTHING = np.empty(0)
_CHUNKS_OF_A_FILE = 3
"""How many chunks are added for a file that was found as a whole, by its path or its commits."""


class FileCandidate(NamedTuple):
    """A file that was found as a whole or by at least one of its chunks. A tuple is created much faster than
    an attrs object."""

    folder: int
    path: str
    kind: str
    folders: str
    """The path without the file's name."""
    subjects: float = 0.0
    """The BM25 score of the subjects of the file's commits, divided by the highest possible score."""
    in_degree: int = 0
    words: float = 0.0
    """The share of the query's words that the file's name and candidate chunks contain, weighted by inverse
    document frequency. A word that they contain only in text counts half."""
    is_copy: bool = False
    is_named: float = 0.0
    """How likely a path in the query means this file, 1 at most."""


@frozen(eq=False)
class Candidates:
    """Files ordered by folder and path, and their chunks ordered by position. The data of chunks is stored in
    columns: with an object for each chunk, ranking 400 chunks took twice as long. Each column of scores has
    one value for every chunk, 0 where a leg did not find the chunk."""

    files: tuple[FileCandidate, ...]
    outlines: Sequence[Outline]
    file_of: NDArray[np.intp]
    """The index of each chunk's file in `files`: intp[n], ascending. Each file has at least one chunk."""
    keyword: Floats
    """The BM25 score over all text columns of the index: float64[n], as are the other scores."""
    definition: Floats
    """The BM25 score over the names that the chunk defines."""
    symbol: Floats
    """How well the chunk's definitions match the name in the query, 1 at most."""
    similarity: Floats
    """The cosine similarity of the chunk to the query's vector, 0 to 1."""
    exact: Floats
    """How well the chunk matches the literal text of the query, 1 at most."""
    reexport: Floats
    named: Floats
    """The total weight of the definitions in the chunk that an error report names."""
    _starts: NDArray[np.intp] = field(init=False)

    @_starts.default
    def _first_of_each(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.diff(self.file_of, prepend=-1))

    def best(self, column: Floats) -> Floats:
        """Return float64[files]: the highest value of each file's chunks."""
        return np.maximum.reduceat(column, self._starts) if len(column) else column

    def decayed(self, column: Floats, shares: Sequence[float]) -> Floats:
        """Return float64[files]: the sum of each file's highest values, weighted by `shares` in order."""
        if not len(column):
            return column
        highest_first = column[self.ordered(column)]
        places = self.places()
        counted = np.asarray((*shares, 0.0))[np.minimum(places, len(shares))]
        return np.add.reduceat(highest_first * counted, self._starts)

    def ordered(self, column: Floats) -> NDArray[np.intp]:
        """Return intp[n]: the indexes of the chunks, by file, and in each file the highest values first."""
        return np.lexsort((-column, self.file_of))

    def places(self) -> NDArray[np.intp]:
        """Return intp[n]: the position of each chunk among the chunks of its file, from 0."""
        return np.arange(len(self.file_of)) - self._starts[self.file_of]

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        return np.array([outline.id for outline in self.outlines], np.int64)

    @cached_property
    def preambles(self) -> NDArray[np.bool_]:
        # Most chunks define a name, so that this settles most of them.
        return np.array([each.names == "[]" and each.is_preamble for each in self.outlines], np.bool_)

    @cached_property
    def folders(self) -> NDArray[np.intp]:
        return np.array([file.folder for file in self.files], np.intp)[self.file_of]

    @cached_property
    def _places(self) -> Mapping[tuple[int, int], int]:
        folders_and_ids = zip(self.folders.tolist(), self.ids.tolist(), strict=True)
        return {key: place for place, key in enumerate(folders_and_ids)}

    def keywords(self, pools: Sequence[Pool]) -> Floats:
        """Return float64[n]: the BM25 scores of the chunks for another query, whose results are `pools`."""
        column = np.zeros(len(self.ids))
        for folder, pool in enumerate(pools):
            here = self.folders == folder
            column[here] = pool.keywords.scores(self.ids[here])
        return column

    def column(self, found: Sequence[Mapping[int, float]]) -> Floats:
        """Return the scores in `found`, by folder and chunk id, as float64[n]; 0 for chunks without one."""
        column = np.zeros(len(self.ids))
        for folder, of_folder in enumerate(found):
            for chunk, value in of_folder.items():
                place = self._places.get((folder, chunk))
                if place is not None:
                    column[place] = value
        return column


def add_whole_files(readers: Sequence[IndexReader], pools: Sequence[Pool], only: ChunkFilter) -> None:
    """Add leading chunks of each file that was found as a whole and has no found chunk."""
    for reader, pool in zip(readers, pools, strict=True):
        found = set(reader.columns().files_of(np.array(pool.chunks(), np.int64)).tolist())
        numbers = file_ids(reader, pool.files)
        missing = [path for path in pool.files if numbers.get(path) not in found]
        added = reader.leading_chunks(missing, _CHUNKS_OF_A_FILE, only) if missing else []
        pool.found["file"].update(dict.fromkeys(added, 1.0))


def gather(
    readers: Sequence[IndexReader], pools: Sequence[Pool], outlines: Sequence[Mapping[int, Outline]]
) -> Candidates:
    """Build the candidates from the pooled chunks. A chunk without a vector gets an average similarity, so
    that chunks which already have a vector gain no advantage while vectors are computed."""
    files: list[FileCandidate] = []
    file_of: list[int] = []
    every: list[Outline] = []
    columns: dict[str, list[float]] = {leg: [] for leg in _NOT_FOUND}
    keyword, definition = [_NOTHING], [_NOTHING]
    for folder, (reader, pool, known) in enumerate(zip(readers, pools, outlines, strict=True)):
        ordered = sorted(known.values(), key=attrgetter("path", "position"))
        by_path = {path: list(of_file) for path, of_file in groupby(ordered, key=attrgetter("path"))}
        for place, of_file in enumerate(by_path.values(), len(files)):
            file_of += [place] * len(of_file)
        files += _files(folder, reader, pool, by_path)
        every += ordered
        ids = [outline.id for outline in ordered]
        chunks = np.array(ids, np.int64)
        keyword.append(pool.keywords.scores(chunks))
        definition.append(pool.keywords.scores_by_names(chunks))
        for leg, missing in _NOT_FOUND.items():
            found = pool.found.get(leg, {})
            columns[leg] += map(found.get, ids, repeat(missing)) if found else repeat(missing, len(ids))
    by_leg = {leg: np.asarray(column, np.float64) for leg, column in columns.items()}
    return Candidates(
        tuple(files),
        every,
        np.asarray(file_of, np.intp),
        keyword=np.concatenate(keyword),
        definition=np.concatenate(definition),
        similarity=_similarity(*(by_leg[leg] for leg in _COSINES)),
        **{leg: by_leg[leg] for leg in _SCORED_LEGS},
    )


def _files(
    folder: int, reader: IndexReader, pool: Pool, chunks: Mapping[str, Sequence[Outline]]
) -> list[FileCandidate]:
    imported, copies = in_degrees(reader, chunks), copies_among(reader, chunks)
    return [
        FileCandidate(
            folder,
            path,
            of_file[0].kind,
            path.rpartition("/")[0],
            pool.subjects.get(path, 0.0),
            imported.get(path, 0),
            words,
            path in copies,
            pool.named.get(path, 0.0),
        )
        for (path, of_file), words in zip(chunks.items(), _word_coverage(pool, chunks), strict=True)
    ]


def _word_coverage(pool: Pool, chunks: Mapping[str, Sequence[Outline]]) -> list[float]:
    possible = sum(word.idf for word in pool.words)
    if not chunks or not possible:
        return [0.0] * len(chunks)
    ids = np.array([outline.id for of_file in chunks.values() for outline in of_file], np.int64)
    starts = np.cumsum([0, *map(len, chunks.values())])[:-1]
    wanted = frozenset().union(*(word.stems for word in pool.words))
    in_names = ((file, wanted.intersection(name_stems(path))) for file, path in enumerate(chunks))
    names = {file: stems for file, stems in in_names if stems}
    covered = np.zeros(len(chunks))
    for word in pool.words:
        share = np.maximum.reduceat(word.postings.shares(ids), starts)
        share[[file for file, stems in names.items() if not stems.isdisjoint(word.stems)]] = 1.0
        covered += word.idf * share
    return cast("list[float]", (covered / possible).tolist())


def _similarity(found: Floats, compared: Floats) -> Floats:
    """Return each chunk's cosine similarity to the query. A chunk without a vector gets the mean of the
    others."""
    cosines = np.where(np.isnan(found), compared, found)
    unknown = np.isnan(cosines)
    if unknown.all():
        return np.zeros_like(cosines)
    if unknown.any():
        cosines[unknown] = cosines[~unknown].mean()
    return np.maximum(cosines, 0.0)


MOST_FILES = 200
_MOST_OF_A_FILE = 12
"""The maximum number of chunks ranked of one file. No signal uses more than eight."""
_ALWAYS_RANKED = ("symbol", "exact", "reexport", "file", "named", "called")
"""The legs whose chunks are always ranked."""
_BEST, _SUM, _COVERED, _MEANING = 0.5, 1.5, 1.5, 3.5
"""The weights of the strongest signals, as in `retrieval/signals.py`."""
_DECAY = 0.7 ** np.arange(8)


def shortlist(reader: IndexReader, pool: Pool) -> list[int]:
    """Return the ids of the chunks to rank: those of promising files, and all that must be ranked."""
    ids = np.array(pool.chunks(), np.int64)
    files = reader.columns().files_of(ids)
    always = np.isin(ids, [chunk for leg in _ALWAYS_RANKED for chunk in pool.found.get(leg, ())])
    always |= np.isin(files, list(file_ids(reader, pool.files).values()))
    if len(np.unique(files)) <= MOST_FILES:
        return cast("list[int]", ids.tolist())
    keyword = share(pool.keywords.scores(ids))
    cosines: dict[int, float] = {}
    for leg in ("compared", "similarity"):
        cosines |= pool.found.get(leg, {})
    near = np.fromiter(map(cosines.get, ids.tolist(), repeat(0.0)), np.float64, len(ids))
    meaning = share(np.maximum(near, 0.0))
    covered = np.zeros(len(ids))
    for word in pool.words:
        covered += word.idf * word.postings.shares(ids)
    worth = keyword + meaning
    order = np.lexsort((-worth, files))
    ids, files, always = ids[order], files[order], always[order]
    keyword, meaning, covered = keyword[order], meaning[order], share(covered[order])
    starts = np.flatnonzero(np.diff(files, prepend=np.iinfo(np.int64).min))
    file_of = np.cumsum(np.diff(files, prepend=files[0]) != 0)
    place = np.arange(len(ids)) - starts[file_of]
    decayed = keyword * np.append(_DECAY, 0.0)[np.minimum(place, len(_DECAY))]
    totals = (
        _BEST * np.maximum.reduceat(keyword, starts)
        + _SUM * share(np.add.reduceat(decayed, starts))
        + _COVERED * np.maximum.reduceat(covered, starts)
        + _MEANING * np.maximum.reduceat(meaning, starts)
    )
    first = np.zeros(len(starts), np.bool_)
    first[np.argsort(-totals, kind="stable")[:MOST_FILES]] = True
    chosen = always | (first[file_of] & (place < _MOST_OF_A_FILE))
    return cast("list[int]", ids[chosen].tolist())


def share(column: Floats) -> Floats:
    """Return `column` divided by its maximum."""
    shares: Floats = column / (column.max(initial=0.0) or 1.0)
    return shares


def coverage(ids: NDArray[np.int64], folders: NDArray[np.intp], pools: Sequence[Pool]) -> Floats:
    """Return float64[chunks], 0 to 1: the share of the query's words in each chunk, weighted by idf."""
    covered = np.zeros(len(ids))
    for folder, pool in enumerate(pools):
        possible = sum(word.idf for word in pool.words) or 1.0
        here = folders == folder
        for word in pool.words:
            covered[here] += word.idf / possible * word.postings.contain(ids[here])
    return covered
