"""Reads a snapshot of a team's index through a server: the catalogue once, and chunks and words on demand."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from cairn.chunking.references.packed_table import PackedTable
from cairn.errors import WireError
from cairn.index.reader.arrays import Ids
from cairn.index.reader.catalogue_reader import CatalogueMemory, CatalogueReader
from cairn.index.reader.connection import interruption
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import (
    ColumnWeights,
    DefinitionPlace,
    FoundName,
    Hit,
    KeywordCounts,
    LanguageStats,
    Outline,
    StoredChunk,
)
from cairn.index.remote.wire import MOST_BYTES
from cairn.index.store.database import distrust
from cairn.index.store.deadline import Cancelled, Deadline, never
from cairn.index.text.bm25 import Statistics
from cairn.index.text.literals import ExactMatches, Literal
from cairn.languages.registry import detect_language

Ask = Callable[[str, list[Any]], Any]
"""A function that sends a read to the server, given the read's name and arguments, and returns the result."""

_MOST_POSTINGS_BYTES = 64 << 20
"""The maximum size of the cached postings."""
_CHUNK_BYTES = 8
"""The size of a chunk in the postings of a message."""
_MOST_TABLE_BYTES = 64 << 20
"""The maximum size of the symbol tables of one answer, which are compressed."""


@define(eq=False)
class RemoteMemory(CatalogueMemory):
    languages: frozenset[str] = field(kw_only=True)
    postings: dict[str, Postings] = field(factory=dict, init=False)

    def connect(self) -> apsw.Connection:
        connection = super().connect()
        distrust(connection)
        return connection


@define(eq=False, slots=False)
class RemoteReader(CatalogueReader):
    """Reads the snapshot of `memory`, and asks the server for what the catalogue lacks."""

    memory: RemoteMemory = field(kw_only=True)
    ask: Ask = field(kw_only=True)

    @classmethod
    def of(cls, ask: Ask, memory: RemoteMemory, root: str = "") -> RemoteReader:
        return cls(Path(f"snapshot {memory.snapshot}"), memory=memory, root=root, ask=ask)

    def _read(self, name: str, *given: object, cancelled: Cancelled = never) -> Any:
        """Return the server's answer. Raises QueryCancelledError if the request was cancelled before."""
        if cancelled():
            raise interruption(cancelled)
        return self.ask(name, list(given))

    def _list(self, name: str, *given: object, cancelled: Cancelled = never) -> list[Any]:
        found: list[Any] = self._read(name, *given, cancelled=cancelled)
        return found

    def _dict(self, name: str, *given: object, cancelled: Cancelled = never) -> dict[Any, Any]:
        found: dict[Any, Any] = self._read(name, *given, cancelled=cancelled)
        return found

    def _only(self, only: ChunkFilter) -> ChunkFilter:
        """Return the filter for the server's reader, which does not know the folder's path."""
        patterns = only.paths_in(self.root)
        return evolve(only, paths=(), folders=() if patterns is None else (("", tuple(patterns)),))

    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        wanted = list(texts)
        found: KeywordCounts = self._read("word_counts", wanted, bound, cancelled=cancelled)
        if not found.matching.keys() >= set(wanted):
            raise WireError("The answer lacks the counts of some words.")
        return found

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        known = dict(self.memory.postings)
        missing = {text: rows for text, rows in texts.items() if text not in known}
        for some in _messages(missing):
            known |= self._dict("postings", dict.fromkeys(some, 0), cancelled=cancelled)
        if missing:
            is_small = sum(each.size for each in known.values()) <= _MOST_POSTINGS_BYTES
            self.memory.postings = known if is_small else {}
        return {text: known[text] for text in texts if text in known}

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        given = (list(words), weights, limit, self._only(only))
        return self._list("keywords", *given, cancelled=cancelled)

    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        found: Statistics = self._read("statistics", list(words), cancelled=cancelled)
        return found

    def absent(self, words: Sequence[str]) -> list[str]:
        return self._list("absent", list(words)) if words else []

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        return self._dict("documents", list(stems)) if stems else {}

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        return self._dict("stems_starting", prefix, deadline.ms)

    def is_named(self, word: str) -> bool:
        return bool(self.ask("is_named", [word]))

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        given = (literal, limit, self._only(only), deadline.ms, list(first))
        found: ExactMatches = self._read("containing", *given, cancelled=deadline.cancelled)
        return found

    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        if not only:
            return None
        found: Ids = self._read("admitted", self._only(only), cancelled=cancelled)
        return found

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        from cairn.index.queries.files import file_ids

        files = list(file_ids(self, paths).values()) if paths else []
        if not files:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.columns().file_of, np.array(files, np.int32)))

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        wanted = list(ids)
        return self._dict("chunks", wanted) if wanted else {}

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        return self.memory.outlines.get(self.key, ids, lambda missing: self._dict("outlines", missing))

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        return self._list("leading_chunks", list(paths), per_file, self._only(only))

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        return self._list("opening_chunks", list(paths), lines, self._only(only))

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        wanted = list(paths)
        return self._dict("chunk_ids", wanted) if wanted else {}

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        wanted = list(places)
        return self._dict("neighbours", wanted, window) if wanted and window else {}

    def page(self, path: str) -> list[StoredChunk]:
        return self._list("page", path)

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        return self._list("between", path, first, last)

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        return self._list("files_with_chunk", content_hash, path)

    def _counted_languages(self) -> tuple[LanguageStats, ...]:
        """Return the numbers by the catalogue's file names, in 5 µs for each. Only the server knows the
        languages of chunks."""
        counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        sql = "SELECT path, collection, chunks FROM files WHERE is_text AND chunks"
        for path, collection, chunks in self.select(sql):
            counts[collection, detect_language(path)].append(chunks)
        return tuple(LanguageStats(*where, len(each), sum(each)) for where, each in sorted(counts.items()))

    def has_language(self, language: str) -> bool:
        return language in self.memory.languages

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._list("defining", list(names), limit, self._only(only)) if names else []

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._list("members", owner, list(names), limit, self._only(only))

    def definitions(
        self, names: Sequence[str], most: int, of_each: int, cancelled: Cancelled
    ) -> list[FoundName]:
        given = (list(names), most, of_each)
        return self._list("definitions", *given, cancelled=cancelled) if names else []

    def definitions_of(self, names: Iterable[str], most: int) -> list[FoundName]:
        wanted = list(names)
        return self._list("definitions_of", wanted, most) if wanted else []

    def names_matching(self, first: str, pattern: str, cancelled: Cancelled) -> list[str]:
        return self._list("names_matching", first, pattern, cancelled=cancelled)

    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        wanted = list(ids)
        return self._dict("places", wanted) if wanted else {}

    def symbols_with_words(
        self, words: Sequence[str], limit: int, cancelled: Cancelled
    ) -> list[tuple[int, str]]:
        return self._list("symbols_naming", list(words), limit, cancelled=cancelled) if words else []

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return self.memory.tables.get(self.key, ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        tables, room = dict[int, PackedTable](), _MOST_TABLE_BYTES
        for number, packed in self._dict("packed_tables", list(ids)).items():
            try:
                tables[number] = table = PackedTable(packed, room)
                table.check()
            except (ValueError, LookupError, zlib.error) as problem:
                raise WireError("A symbol table cannot be read.") from problem
            room -= table.size
        return tables

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        return self._list("nearest_static", vector, limit, self._only(only), cancelled=cancelled)

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        wanted = list(ids)
        return self._dict("static_similarities", wanted, vector) if wanted else {}

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        wanted = list(ids)
        if not wanted:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found: tuple[NDArray[np.int64], NDArray[np.int8]] = self._read("static_vectors", wanted)
        if len(found[0]) != len(found[1]):
            raise WireError("The answer has not as many vectors as chunks.")
        return found


def _messages(texts: Mapping[str, int]) -> Iterator[list[str]]:
    """Divide words, given with their numbers of chunks, so that the postings of each part fit a message."""
    part, size = list[str](), 0
    for text, rows in texts.items():
        if part and size + rows * _CHUNK_BYTES > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(text)
        size += rows * _CHUNK_BYTES
    if part:
        yield part
