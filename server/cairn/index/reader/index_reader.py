"""The interface for reading one index: an index file or a team's database, with or without unsaved text over
it.

A reader has a catalogue and a store. The catalogue describes files: paths, collections, the words of paths
and commits, imports, history and copies. It is small and always a SQLite connection, which `select` queries.
The store describes chunks: texts, words, vectors, definitions and symbols. Each kind of index implements the
abstract methods for its own store.
"""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, evolve

from cairn.index.reader.bm25 import Statistics
from cairn.index.reader.exact import ExactMatches, Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_memory import ConnectedReader, Row
from cairn.index.reader.records import (
    CollectionStats,
    ColumnWeights,
    FoundName,
    Hit,
    IndexStats,
    KeywordCounts,
    LanguageStats,
    Outline,
    StoredChunk,
)
from cairn.index.store.caches import ContentCache
from cairn.index.store.deadline import Deadline
from cairn.index.store.meta import Facts, known_facts

# Only methods that compare vectors import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.reader.postings import ChunkColumns, Ids, Postings

T = TypeVar("T")

_LAST_LINE = 2**31 - 1
_TEXTS_AT_ONCE = 256
"""The number of chunks whose texts are read in one query."""
_MOST_DEFINITIONS = 12
"""The maximum number of chunks that define a distinctive name. `get` would cause thousands of lookups."""
MAX_NEIGHBOURS = 200
"""The maximum number of neighbours that a query may request. sqlite-vec's cost grows with the square of this
number (docs/design.md)."""


@define(eq=False, slots=False)
class IndexReader(ConnectedReader, ABC):
    """Reads one index from any thread. Every result is empty while there is no index."""

    @property
    def key(self) -> Hashable:
        """The reader's part of a cache key. Readers of equal key and generation return equal results."""
        return self

    # --- unsaved text -------------------------------------------------------------------------------

    @property
    def saved(self) -> IndexReader:
        """The reader of the index alone, without unsaved text."""
        return self

    @property
    def sources(self) -> Sequence[IndexReader]:
        """The readers that this one combines: that of the index, and that of unsaved text if any."""
        return (self,)

    @property
    def hidden(self) -> Sequence[str]:
        """The paths of the files whose unsaved text replaces their saved text."""
        return ()

    @property
    def has_unsaved(self) -> bool:
        """Whether there is unsaved text, which changes with every keystroke."""
        return len(self.sources) > 1

    def by_source(self, ids: Iterable[int]) -> Iterator[tuple[IndexReader, int, list[int]]]:
        """Yield each source that contains some of the chunks `ids`, a sign, and the source's own ids of these
        chunks. The sign (1 or -1) times the source's own id is the id in this reader."""
        every, saved = list(ids), self.saved
        for source in self.sources:
            sign = 1 if source is saved else -1
            wanted = [sign * each for each in every if sign * each > 0]
            if wanted:
                yield source, sign, wanted

    # --- words --------------------------------------------------------------------------------------

    @abstractmethod
    def word_counts(self, texts: Iterable[str], bound: int) -> KeywordCounts:
        """Return the number of chunks that contain each word or phrase. Counting stops at `bound`."""

    @abstractmethod
    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        """Return the postings of words and phrases, without those that could not be read in time. `texts`
        maps each word or phrase to the number of chunks that contain it."""

    @abstractmethod
    def columns(self) -> ChunkColumns:
        """Return the file and the length of each chunk."""

    @abstractmethod
    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
    ) -> list[Hit]:
        """Return the best chunks by BM25 that contain any of `words` (words or phrases), best first."""

    @abstractmethod
    def statistics(self, words: Sequence[str]) -> Statistics:
        """Return the figures of the whole index that BM25 needs for these words."""

    @abstractmethod
    def absent(self, words: Sequence[str]) -> list[str]:
        """Return the words that neither a chunk nor a path contains. `words` are in lower case."""

    @abstractmethod
    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each stem, without stems that do not occur."""

    @abstractmethod
    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        """Return the stems with this prefix and their numbers of chunks; empty if the deadline passes."""

    @abstractmethod
    def is_named(self, word: str) -> bool:
        """Whether a chunk defines a name that contains the word in any inflection."""

    # --- texts --------------------------------------------------------------------------------------

    @abstractmethod
    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        """Return all chunks of `first` that contain `literal` verbatim, and up to `limit` other such chunks.
        The chunks `first` must pass `only`, and are searched before all others. If the deadline passes, the
        result is incomplete. Cancellation raises QueryCancelledError."""

    @abstractmethod
    def proposed(self, literals: Iterable[Literal], only: ChunkFilter) -> Ids:
        """Return the chunks that pass and may contain one of the literals in any case, int64[n]. No other
        chunk contains one. Without literals, return all chunks that pass."""

    def chunk_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, int, str]]:
        """Yield the id, the first line and the text of each of these chunks that still exists."""
        waiting = iter(ids)
        while batch := list(itertools.islice(waiting, _TEXTS_AT_ONCE)):
            for chunk_id, stored in self.chunks(batch).items():
                yield chunk_id, stored.chunk.start_line, stored.chunk.text

    # --- chunks -------------------------------------------------------------------------------------

    @abstractmethod
    def admitted(self, only: ChunkFilter) -> Ids | None:
        """Return the chunks that pass, hidden ones included, int64[n], ascending; None if all pass."""

    @abstractmethod
    def chunks_in(self, paths: Sequence[str]) -> Ids:
        """Return the chunks of these files, int64[n]."""

    @abstractmethod
    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """Return the chunks with these ids that still exist."""

    @abstractmethod
    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        """Return the outlines of the chunks with these ids that still exist."""

    @abstractmethod
    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        """Return up to `per_file` chunks of each file: those with definitions, or else the first chunks."""

    @abstractmethod
    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        """Return the saved chunks that begin within the first `lines` lines of these files, file by file."""

    @abstractmethod
    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """Return the ids of each file's chunks in order, without files that have no chunks."""

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        """Return up to `window` chunks on each side of each place (path, position), in file order."""
        wanted = list(places)
        of_file = self.chunk_ids({path for path, _ in wanted})
        around: dict[tuple[str, int], list[int]] = {}
        for path, at in wanted:
            ids = of_file.get(path, [])
            around[path, at] = [*ids[max(0, at - window) : at], *ids[at + 1 : at + 1 + window]]
        chunks = self.chunks({each for ids in around.values() for each in ids})
        found = {place: [chunks[each] for each in ids if each in chunks] for place, ids in around.items()}
        return {place: near for place, near in found.items() if near}

    def page(self, path: str) -> list[StoredChunk]:
        """Return all chunks of a file in order; empty for a path that is not indexed."""
        return self.between(path, -1, _LAST_LINE)

    @abstractmethod
    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        """Return the chunks of a file that overlap its lines `[first, last)`, in order."""

    @abstractmethod
    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        """Return the files that have a chunk with this content hash. `path` limits this to one file."""

    @abstractmethod
    def has_language(self, language: str) -> bool:
        """Whether the index has a chunk in the language."""

    # --- definitions and symbols --------------------------------------------------------------------

    @abstractmethod
    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Return chunks that define one of `names`. The score is 1, or 0.9 if the name differs in case."""

    @abstractmethod
    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Return chunks that define one of `names` in `owner`, a type or module, scored like `defining`."""

    @abstractmethod
    def definitions(self, names: Sequence[str], most: int, of_each: int) -> list[FoundName]:
        """Return up to `most` definitions of `names` in any case, in the order of `names`, and up to
        `of_each` for one name."""

    def definitions_of(self, names: Iterable[str], most: int = _MOST_DEFINITIONS) -> list[FoundName]:
        """Return the definitions of these exact names, without names that more than `most` chunks define in
        any case."""
        wanted = dict.fromkeys(names)
        found = dict.fromkeys(self.definitions(list(wanted), len(wanted) * (most + 1), most + 1))
        times = Counter(each.name.lower() for each in found)
        return [each for each in found if each.name in wanted and times[each.name.lower()] <= most]

    @abstractmethod
    def names_matching(self, first: str, pattern: str) -> list[str]:
        """Return the shortest names that begin with `first` and match the LIKE pattern, both in any case."""

    @abstractmethod
    def symbols_with_words(self, words: Sequence[str], limit: int) -> list[tuple[int, str]]:
        """Return the ids and file paths of symbol tables that contain all these words."""

    @abstractmethod
    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        """Return the symbol tables with these ids that still exist."""

    # --- vectors ------------------------------------------------------------------------------------

    @abstractmethod
    def nearest_static(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        """Return the chunks whose static vectors are nearest to `vector`, int8[dimension], by cosine."""

    @abstractmethod
    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        """Return the cosine similarity of these chunks' static vectors to `vector`, int8[dimension]."""

    @abstractmethod
    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return the ids of the chunks with a static vector, int64[n], and these, int8[n, dimension]."""

    # --- files and facts ----------------------------------------------------------------------------

    def select_all(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one query in all sources, unsaved text last."""
        return [row for source in self.sources for row in source.select(sql, values)]

    def symbols_at(self, paths: Sequence[str]) -> list[tuple[int, str]]:
        """Return the id of the symbol table and the path of each file that has a symbol table."""
        sql = """SELECT f.symbols_id, f.path FROM json_each(?) w CROSS JOIN files f ON f.path = w.value
            WHERE f.symbols_id IS NOT NULL"""
        return [(number, path) for number, path in self.select(sql, (json.dumps(list(paths)),))]

    def static_table(self) -> str:
        """Return the name of the table that the static vectors are from, "" for none. Vectors from different
        tables are not comparable."""
        sql = "SELECT key, value FROM meta WHERE key IN ('has_static', 'static_table')"
        meta: dict[str, object] = dict(self.select(sql))
        return str(meta.get("static_table", "")) if meta.get("has_static") else ""

    def contents(self, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the content hash and the collection of each of `paths` that is indexed."""
        named = "path IN (SELECT value FROM json_each(?))"
        sql = f"SELECT path, lower(hex(content_hash)), collection FROM files WHERE {named}"
        rows = self.select(sql, (json.dumps(list(paths)),))
        return {path: (content_hash, collection) for path, content_hash, collection in rows}

    def facts(self) -> Facts:
        with self.reading() as db:
            return known_facts(db)

    def generation(self) -> int:
        """Return a number that rises with every change of the index; 0 while there is none."""
        return self.facts().generation

    def version(self) -> object:
        """Return an object that changes when values derived from the saved index must be refreshed."""
        return self.cached("version", object)

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, cached under this name in a ContentCache of the saved index."""
        with self.reading() as db:
            facts = known_facts(db)
        cache: ContentCache[T] = self.memory.derived.setdefault(name, ContentCache())
        return cache.get(self.memory.local.identity, facts, make)

    def has_requests(self) -> bool:
        """Whether a request to the writing process is still pending."""
        return bool(self.select("SELECT 1 FROM requests LIMIT 1"))

    def stats(self) -> IndexStats:
        """Return the current facts of the index, and counts of files and chunks from a ContentCache."""
        return evolve(self.cached("stats", self._counted), facts=self.facts())

    def languages(self) -> tuple[LanguageStats, ...]:
        """Return the numbers of files and chunks by collection and language, from a ContentCache."""
        return self.cached("languages", self.counted_languages)

    @abstractmethod
    def counted_languages(self) -> tuple[LanguageStats, ...]:
        """Return the current numbers for `languages`, which caches them."""

    def _counted(self) -> IndexStats:
        collections = tuple(starmap(CollectionStats, self.select(_SELECT_COLLECTIONS)))
        ((indexed,),) = self.select("SELECT count(*) FROM files")
        return IndexStats(files_indexed=indexed, collections=collections)


_SELECT_COLLECTIONS = """
    SELECT collection, min(kind), count(*), sum(chunks), min(indexed_at), max(indexed_at)
    FROM files WHERE is_text GROUP BY collection ORDER BY collection"""
