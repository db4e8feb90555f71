"""Choose the chunks to cut into windows, and describe each window in columns. Only the most promising chunks
are cut. This cost none of 95 questions a fact in its first 4,000 tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, cached_property, partial

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.index.reader.bm25 import idf
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.candidates import Floats, coverage, share
from cairn.retrieval.introductions import OPENING_LINES, TOP_LINES, OverviewSubject, introduces, subject_of
from cairn.retrieval.matching import TermMatcher, matcher
from cairn.retrieval.query import Query
from cairn.retrieval.question_kinds import QuestionKind, question_kinds
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.widening import Family, Step, chunks_of, mentioning
from cairn.retrieval.windows import TOKENS, ReadChunk, chunk_lines, group_keys, read_chunks
from cairn.workspace.collections import TEST_MODULES, FileKind

_TOP, _OPENING, _DEFINES = 0.8, 0.6, 0.4
"""The points of a window that introduces a subject: at the top of a README, near the top, as a definition."""
_INTRODUCING_FILES = 8
"""The maximum number of READMEs and similar files whose beginnings are considered for every overview."""
_BY_WORDS, _BY_MEANING = 0.5, 0.7
"""The weights of common words and of cosine similarity in the nearness of a text."""
_WHOLE_FILES = 4
"""The number of best files of which all chunks are considered. With more, the results are the same."""
_MOST_OF_A_FILE = 300
"""The maximum number of chunks considered of one such file. 300 chunks are about 10,000 lines."""


@frozen(eq=False)
class Windows:
    """The windows of the most promising chunks, in columns."""

    query: Query
    table: StaticTable | None
    chunks: Sequence[StoredChunk]
    folders: Sequence[int]
    read: Sequence[ReadChunk]
    chunk_of: NDArray[np.intp]
    """intp[windows]: the index of each window's chunk in `chunks`."""
    spans: Sequence[tuple[int, int]]
    """The lines `[first, last)` of each window, counted from the start of its chunk."""
    families: Sequence[Family]
    """The families that these windows list, if the query wants to add a member."""
    steps: Sequence[Step]
    of_chunk: Mapping[str, Floats]
    """The `file`, `place`, `keyword`, `similarity` and `package` scores, each float64[chunks]."""

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def kinds(self) -> frozenset[QuestionKind]:
        return question_kinds(self.query.wording)

    @cached_property
    def introductions(self) -> Floats:
        """float64[windows]: how well each window introduces the subject of an overview; else 0."""
        wanted = OverviewSubject.by(self.query.wording)
        if wanted is None:
            return np.zeros(len(self))

        def value(stored: StoredChunk, line: int, text: str) -> float:
            if wanted.describes(stored.path, stored.collection, text):
                return 1.0
            opening = wanted.opening(stored.path, stored.collection, stored.chunk.header_path, line)
            begins = _TOP if line < TOP_LINES else _OPENING
            return min(1.0, begins * opening + _DEFINES * wanted.definition_score(text))

        chunks = (self.chunks[number] for number in self.chunk_of)
        lines = (self.at(place)[0] for place in range(len(self)))
        return np.array(list(map(value, chunks, lines, self.texts)))

    @cached_property
    def step_of(self) -> list[Step | None]:
        """The likeliest step that overlaps each window, or None."""
        if not self.steps:
            return [None] * len(self)
        found: list[Step | None] = []
        for place, number in enumerate(self.chunk_of.tolist()):
            lines = self.folders[number], self.chunks[number].path, *self.at(place)
            found.append(next((step for step in self.steps if step.overlaps(*lines)), None))
        return found

    @cached_property
    def in_file(self) -> NDArray[np.intp]:
        """intp[windows, 2]: the lines `[first, last)` of each window in its file."""
        starts = np.array([stored.chunk.start_line for stored in self.chunks], np.intp)
        return np.array(self.spans, np.intp) + starts[self.chunk_of][:, None]

    def at(self, place: int) -> tuple[int, int]:
        """Return a window's lines `[first, last)` in its file."""
        first, last = self.in_file[place].tolist()
        return first, last

    @cached_property
    def keys(self) -> list[tuple[int, ...]]:
        return group_keys(self.query.groups)

    @cached_property
    def _matcher(self) -> TermMatcher:
        return matcher(self.query.groups)

    @cached_property
    def _worth(self) -> Floats:
        return self.idf / (self.idf.sum() or 1.0)

    def coverage(self, text: str) -> float:
        """Return the share of the question's words in a text, weighted by inverse document frequency."""
        return float(sum(self._worth[place] for place in self._matcher.terms_in(text)))

    def terms_in_heading(self, place: int) -> frozenset[int]:
        """Return the positions of the terms in the headings or names around a window."""
        chunk = self.chunks[int(self.chunk_of[place])].chunk
        return frozenset(self._matcher.terms_in(f"{chunk.header_path}\n{chunk.symbol}"))

    def nearness(self, texts: Sequence[str]) -> Floats:
        """Return float64[texts], 0 to 1: how similar each text is to the question in words and meaning."""
        covered = np.array(list(map(self.coverage, texts)), np.float64)
        if self.table is None:
            return covered
        vector = self.table.embed_queries([self.query.meant or self.query.text])[0]
        near = np.asarray(self.table.embed(texts, TOKENS) @ vector, np.float64)
        found: Floats = np.clip(_BY_WORDS * covered + _BY_MEANING * near, 0.0, 1.0)
        return found

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        return np.concatenate([read.lengths for read in self.read])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """intp[windows]: the number of words of each window; 1 for a window without words."""
        return np.maximum(1, self._words)

    @cached_property
    def counts(self) -> Floats:
        """float64[windows, terms]: how often each window contains each term."""
        if not self.keys:
            return np.zeros((len(self), 0))
        words, ends = np.concatenate([read.words for read in self.read]), np.cumsum(self._words)
        found = (np.flatnonzero(_among(words, keys)) for keys in self.keys)
        columns = [np.diff(np.searchsorted(each, ends), prepend=0) for each in found]
        return np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def idf(self) -> Floats:
        holding = (self.counts > 0).sum(axis=0)
        return np.array([idf(each, len(self)) for each in holding.tolist()], np.float64)

    @cached_property
    def _lines_of(self) -> Callable[[int], Sequence[str]]:
        return cache(lambda number: chunk_lines(self.chunks[number].chunk.text))

    def text(self, place: int) -> str:
        first, last = self.spans[place]
        return "\n".join(self._lines_of(int(self.chunk_of[place]))[first:last])

    @cached_property
    def texts(self) -> list[str]:
        return ["\n".join(lines) for lines in self.lines]

    @cached_property
    def lines(self) -> list[Sequence[str]]:
        return [
            self._lines_of(number)[first:last]
            for number, (first, last) in zip(self.chunk_of.tolist(), self.spans, strict=True)
        ]

    @cached_property
    def is_code(self) -> Floats:
        return self.of_chunks([chunk.chunk.type is not ChunkType.PROSE for chunk in self.chunks])

    @cached_property
    def tests(self) -> Floats:
        """float64[windows]: 1 for windows of tests, also of those beside the code that they test."""
        return self.of_chunks(
            [
                each.kind == FileKind.TESTS
                or not TEST_MODULES.isdisjoint(each.chunk.header_path.split(" > "))
                for each in self.chunks
            ]
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.query.names if len(name) > 2)

    def each(self, value: Callable[[Sequence[str]], float]) -> Floats:
        return np.array([value(lines) for lines in self.lines], np.float64)

    def of_kind(self, *kinds: FileKind) -> Floats:
        return self.of_chunks([chunk.kind in kinds for chunk in self.chunks])

    def of_chunks(self, values: Sequence[float] | Floats) -> Floats:
        every: Floats = np.asarray(values, np.float64)[self.chunk_of]
        return every


def _among(words: NDArray[np.int32], keys: Sequence[int]) -> NDArray[np.bool_]:
    """Return bool[words]: whether each word has one of the keys. Few keys make this faster than `isin`."""
    found = np.zeros(len(words), np.bool_)
    for key in keys:
        found |= words == key
    return found


@define
class _Chunk:
    folder: int
    id: int
    file: int
    """The index of its file among the candidate files."""
    keyword: float
    similarity: float
    promise: float


def gather_windows(
    ranking: Ranking,
    table: StaticTable | None,
    most: int,
    files: Set[tuple[int, str]] | None = None,
    listed: Sequence[Family] = (),
    steps: Sequence[Step] = (),
) -> Windows:
    """Return the windows of the `most` most promising chunks, ordered by file. With `files`, only found
    chunks of these are used. Chunks of the `steps`, and those that mention a `listed` family, are added."""
    totals = share(ranking.scores.totals)
    order = np.argsort(-totals, kind="stable")
    every = _candidates(ranking, totals, most, files)
    if files is None:
        every += _of_first_files(ranking, totals, order[:_WHOLE_FILES])
    every.sort(key=lambda chunk: -chunk.promise)
    legs = ranking.legs
    sources: list[Callable[[int, IndexReader], Sequence[int]]] = []
    if listed:
        sources.append(lambda _, reader: mentioning(reader, listed, legs.only))
    if steps:
        sources.append(partial(chunks_of, steps))
    if files is None and subject_of(legs.query.wording):
        sources.append(partial(_openings, ranking))
    every = every[:most]
    for source in sources:
        every += _additional(ranking, {(chunk.folder, chunk.id) for chunk in every}, source)
    found: dict[tuple[int, int], StoredChunk] = {}
    for folder, reader in enumerate(ranking.readers):
        stored = reader.chunks([chunk.id for chunk in every if chunk.folder == folder])
        found.update({(folder, chunk_id): each for chunk_id, each in stored.items()})
    chosen = [(chunk, found[chunk.folder, chunk.id]) for chunk in every if (chunk.folder, chunk.id) in found]
    chosen.sort(key=lambda pair: (pair[0].file, pair[1].chunk.position))
    read = read_chunks([stored for _, stored in chosen], table)
    # The last element stands for files that are not candidates, whose index is -1.
    totals = np.append(totals, 0.0)
    place = np.full(len(totals), len(order), np.intp)
    place[order] = np.arange(len(order))
    file_of = np.array([chunk.file for chunk, _ in chosen], np.intp)
    return Windows(
        ranking.legs.query,
        table,
        [stored for _, stored in chosen],
        [chunk.folder for chunk, _ in chosen],
        read,
        np.repeat(np.arange(len(read)), [len(each.spans) for each in read]),
        [span for each in read for span in each.spans],
        listed,
        steps,
        {
            "file": totals[file_of],
            "place": 1 / np.sqrt(1 + place[file_of]),
            "keyword": np.array([chunk.keyword for chunk, _ in chosen]),
            "similarity": np.array([chunk.similarity for chunk, _ in chosen]),
            "package": np.array([ranking.package(chunk.folder, stored.path) for chunk, stored in chosen]),
        },
    )


def _candidates(
    ranking: Ranking, totals: Floats, most: int, files: Set[tuple[int, str]] | None
) -> list[_Chunk]:
    """Return the `most` most promising chunks that the legs found, only in `files` if given."""
    candidates = ranking.candidates
    keyword = share(candidates.keyword)
    promise = (
        coverage(candidates.ids, candidates.folders, ranking.legs.pools)
        + candidates.similarity
        + 0.3 * keyword
        + 0.8 * totals[candidates.file_of]
        + candidates.exact
        + candidates.symbol
    )
    best = np.argsort(-promise, kind="stable")
    if files is not None:
        is_wanted = np.array([(file.folder, file.path) in files for file in candidates.files], np.bool_)
        best = best[is_wanted[candidates.file_of[best]]]
    best = best[:most]
    places = candidates.folders, candidates.ids, candidates.file_of
    columns = (column[best].tolist() for column in (*places, keyword, candidates.similarity, promise))
    return [_Chunk(*row) for row in zip(*columns, strict=True)]


def _of_first_files(ranking: Ranking, totals: Floats, files: NDArray[np.intp]) -> list[_Chunk]:
    """Return all chunks of these files that no leg found: a function's body seldom has its head's words."""
    candidates = ranking.candidates
    known = set(zip(candidates.folders.tolist(), candidates.ids.tolist(), strict=True))

    def ids_of(folder: int, reader: IndexReader) -> Sequence[int]:
        here = [file.path for file in map(candidates.files.__getitem__, files) if file.folder == folder]
        return reader.leading_chunks(here, _MOST_OF_A_FILE, ranking.legs.only)

    found = _additional(ranking, known, ids_of)
    ids = np.array([chunk.id for chunk in found], np.int64)
    folders = np.array([chunk.folder for chunk in found], np.intp)
    for chunk, words in zip(found, coverage(ids, folders, ranking.legs.pools).tolist(), strict=True):
        chunk.promise = words + chunk.similarity + 0.8 * float(totals[chunk.file])
    return found


def _additional(
    ranking: Ranking, known: Set[tuple[int, int]], ids_of: Callable[[int, IndexReader], Sequence[int]]
) -> list[_Chunk]:
    """Return the chunks that `ids_of` gives for each folder, except those in `known` (folder and id)."""
    places = {(file.folder, file.path): n for n, file in enumerate(ranking.candidates.files)}
    found = []
    for folder, reader in enumerate(ranking.readers):
        new = reader.outlines([each for each in ids_of(folder, reader) if (folder, each) not in known])
        similar = reader.static_similarities(list(new), ranking.vectors[0]) if ranking.vectors and new else {}
        for chunk_id, outline in new.items():
            near = max(0.0, similar.get(chunk_id, 0.0))
            found.append(_Chunk(folder, chunk_id, places.get((folder, outline.path), -1), 0.0, near, 0.0))
    return found


def _openings(ranking: Ranking, folder: int, reader: IndexReader) -> Sequence[int]:
    """Return the first chunks of files that introduce their folder. Files at the top come first."""
    paths = [
        file.path for file in ranking.candidates.files if file.folder == folder and introduces(file.path)
    ]
    paths.sort(key=lambda path: path.count("/"))
    return reader.opening_chunks(paths[:_INTRODUCING_FILES], OPENING_LINES, ranking.legs.only)
