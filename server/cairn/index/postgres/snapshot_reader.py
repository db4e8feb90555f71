"""Queries for the chunks of a snapshot, and the access to the database, the files and the filter they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, starmap
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from attrs import define, field
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.snapshot_catalogue import SnapshotMemory
from cairn.index.postgres.transactions import Reads
from cairn.index.reader.catalogue_reader import CatalogueReader
from cairn.index.reader.filters import ChunkFilter, admitted_files
from cairn.index.reader.postings import Ids
from cairn.index.reader.records import Hit, LanguageStats, Outline, StoredChunk
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row
from cairn.text.unicode import well_formed

T = TypeVar("T")


@define(eq=False, slots=False)
class SnapshotReader(CatalogueReader):
    """Reads the snapshot of `memory`. Row security decides which rows `reads` may see.

    The chunks and files of all methods are numbers of the snapshot; only SQL has the ids of the pool.
    """

    memory: SnapshotMemory = field(kw_only=True)
    reads: Reads = field(kw_only=True)

    @classmethod
    def of(cls, reads: Reads, memory: SnapshotMemory, root: str = "") -> Self:
        """Return the reader of a snapshot for one request, whose `reads` must be allowed to see the snapshot.

        Create a reader per request: this is cheap, because `memory` has all cached data.
        """
        return cls(Path(f"snapshot {memory.key.id}"), memory=memory, root=root, reads=reads)

    # --- the database ---------------------------------------------------------------------------------

    def _ask(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        return self.reads.read(self.memory.watched(ask))

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query whose first two parameters are the shard and the pool."""
        key = self.memory.key
        return self._ask(lambda db: db.execute(sql, (key.shard, key.pool, *values)).fetchall())

    def _chunk_rows(self, columns: str, condition: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the number, the file's number and these columns of the snapshot's chunks, by number."""
        rows = self._rows(
            f"SELECT id, file, {columns} FROM cairn.chunks c WHERE shard = %s AND pool = %s AND {condition}",
            *values,
        )
        chunk_of, file_of = self.memory.chunk_numbers.number, self.memory.file_numbers.number
        numbered = ((chunk_of(chunk), file_of(file), *rest) for chunk, file, *rest in rows)
        return sorted((row for row in numbered if row[0]), key=itemgetter(0))

    def _rows_of(self, numbers: Iterable[int], columns: str) -> list[tuple[Any, ...]]:
        """Return `_chunk_rows` of the chunks with these numbers."""
        return self._chunk_rows(columns, "id = ANY(%s)", self.memory.chunk_numbers.ids_of(numbers))

    # --- which chunks may be found ----------------------------------------------------------------------

    def _mask(self, only: ChunkFilter) -> NDArray[np.bool_] | None:
        """Return bool[numbers]: whether each chunk passes, also in hidden files; None if all chunks pass."""
        if not only:
            return None
        file_of = self.columns().file_of
        mask = file_of > 0
        files = admitted_files(self, _without_kinds(only))
        if files is not None and (only.collections or only.paths_in(self.root) is not None):
            with self.reading() as db:
                ids = [number for (number,) in db.execute(*files)]
            mask &= np.isin(file_of, np.array(ids, np.int32))
        for allowed, known in ((only.types, self.memory.types), (only.languages, self.memory.languages)):
            if allowed:
                named = [known[value] for value in allowed if value in known]
                mask &= np.logical_or.reduce(named) if named else np.zeros_like(mask)
        return mask

    def passing(self, ids: Ids, only: ChunkFilter) -> NDArray[np.bool_]:
        """Return bool[n]: whether each of these chunks is in the snapshot and passes."""
        passing = self.memory.chunk_numbers.has(ids)
        mask = self._mask(only)
        if mask is not None:
            passing[passing] = mask[ids[passing]]
        if only.hidden:
            hidden = list(self.file_numbers(only.hidden).values())
            passing[passing] = ~np.isin(self.columns().file_of[ids[passing]], np.array(hidden, np.int32))
        return passing

    def _filtered(self, hits: Sequence[Hit], only: ChunkFilter, limit: int) -> list[Hit]:
        passing = self.passing(np.array([hit.chunk_id for hit in hits], np.int64), only)
        return [hit for hit, passes in zip(hits, passing.tolist(), strict=True) if passes][:limit]


def storable(text: str) -> str:
    """Replace characters that PostgreSQL cannot store. The replacement matches nothing."""
    return well_formed(text).replace("\0", "\ufffd")


def _without_kinds(only: ChunkFilter) -> ChunkFilter:
    return ChunkFilter(paths=only.paths, folders=only.folders, collections=only.collections)


def best_first(scores: Mapping[int, float]) -> list[Hit]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return list(starmap(Hit, ordered))


_COLUMNS = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)


class ChunkQueries(SnapshotReader):
    def admitted(self, only: ChunkFilter) -> Ids | None:
        mask = self._mask(only)
        return None if mask is None else np.flatnonzero(mask)

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        wanted = self.memory.chunk_numbers.ids_of(ids)
        return {each.id: each for each in self._stored("c.id = ANY(%s)", wanted)} if wanted else {}

    def _stored(self, condition: str, *values: object) -> list[StoredChunk]:
        rows = self._chunk_rows(f"encode(c.content_hash, 'hex'), {_COLUMNS}", condition, *values)
        return [
            StoredChunk(number, at.path, at.kind, at.collection, chunk_from_row(columns), content_hash)
            for number, file, content_hash, *columns in rows
            for at in (self.memory.files[file],)
        ]

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        wanted = list(ids)
        found = self.memory.outlines.get(self.identity(), wanted, self._read_outlines)
        # The order must not show which outlines others have read before.
        return {number: found[number] for number in wanted if number in found}

    def _read_outlines(self, ids: Sequence[int]) -> dict[int, Outline]:
        rows = self._rows_of(ids, "position, type, symbol, symbol_kind, defines, parent, signature <> ''")
        return {
            number: Outline(number, at.path, at.kind, *rest)
            for number, file, *rest in rows
            for at in (self.memory.files[file],)
        }

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        found: list[int] = []
        for rows in self._rows_of_files(paths, only):
            rows.sort(key=lambda row: row[3] == "[]")  # Chunks that define names come first.
            found += [row[0] for row in rows[:per_file]]
        return found

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        return [row[0] for rows in self._rows_of_files(paths, only) for row in rows if row[2] < lines]

    def _rows_of_files(self, paths: Iterable[str], only: ChunkFilter) -> list[list[tuple[Any, ...]]]:
        """Return id, file, first line and definitions of each file's passing chunks, by position."""
        files = self.file_numbers(paths)
        if not files:
            return []
        rows = self._chunk_rows("start_line, defines", "file = ANY(%s)", self._ids(files))
        passing = self.passing(np.array([row[0] for row in rows], np.int64), only)
        by_file: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in compress(rows, passing):
            by_file[row[1]].append(row)
        return [by_file[file] for file in files.values()]

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        file_of = self.columns().file_of  # It ascends.
        found = {
            path: list(range(*np.searchsorted(file_of, [file, file + 1]).tolist()))
            for path, file in self.file_numbers(paths).items()
        }
        return {path: chunks for path, chunks in found.items() if chunks}

    def _ids(self, files: Mapping[str, int]) -> list[int]:
        return self.memory.file_numbers.ids_of(files.values())

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        files = self.file_numbers([path])
        if not files:
            return []
        return self._stored(
            "c.file = ANY(%s) AND c.end_line > %s AND c.start_line < %s", self._ids(files), first, last
        )

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        files = self._ids(self.file_numbers([path])) if path else None
        of_files = "" if files is None else "AND file = ANY(%s)"
        rows = self._rows(
            f"""SELECT DISTINCT file FROM cairn.chunks
                WHERE shard = %s AND pool = %s AND content_hash = %s {of_files}""",
            bytes.fromhex(content_hash),
            *(() if files is None else (files,)),
        )
        number_of, known = self.memory.file_numbers.number, self.memory.files
        return sorted(known[number].path for (file,) in rows if (number := number_of(file)))

    def counted_languages(self) -> tuple[LanguageStats, ...]:
        memory = self.memory
        names = sorted({file.collection for file in memory.files.values()})
        number_of = {name: number for number, name in enumerate(names)}
        place_of = np.zeros(max(memory.files, default=0) + 1, np.int32)
        for file, at in memory.files.items():
            place_of[file] = number_of[at.collection]
        found: list[LanguageStats] = []
        for language, has_it in memory.languages.items():
            of_chunks = memory.columns.file_of[has_it]
            chunks = np.bincount(place_of[of_chunks], minlength=len(names)).tolist()
            files = np.bincount(place_of[np.unique(of_chunks)], minlength=len(names)).tolist()
            found += [
                LanguageStats(collection, language, files[number], chunks[number])
                for number, collection in enumerate(names)
                if chunks[number]
            ]
        return tuple(sorted(found, key=lambda each: (each.collection, each.language)))

    def has_language(self, language: str) -> bool:
        return language in self.memory.languages
