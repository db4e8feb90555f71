"""Queries for the chunks of a snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from cairn.index.postgres.snapshot_reader import SnapshotReader
from cairn.index.reader.arrays import Ids
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import LanguageStats, Outline, StoredChunk
from cairn.index.store.deadline import Cancelled
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row

_COLUMNS = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)


class ChunkQueries(SnapshotReader):
    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        mask = self._mask(only)
        return None if mask is None else np.flatnonzero(mask)

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        files = list(self._file_numbers(paths).values())
        if not files:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.columns().file_of, np.array(files, np.int32)))

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
        rows = self._rows_of(ids, "position, type, symbol, symbol_kind, defines")
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
        files = self._file_numbers(paths)
        if not files:
            return []
        rows = self._chunk_rows("start_line, defines", "file = ANY(%s)", self._ids(files))
        passing = self._passing(np.array([row[0] for row in rows], np.int64), only)
        by_file: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in compress(rows, passing):
            by_file[row[1]].append(row)
        return [by_file[file] for file in files.values()]

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        file_of = self.columns().file_of  # It ascends.
        found = {
            path: list(range(*np.searchsorted(file_of, [file, file + 1]).tolist()))
            for path, file in self._file_numbers(paths).items()
        }
        return {path: chunks for path, chunks in found.items() if chunks}

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        every = list(places)
        files = self._file_numbers(path for path, _ in every)
        id_of = dict(zip(files, self._ids(files), strict=True))
        wanted = [(id_of[path], position) for path, position in every if path in files]
        if not wanted:
            return {}
        stored = self._stored(
            """EXISTS (SELECT FROM unnest(%s::int[], %s::bigint[]) AS w(file, position)
               WHERE w.file = c.file AND c.position BETWEEN w.position - %s AND w.position + %s)
               AND c.file = ANY(%s)""",
            *(list(column) for column in zip(*wanted, strict=True)), window, window,
            [file for file, _ in wanted],
        )  # fmt: skip
        by_path: defaultdict[str, list[StoredChunk]] = defaultdict(list)
        for each in stored:
            by_path[each.path].append(each)
        found = {
            (path, position): [
                each for each in by_path[path] if 0 < abs(each.chunk.position - position) <= window
            ]
            for path, position in every
        }
        return {place: chunks for place, chunks in found.items() if chunks}

    def page(self, path: str) -> list[StoredChunk]:
        files = self._file_numbers([path])
        return self._stored("c.file = ANY(%s)", self._ids(files)) if files else []

    def _ids(self, files: Mapping[str, int]) -> list[int]:
        return self.memory.file_numbers.ids_of(files.values())

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        files = self._file_numbers([path])
        if not files:
            return []
        return self._stored(
            "c.file = ANY(%s) AND c.end_line > %s AND c.start_line < %s", self._ids(files), first, last
        )

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        files = self._ids(self._file_numbers([path])) if path else None
        of_files = "" if files is None else "AND file = ANY(%s)"
        rows = self._rows(
            f"""SELECT DISTINCT file FROM cairn.chunks
                WHERE shard = %s AND pool = %s AND content_hash = %s {of_files}""",
            bytes.fromhex(content_hash),
            *(() if files is None else (files,)),
        )
        number_of, known = self.memory.file_numbers.number, self.memory.files
        return sorted(known[number].path for (file,) in rows if (number := number_of(file)))

    def _counted_languages(self) -> tuple[LanguageStats, ...]:
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
