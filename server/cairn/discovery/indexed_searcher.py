"""The searcher that discovery uses for the indexes of folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from types import MappingProxyType

from attrs import define, evolve, field

from cairn.index.queries.file_queries import collections_within
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.protocol.discovery_messages import ChunkMetadata, Excerpt, ScoredChunk
from cairn.retrieval.elsewhere import Elsewhere, Lines, NamedLines
from cairn.retrieval.feedback_values import Learned
from cairn.retrieval.meaning import Meaning, table_of
from cairn.retrieval.packages import package_relevance
from cairn.retrieval.places import Outline, outlines_of_folders
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import EVERYTHING, Ranking, neighbours, rank
from cairn.retrieval.scores import Ranked
from cairn.retrieval.scoring import evidence
from cairn.retrieval.window_ranking import Strength, rank_passages
from cairn.retrieval.windows import Passage
from cairn.settings.tree import SearchSettings
from cairn.text.ranges import ranges_of
from cairn.text.uris import file_uri

_CHUNKS_PER_FILE = 20
"""The maximum number of chunks per file. A search shows one passage per file, but evidence needs several."""


def place(chunk: ScoredChunk) -> tuple[str, str, str, int, str]:
    metadata = chunk.metadata
    return chunk.collection, metadata.folder, metadata.file_path, metadata.chunk_index, chunk.doc_id


def best_first(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Return the chunks by score, highest first, and equal scores by `place`."""
    return sorted(chunks, key=lambda chunk: (-chunk.score, place(chunk)))


def merge(chunks: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Return the chunks as `best_first` does, but each `doc_id` only once, with its best score."""
    merged: dict[str, ScoredChunk] = {}
    for chunk in best_first(chunks):
        merged.setdefault(chunk.doc_id, chunk)
    return list(merged.values())


@define(eq=False)
class IndexedSearcher:
    """Searches the indexes of folders. It keeps the passages found, so that they can be shown as results."""

    _folders: Sequence[str]
    """The URIs of the folders of `_readers`, in the same order."""
    readers: Sequence[IndexReader]
    _meaning: Meaning | None
    _settings: SearchSettings
    _learned: Mapping[int, Learned]
    """The argument `learned` of `rank`."""
    places: ChunkFilter = field(default=EVERYTHING, kw_only=True)
    """The filter of all searches."""
    everywhere: bool = field(default=False, kw_only=True)
    """Whether to rank all collections even if the first search is only about some."""

    without_vectors: bool = field(default=False, init=False)
    """Whether a comparison needed vectors that are missing."""
    found: dict[str, Ranked] = field(factory=dict, init=False)
    """Every passage found so far by `doc_id`, with its best score."""
    _only: ChunkFilter | None = field(default=None, init=False)
    """The filter of the ranking; None before the first search."""
    _rankings: dict[tuple[str, ...], Ranking] = field(factory=dict, init=False)
    _full_score: float = field(default=0.0, init=False)
    _first: Ranking | None = field(default=None, init=False)
    """The ranking of the first search."""

    @cached_property
    def _vocabulary(self) -> IndexVocabulary:
        return IndexVocabulary(self.readers)

    @property
    def whole(self) -> bool:
        """Whether all kinds of search (by vectors, keywords and so on) finished in time in every search."""
        return all(
            ranking.problem is None and not ranking.legs.broken_off for ranking in self._rankings.values()
        )

    @property
    def remark(self) -> str:
        """What to tell the user about the first search."""
        return self._first.legs.remark if self._first else ""

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """Return the best `k` chunks of the collections for each query, best first, with scores 0 to 1. The
        first query is the question, and the others are variations of it. One ranking serves all queries.

        Scores are relative to the best score for the first query of the first search, because the stages'
        thresholds expect that the best passages score near 1. Only the collections of the first search are
        ranked. Later searches select from them, so that scores in different collections are comparable.
        """
        if not queries:
            return []
        is_first = self._only is None
        if self._only is None:
            here = (collections_within(reader, self.places) for reader in self.readers)
            every = {stats.name for of_reader in here for stats in of_reader}
            is_all = self.everywhere or every <= set(collections)
            self._only = self.places if is_all else evolve(self.places, collections=tuple(collections))
        ranking = self._ranked(tuple(queries), self._only)
        places = [ranking.best(number, collections, k, _CHUNKS_PER_FILE) for number in range(len(queries))]
        fetched = ranking.fetch(place for of_query in places for place in of_query)
        found = [
            [
                self._scored(evolve(fetched[place], score=float(ranking.values[number, place])))
                for place in of_query
                if place in fetched
            ]
            for number, of_query in enumerate(places)
        ]
        if is_first and (introductions := self._introductions(collections)):
            found[0] = merge([*introductions, *found[0]])
        return found

    def _introductions(self, collections: Sequence[str]) -> list[ScoredChunk]:
        """Return the chunks that introduce the subject of an overview."""
        found = self.strength.introductions if self.strength else ()
        chunks = [
            self._scored(Ranked(folder, stored, self._full_score, "hybrid", ())) for folder, stored in found
        ]
        return [chunk for chunk in chunks if chunk.collection in collections]

    def _ranked(self, queries: tuple[str, ...], only: ChunkFilter) -> Ranking:
        if known := self._rankings.get(queries):
            return known
        every = [understand(query, vocabulary=self._vocabulary, settings=self._settings) for query in queries]
        ranking = self._rankings[queries] = rank(
            self.readers,
            [
                evolve(query, for_evidence=True, original_wording=every[0].wording if number else "")
                for number, query in enumerate(every)
            ],
            self._meaning,
            self._settings,
            scoring=evidence,
            only=only,
            learned=self._learned,
        )
        self.without_vectors |= ranking.legs.without_vectors
        self._first = self._first or ranking
        if not self._full_score:
            self._full_score = float(ranking.values.max(initial=0.0))
        return ranking

    def package_relevance(self, query: str, collections: Sequence[str]) -> Mapping[str, float]:
        """Return how much the question is about a collection's package, 0 to 1, by collection."""
        if not query.strip():
            return {}
        understood = understand(query, vocabulary=self._vocabulary, settings=self._settings)
        every = package_relevance(self.readers, understood, table_of(self._meaning))
        relevance = {name: value for packages in every for name, value in packages.by_project.items()}
        projects = {name: name.rpartition("-")[0] for name in collections}
        return {name: relevance[project] for name, project in projects.items() if project in relevance}

    def neighbours(self, chunks: Sequence[ScoredChunk], window: int) -> list[list[ScoredChunk]]:
        """Return, for each chunk, up to `window` chunks before and after it in its file, in order."""
        results = [self.found[chunk.doc_id] for chunk in chunks]
        return [
            [self._scored(Ranked(result.folder, stored, 0.0, "keyword", ())) for stored in around]
            for result, around in zip(results, neighbours(results, self.readers, window), strict=True)
        ]

    def passages(self) -> Sequence[Passage]:
        return self._passages[0]

    @cached_property
    def outlines(self) -> Mapping[tuple[int, str], Outline]:
        """The outlines of the files with passages, by folder and path."""
        return outlines_of_folders(self.readers, ((each.folder, each.stored) for each in self.passages()))

    def elsewhere(
        self, shown: Sequence[Excerpt], known: Mapping[str, Set[int]] = MappingProxyType({})
    ) -> list[NamedLines]:
        """Return further places, best first, if these excerpts are shown, and earlier the lines `known` of
        the files at these URIs."""
        number = {uri: folder for folder, uri in enumerate(self._folders)}
        lines = [
            Lines(number[each.folder], each.path, each.range.start.line, each.range.end.line)
            for each in shown
        ]
        for folder, path in self.outlines if known else ():
            here = known.get(file_uri(self._folders[folder], path), frozenset())
            lines += [Lines(folder, path, first, last) for first, last in ranges_of(here)]
        return Elsewhere(self.readers, self.outlines).places(self.passages(), lines)

    @property
    def strength(self) -> Strength | None:
        """The evidence that the passages answer the question; None if nothing was found."""
        return self._passages[1]

    @cached_property
    def _passages(self) -> tuple[Sequence[Passage], Strength | None]:
        return rank_passages(self._first, table_of(self._meaning)) if self._first else ((), None)

    def _scored(self, ranked: Ranked) -> ScoredChunk:
        stored, chunk = ranked.stored, ranked.stored.chunk
        folder = self._folders[ranked.folder]
        doc_id = f"{folder}/{stored.path}#{chunk.position}"
        known = self.found.get(doc_id)
        if known is None or ranked.score > known.score:
            self.found[doc_id] = ranked
        return ScoredChunk(
            collection=stored.collection,
            doc_id=doc_id,
            content=chunk.text,
            score=min(1.0, ranked.score / (self._full_score or 1.0)),
            metadata=ChunkMetadata(
                file_path=stored.path,
                chunk_index=chunk.position,
                file_extension=stored.path.rpartition("/")[2].rpartition(".")[2].lower(),
                line_range=(chunk.start_line, chunk.end_line),
                folder=folder,
                chunk_type=chunk.type.value,
                language=chunk.language,
                title=chunk.title,
                header_path=chunk.header_path,
                symbol=chunk.symbol,
                signature=chunk.signature,
                comment=chunk.comment,
                content_hash=stored.content_hash,
            ),
        )
