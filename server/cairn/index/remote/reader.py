"""Reads a snapshot of a team's index through a server: the catalogue once, chunks and words as they are asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from cairn.chunking.references.packing import PackedTable
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
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.text.bm25 import Statistics
from cairn.index.text.literals import ExactMatches, Literal
from cairn.text.languages import detect_language

Ask = Callable[[str, list[Any]], Any]
"""Asks the server: the name of a read, and its arguments."""

_MOST_POSTINGS = 2_000
"""Words whose places are kept."""


@define(eq=False)
class RemoteMemory(CatalogueMemory):
    """What a process keeps of one snapshot of a server."""

    languages: frozenset[str] = field(kw_only=True)
    postings: dict[str, Postings] = field(factory=dict, init=False)


@define(eq=False, slots=False)
class RemoteReader(CatalogueReader):
    """Reads the snapshot of `memory`, asking the server for what the catalogue does not have."""

    memory: RemoteMemory = field(kw_only=True)
    ask: Ask = field(kw_only=True)

    @classmethod
    def of(cls, ask: Ask, memory: RemoteMemory, root: str = "") -> RemoteReader:
        """The reader of a snapshot that `ask` reaches."""
        return cls(Path(f"snapshot {memory.snapshot}"), memory=memory, root=root, ask=ask)

    def _asked(self, cancelled: Cancelled, name: str, *given: object) -> Any:
        """What the server answers. Raises QueryCancelledError where nobody waits for it any more."""
        if cancelled():
            raise interruption(cancelled)
        return self.ask(name, list(given))

    def _only(self, only: ChunkFilter) -> ChunkFilter:
        """The filter as the server's reader understands it, whose folder has no name."""
        patterns = only.paths_in(self.root)
        if patterns is None:
            return evolve(only, paths=(), folders=())
        return evolve(only, paths=(), folders=(("", tuple(patterns)),))

    # --- words ----------------------------------------------------------------------------------------

    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        found: KeywordCounts = self._asked(cancelled, "word_counts", list(texts), bound)
        return found

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        kept = self.memory.postings
        missing = [text for text in texts if text not in kept]
        new: dict[str, Postings] = (
            self._asked(cancelled, "postings", dict.fromkeys(missing, 0)) if missing else {}
        )
        found = {
            text: new[text] if text in new else kept[text] for text in texts if text in new or text in kept
        }
        if len(kept) + len(new) > _MOST_POSTINGS:
            kept.clear()
        kept.update(new)
        return found

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        hits: list[Hit] = self._asked(cancelled, "keywords", list(words), weights, limit, self._only(only))
        return hits

    def _hits(self, name: str, *given: object) -> list[Hit]:
        hits: list[Hit] = self.ask(name, list(given))
        return hits

    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        found: Statistics = self._asked(cancelled, "statistics", list(words))
        return found

    def absent(self, words: Sequence[str]) -> list[str]:
        found: list[str] = self.ask("absent", [list(words)]) if words else []
        return found

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = self.ask("documents", [list(stems)]) if stems else {}
        return found

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        found: dict[str, int] = self.ask("stems_starting", [prefix, deadline.ms])
        return found

    def is_named(self, word: str) -> bool:
        return bool(self.ask("is_named", [word]))

    # --- texts ----------------------------------------------------------------------------------------

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        found: ExactMatches = self._asked(
            deadline.cancelled, "containing", literal, limit, self._only(only), deadline.ms, list(first)
        )
        return found

    # --- chunks ---------------------------------------------------------------------------------------

    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        if not only:
            return None
        found: Ids = self._asked(cancelled, "admitted", self._only(only))
        return found

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        from cairn.index.queries.files import file_ids

        files = list(file_ids(self, paths).values()) if paths else []
        if not files:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.columns().file_of, np.array(files, np.int32)))

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        wanted = list(ids)
        found: dict[int, StoredChunk] = self.ask("chunks", [wanted]) if wanted else {}
        return found

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        return self.memory.outlines.get(self.key, ids, lambda missing: self.ask("outlines", [missing]))

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        found: list[int] = self.ask("leading_chunks", [list(paths), per_file, self._only(only)])
        return found

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        found: list[int] = self.ask("opening_chunks", [list(paths), lines, self._only(only)])
        return found

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        wanted = list(paths)
        found: dict[str, list[int]] = self.ask("chunk_ids", [wanted]) if wanted else {}
        return found

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        wanted = list(places)
        found: dict[tuple[str, int], list[StoredChunk]] = (
            self.ask("neighbours", [wanted, window]) if wanted and window else {}
        )
        return found

    def page(self, path: str) -> list[StoredChunk]:
        found: list[StoredChunk] = self.ask("page", [path])
        return found

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        found: list[StoredChunk] = self.ask("between", [path, first, last])
        return found

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        found: list[str] = self.ask("files_with_chunk", [content_hash, path])
        return found

    def _counted_languages(self) -> tuple[LanguageStats, ...]:
        """By the names of the files, which the catalogue has: 5 µs each. Only the server knows the language of each chunk."""
        counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        sql = "SELECT path, collection, chunks FROM files WHERE is_text AND chunks"
        for path, collection, chunks in self.select(sql):
            counts[collection, detect_language(path)].append(chunks)
        return tuple(LanguageStats(*where, len(each), sum(each)) for where, each in sorted(counts.items()))

    def has_language(self, language: str) -> bool:
        return language in self.memory.languages

    # --- definitions and symbols ----------------------------------------------------------------------

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._hits("defining", list(names), limit, self._only(only)) if names else []

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._hits("members", owner, list(names), limit, self._only(only))

    def definitions(
        self, names: Sequence[str], most: int, of_each: int, cancelled: Cancelled
    ) -> list[FoundName]:
        found: list[FoundName] = (
            self._asked(cancelled, "definitions", list(names), most, of_each) if names else []
        )
        return found

    def definitions_of(self, names: Iterable[str], most: int) -> list[FoundName]:
        wanted = list(names)
        found: list[FoundName] = self.ask("definitions_of", [wanted, most]) if wanted else []
        return found

    def names_matching(self, first: str, pattern: str, cancelled: Cancelled) -> list[str]:
        found: list[str] = self._asked(cancelled, "names_matching", first, pattern)
        return found

    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        wanted = list(ids)
        found: dict[int, DefinitionPlace] = self.ask("places", [wanted]) if wanted else {}
        return found

    def symbols_naming(self, words: Sequence[str], limit: int, cancelled: Cancelled) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = (
            self._asked(cancelled, "symbols_naming", list(words), limit) if words else []
        )
        return found

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return self.memory.tables.get(self.key, ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        packed: dict[int, bytes] = self.ask("packed_tables", [list(ids)])
        return {number: PackedTable(table) for number, table in packed.items()}

    # --- vectors --------------------------------------------------------------------------------------

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        hits: list[Hit] = self._asked(cancelled, "nearest_static", vector, limit, self._only(only))
        return hits

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        wanted = list(ids)
        found: dict[int, float] = self.ask("static_similarities", [wanted, vector]) if wanted else {}
        return found

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        wanted = list(ids)
        if not wanted:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found: tuple[NDArray[np.int64], NDArray[np.int8]] = self.ask("static_vectors", [wanted])
        return found
