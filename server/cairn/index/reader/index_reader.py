"""What retrieval reads of one index, whatever keeps it: an index file, a team's database, either with unsaved text over it.

A reader has a catalogue and a store. The catalogue is what is known of files: their paths and collections, the words of their
paths and commits, imports, history and copies. It is small, and always a SQLite connection, which `select` asks. The store
is what is known of chunks: texts, words, vectors, definitions and symbols. Each kind of index has its own, behind the abstract methods.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, TypeVar

from attrs import define, evolve, field

from cairn.index.reader.connection import ConnectedReader
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.kept import Kept
from cairn.index.reader.records import (
    CollectionStats,
    ColumnWeights,
    DefinitionPlace,
    FoundName,
    Hit,
    IndexStats,
    KeywordCounts,
    LanguageStats,
    Outline,
    StoredChunk,
)
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.store.meta import Facts, read_facts
from cairn.index.text.bm25 import Statistics
from cairn.index.text.literals import ExactMatches, Literal

# numpy and what needs it are imported where vectors are compared: opening a workspace needs neither.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.chunking.references.packing import PackedTable
    from cairn.index.reader.arrays import Ids
    from cairn.index.reader.chunk_columns import ChunkColumns
    from cairn.index.reader.postings import Postings

T = TypeVar("T")

MAX_NEIGHBOURS = 200
"""Neighbours in meaning that a question may ask for. sqlite-vec's cost grows with the square of their number (docs/design.md)."""


@define(eq=False, slots=False)
class IndexReader(ConnectedReader, ABC):
    """Reads one index. While there is none, every answer is empty. Safe from many threads at once."""

    _counts: Kept[IndexStats] = field(factory=Kept, init=False)

    @property
    def key(self) -> Hashable:
        """What answers may be kept by, beside the generation: readers of equal keys answer alike."""
        return self

    # --- unsaved text -------------------------------------------------------------------------------

    @property
    def saved(self) -> IndexReader:
        """The reader of what is indexed alone, without unsaved text."""
        return self

    @property
    def sources(self) -> Sequence[IndexReader]:
        """The readers whose answers together are this one's: that of what is saved and, where there is any, that of unsaved text."""
        return (self,)

    @property
    def hidden(self) -> Sequence[str]:
        """Paths of the files that are read as unsaved text instead."""
        return ()

    @property
    def has_unsaved(self) -> bool:
        """Whether there is unsaved text, which changes with every key."""
        return len(self.sources) > 1

    def by_source(self, ids: Iterable[int]) -> Iterator[tuple[IndexReader, int, list[int]]]:
        """Each source that has some of the chunks `ids`, the sign that its ids have here, and those ids as it has them."""
        every, saved = list(ids), self.saved
        for source in self.sources:
            sign = 1 if source is saved else -1
            wanted = [sign * each for each in every if sign * each > 0]
            if wanted:
                yield source, sign, wanted

    # --- words --------------------------------------------------------------------------------------

    @abstractmethod
    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        """In how many chunks each word or phrase stands, counted up to `bound`."""

    @abstractmethod
    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        """Where each word or phrase stands, given with how many chunks have it. Those that were read before the time was over."""

    @abstractmethod
    def columns(self) -> ChunkColumns:
        """The file and the length of each chunk."""

    @abstractmethod
    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        """The best chunks with any of `words`, each a word or phrase, by BM25, best first."""

    @abstractmethod
    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        """What BM25 needs to know of the whole index for these words."""

    @abstractmethod
    def absent(self, words: Sequence[str]) -> list[str]:
        """Those of the lower-case words that no chunk and no path contains."""

    @abstractmethod
    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        """In how many chunks each of these stems stands; one that is nowhere is left out."""

    @abstractmethod
    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        """The stems that begin so, and in how many chunks each stands; none where reading them takes too long."""

    @abstractmethod
    def is_named(self, word: str) -> bool:
        """Whether a chunk defines a name with the word, in any inflection."""

    # --- texts --------------------------------------------------------------------------------------

    @abstractmethod
    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        """Chunks whose text contains `literal` as it is written, `limit` at most besides those of `first`.

        `first` are chunks that pass `only` and are looked at before any other. When the time is over, it answers
        with what it has; where it is cancelled, it raises QueryCancelledError.
        """

    # --- chunks -------------------------------------------------------------------------------------

    @abstractmethod
    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        """int64[n], ascending: the chunks that pass, hidden ones included; None where all do."""

    @abstractmethod
    def chunks_in(self, paths: Sequence[str]) -> Ids:
        """int64[n]: the chunks of these files."""

    @abstractmethod
    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """The chunks with these ids; one that is gone is left out."""

    @abstractmethod
    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        """The outlines of the chunks with these ids; one that is gone is left out."""

    @abstractmethod
    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        """Of each of these files up to `per_file` chunks that define something, or else its first ones."""

    @abstractmethod
    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        """The saved chunks that begin within the first `lines` of these files, file after file."""

    @abstractmethod
    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """The chunks of each of these files that has any, in file order."""

    @abstractmethod
    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        """For each of `places`, path and position of a chunk, up to `window` chunks on each side of it, in file order."""

    @abstractmethod
    def page(self, path: str) -> list[StoredChunk]:
        """All chunks of a file in order; empty for a path that is not indexed."""

    @abstractmethod
    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        """The chunks of a file that hold some of its lines `[first, last)`, in order."""

    @abstractmethod
    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        """Paths of the files that have a chunk of this content hash; with `path`, that one alone."""

    @abstractmethod
    def has_language(self, language: str) -> bool:
        """Whether a chunk is in the language."""

    # --- definitions and symbols --------------------------------------------------------------------

    @abstractmethod
    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names`; 1 for the very spelling, 0.9 for another case."""

    @abstractmethod
    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names` as a member of `owner`, a type or a module; 1 for the very spelling, 0.9 for another case."""

    @abstractmethod
    def definitions(
        self, names: Sequence[str], most: int, of_each: int, cancelled: Cancelled
    ) -> list[FoundName]:
        """The chunks that define these names in any case, at most so many in all and of each name, those of the first names first."""

    @abstractmethod
    def definitions_of(self, names: Iterable[str], most: int) -> list[FoundName]:
        """Where these very names are defined; names that more than `most` chunks define are left out."""

    @abstractmethod
    def names_matching(self, first: str, pattern: str, cancelled: Cancelled) -> list[str]:
        """Names that begin with `first` and match the LIKE pattern, whatever the case, the shortest of some thousands first."""

    @abstractmethod
    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        """Where these chunks are and what they mainly define; one that is gone is left out."""

    @abstractmethod
    def symbols_naming(self, words: Sequence[str], limit: int, cancelled: Cancelled) -> list[tuple[int, str]]:
        """The ids of symbol tables that name all the words, each with the path of its file."""

    @abstractmethod
    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        """The symbol tables with these ids."""

    # --- vectors ------------------------------------------------------------------------------------

    @abstractmethod
    def nearest(
        self, vector: NDArray[np.float32], model: str, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        """The chunks whose vectors are nearest to `vector`, float32[dimension], by cosine similarity."""

    @abstractmethod
    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        """Those of these chunks that have a vector of the model, and float32[n, dimension] of unit length."""

    @abstractmethod
    def model_in_use(self) -> tuple[str, int]:
        """The name of the model whose vectors are compared, "" for none, and its dimension."""

    @abstractmethod
    def key_vectors(self, keys: Iterable[str], dimension: int, model: str) -> dict[str, NDArray[np.float32]]:
        """The vectors, float32[dimension] of unit length, of the texts with these embedding keys that have one."""

    @abstractmethod
    def lacking_vectors(self, keys: Sequence[str]) -> int:
        """How many of the texts with these embedding keys have no vector of the model in use."""

    @abstractmethod
    def embedding_keys(self, ids: Sequence[int]) -> list[str]:
        """The keys, in hexadecimal, under which the vectors of these chunks' texts are kept."""

    @abstractmethod
    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        """The chunks whose static vectors are nearest to `vector`, int8[dimension], by cosine similarity."""

    @abstractmethod
    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        """The cosine similarity of these chunks' static vectors to `vector`; a chunk without one is left out."""

    @abstractmethod
    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """int64[n], those of these chunks that have a static vector, and int8[n, dimension]; int8[0, 0] where none has."""

    def similarities(self, ids: Sequence[int], vector: NDArray[np.float32], model: str) -> dict[int, float]:
        """The cosine similarity of these chunks to `vector`; a chunk without a vector is left out."""
        from cairn.index.vectors.model_vectors import of_unit_length

        found, vectors = self.vectors(ids, vector.size, model)
        return dict(zip(found, (vectors @ of_unit_length(vector)).tolist(), strict=True))

    # --- files and facts ----------------------------------------------------------------------------

    def symbols_at(self, paths: Sequence[str]) -> list[tuple[int, str]]:
        """The id of the symbol table of each of these files that has one, with the file's path."""
        sql = """SELECT f.symbols_id, f.path FROM json_each(?) w CROSS JOIN files f ON f.path = w.value
            WHERE f.symbols_id IS NOT NULL"""
        return [(number, path) for number, path in self.select(sql, (json.dumps(list(paths)),))]

    def static_table(self) -> str:
        """Which static table the index has vectors of, "" for none: those of two tables cannot be compared."""
        sql = "SELECT key, value FROM meta WHERE key IN ('has_static', 'static_table')"
        meta: dict[str, object] = dict(self.select(sql))
        return str(meta.get("static_table", "")) if meta.get("has_static") else ""

    def contents(self, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The content hash and the collection of those of `paths` that are indexed."""
        named = "path IN (SELECT value FROM json_each(?))"
        sql = f"SELECT path, lower(hex(content_hash)), collection FROM files WHERE {named}"
        rows = self.select(sql, (json.dumps(list(paths)),))
        return {path: (content_hash, collection) for path, content_hash, collection in rows}

    def facts(self) -> Facts:
        """The facts about the index as they are now; all zero while there is none."""
        with self.reading() as db:
            return read_facts(db)

    def generation(self) -> int:
        """Rises with every change of the index; 0 while there is none."""
        return self.facts().generation

    def version(self) -> object:
        """Differs once what was made of the saved index is to be made anew, as `Kept` says."""
        return self.remembered("version", object)

    def remembered(self, name: str, make: Callable[[], T]) -> T:
        """What `make` makes of the saved index, kept under this name as `Kept` says."""
        with self.reading() as db:
            facts = read_facts(db)
        kept: Kept[T] = self.memory.made.setdefault(name, Kept())
        return kept.get(self.memory.local.identity, facts, make)

    def has_requests(self) -> bool:
        """Whether something that was asked of the writing process still waits."""
        return bool(self.select("SELECT 1 FROM requests LIMIT 1"))

    def stats(self) -> IndexStats:
        """The facts as they are now, with counts that are kept as `Kept` says."""
        facts = self.facts()
        return evolve(self._counts.get(self.memory.local.identity, facts, self._counted), facts=facts)

    def languages(self) -> tuple[LanguageStats, ...]:
        """Files and chunks of what is saved, by collection and language, kept as `Kept` says."""
        return self.remembered("languages", self._counted_languages)

    @abstractmethod
    def _counted_languages(self) -> tuple[LanguageStats, ...]:
        """What `languages` keeps, counted now."""

    def _counted(self) -> IndexStats:
        collections = tuple(starmap(CollectionStats, self.select(_SELECT_COLLECTIONS)))
        ((indexed,),) = self.select("SELECT count(*) FROM files")
        return IndexStats(files_indexed=indexed, collections=collections)


_SELECT_COLLECTIONS = """
    SELECT collection, min(kind), count(*), sum(chunks), min(indexed_at), max(indexed_at)
    FROM files WHERE is_text GROUP BY collection ORDER BY collection"""
