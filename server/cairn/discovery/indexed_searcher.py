"""The searcher of the nine stages over real indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from cairn.config import SearchSettings
from cairn.discovery.model import ChunkMetadata, ScoredChunk
from cairn.index.known_words import IndexVocabulary
from cairn.index.reader import ChunkFilter, IndexReader
from cairn.retrieval.learned import Learned
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query, understand
from cairn.retrieval.search import EVERYTHING, Ranked, Retrieved, retrieve

_CHUNKS_PER_FILE = 3
"""A search shows one passage a file; evidence wants a file's best few."""
_WHOLE_RANKING = 10_000
"""More than all legs together can find."""


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
        self._full_score = 0.0
        self._understood: dict[str, Query] = {}
        self._rankings: dict[str, Retrieved] = {}
        self._vectors: dict[str, QueryVector] = {}
        self._folders = folders
        self._readers = readers
        self._meaning = meaning
        self._settings = settings
        self._cancelled = cancelled

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """The best `k` chunks of the named collections for each query, best first, scores 0 to 1.

        Scores of different collections are comparable: each query is ranked once, over the whole index. They
        are shares of the best score of the first query, the question itself, since S1's thresholds expect the
        best passages near 1; variations of the question that find less score less.
        """
        self._rank_once(queries)
        named = frozenset(collections)
        answers = []
        for query in queries:
            ranking = self._rankings[query]
            ranked = [r for r in ranking.ranked if r.stored.collection in named][:k]
            if len(ranked) < k and ranking.cut:  # others crowd these collections out
                ranked = list(self._retrieve(query, k, ChunkFilter(collections=tuple(collections))).ranked)
            answers.append([self._scored(r, r.score / (self._full_score or 1.0)) for r in ranked])
        return answers

    def _rank_once(self, queries: Sequence[str]) -> None:
        """Rank each new query; all their vectors come from one model call."""
        new = [query for query in dict.fromkeys(queries) if query not in self._rankings]
        if new and self._meaning:
            understood = [self._understand(query).meant for query in new]
            self._vectors.update(zip(new, self._meaning.vectors(understood), strict=True))
        for query in new:
            self._rankings[query] = self._retrieve(query, _WHOLE_RANKING, EVERYTHING)
            if not self._full_score:
                self._full_score = max((ranked.score for ranked in self._rankings[query].ranked), default=0.0)

    def _understand(self, query: str) -> Query:
        if query not in self._understood:
            vocabulary = IndexVocabulary(self._readers)
            understood = understand(query, vocabulary=vocabulary, settings=self._settings)
            # The first is the question itself, the others are made from it.
            question = next(iter(self._understood), "")
            self._understood[query] = evolve(understood, asked_as=question)
        return self._understood[query]

    def _retrieve(self, query: str, limit: int, only: ChunkFilter) -> Retrieved:
        return retrieve(
            self._readers,
            self._understand(query),
            self._meaning,
            self._settings,
            limit=limit,
            per_file=_CHUNKS_PER_FILE,
            only=only,
            vector=self._vectors.get(query),
            learned=self._learned,
            cancelled=self._cancelled,
        )

    def neighbours(self, chunk: ScoredChunk, window: int) -> list[ScoredChunk]:
        """Up to `window` chunks before and after `chunk` in its file, in file order, scores 0."""
        folder = self._folders.index(chunk.metadata.folder)
        index = chunk.metadata.chunk_index
        around = self._readers[folder].around(chunk.metadata.file_path, index, window)
        return [
            self._scored(Ranked(folder, stored, 0.0, "keyword", ()), 0.0)
            for stored in around
            if stored.chunk.position != index
        ]

    def _scored(self, ranked: Ranked, score: float) -> ScoredChunk:
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
            score=min(1.0, score),
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
