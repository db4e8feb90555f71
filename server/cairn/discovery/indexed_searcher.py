"""The searcher of the nine stages over real indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from cairn.config import SearchSettings
from cairn.discovery.model import ChunkMetadata, ScoredChunk
from cairn.index.known_words import IndexVocabulary
from cairn.index.reader import ChunkFilter, IndexReader
from cairn.retrieval.learned import Learned
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import Query, understand
from cairn.retrieval.search import EVERYTHING, Ranked
from cairn.retrieval.together import Ranking, rank_together

_CHUNKS_PER_FILE = 20
"""A search shows one passage a file; evidence wants a file's best few."""


class IndexedSearcher:
    """Searches the given folders' indexes; remembers what it found, so that it can be shown as results."""

    def __init__(
        self,
        folders: Sequence[str],
        readers: Sequence[IndexReader],
        meaning: Meaning | None,
        settings: SearchSettings,
        cancelled: Callable[[], bool],
        learned: Mapping[int, Learned],
    ) -> None:
        """`folders` are the URIs of the folders that `readers` read, in the same order; `learned` is `retrieve`'s."""
        self._learned = learned
        self.found: dict[str, Ranked] = {}
        """Every passage found so far by `doc_id`, with its best score."""
        self._rankings: dict[tuple[tuple[str, ...], ChunkFilter], Ranking] = {}
        self._full_score = 0.0
        self._folders = folders
        self._readers = readers
        self._meaning = meaning
        self._settings = settings
        self._cancelled = cancelled
        self._vocabulary = IndexVocabulary(readers)
        self._collections = frozenset(c.name for reader in readers for c in reader.stats().collections)

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """The best `k` chunks of the named collections for each query, best first, scores 0 to 1.

        The first query is the question, the others vary it: all are ranked in one pass. Scores are shares of the best
        score of the question that was searched first, since S1's thresholds expect the best passages near 1; those of
        different collections are comparable.
        """
        if not queries:
            return []
        ranking = self._ranked(queries, EVERYTHING)
        best = self._best(ranking, len(queries), collections, k)
        if ranking.cut and len(best[0]) < k and not self._collections <= set(collections):
            # Others crowd these collections out.
            ranking = self._ranked(queries[:1], ChunkFilter(collections=tuple(collections)))
            best[0] = self._best(ranking, 1, collections, k)[0]
        return best

    def _best(
        self, ranking: Ranking, queries: int, collections: Sequence[str], k: int
    ) -> list[list[ScoredChunk]]:
        places = [ranking.best(number, collections, k, _CHUNKS_PER_FILE) for number in range(queries)]
        fetched = ranking.fetch(place for of_query in places for place in of_query)
        return [
            [
                self._scored(evolve(fetched[place], score=float(ranking.values[number, place])))
                for place in of_query
                if place in fetched
            ]
            for number, of_query in enumerate(places)
        ]

    def _ranked(self, queries: Sequence[str], only: ChunkFilter) -> Ranking:
        key = tuple(queries), only
        if key not in self._rankings:
            self._rankings[key] = rank_together(
                self._readers,
                self._understood(queries),
                self._meaning,
                self._settings,
                only=only,
                learned=self._learned,
                cancelled=self._cancelled,
            )
            if not self._full_score:
                self._full_score = float(self._rankings[key].values.max(initial=0.0))
        return self._rankings[key]

    def _understood(self, queries: Sequence[str]) -> list[Query]:
        question = understand(queries[0], vocabulary=self._vocabulary, settings=self._settings)
        # Variations are made of the question's words: what is mistyped in it is repaired there.
        return [
            question,
            *(
                evolve(
                    understand(query, vocabulary=self._vocabulary, settings=self._settings),
                    asked_as=queries[0],
                )
                for query in queries[1:]
            ),
        ]

    def neighbours(self, chunk: ScoredChunk, window: int) -> list[ScoredChunk]:
        """Up to `window` chunks before and after `chunk` in its file, in file order, scores 0."""
        folder = self._folders.index(chunk.metadata.folder)
        index = chunk.metadata.chunk_index
        around = self._readers[folder].around(chunk.metadata.file_path, index, window)
        return [
            self._scored(Ranked(folder, stored, 0.0, "keyword", ()))
            for stored in around
            if stored.chunk.position != index
        ]

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
