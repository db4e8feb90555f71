"""Reads the index file of one folder: chunks, definitions and symbols, with its words and vectors."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING

import apsw
from attrs import define, evolve

from cairn.index.reader.filters import HIDDEN_CHUNKS, ChunkFilter, admitted, admitted_files, passes
from cairn.index.reader.index_memory import Row
from cairn.index.reader.records import (
    STORED_COLUMNS,
    FoundName,
    Hit,
    LanguageStats,
    Outline,
    StoredChunk,
    stored_chunk,
)
from cairn.index.sqlite.vector_queries import VectorQueries
from cairn.index.sqlite.word_queries import WordQueries
from cairn.index.store.meta import known_facts

if TYPE_CHECKING:
    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.reader.postings import Ids


_MOST_SORTED = 3_000
"""The maximum number of matching names to sort. Sorting all names that match `%est%` took 100 ms."""
_MOST_NAMES = 400
"""The maximum number of names to return, the shortest first. The caller takes about 15 µs to compare each."""


@define(eq=False, slots=False)
class SqliteReader(WordQueries, VectorQueries):
    """Reads the index in `folder`. Every result is empty while there is no index."""

    def admitted(self, only: ChunkFilter) -> Ids | None:
        import numpy as np

        from cairn.index.reader.postings import read_ids

        where, values = admitted(self, evolve(only, hidden=()))
        if not where:
            return None
        files = admitted_files(self, only)
        with self.reading() as db:
            ids = read_ids(db, *(files or (where, values)))
        return self._chunks_of(ids) if files else np.sort(ids)

    def _chunks_of(self, files: Ids) -> Ids:
        """Return the chunks of these files, int64[n], ascending. SQLite would take 160 ms for 630,000."""
        import numpy as np

        columns = self.columns()
        file_of = columns.file_of[: columns.upto + 1]
        is_wanted = np.zeros(max(int(file_of.max(initial=0)), int(files.max(initial=0))) + 1, np.bool_)
        is_wanted[files] = True
        return np.flatnonzero(is_wanted[file_of])

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        from cairn.index.reader.postings import read_ids

        with self.reading() as db:
            return read_ids(db, HIDDEN_CHUNKS, [json.dumps(list(paths))])

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        with self.reading() as db:
            return self.memory.stored.get(self._version(db), ids, partial(_read_chunks, db))

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        with self.reading() as db:
            return self.memory.outlines.get(self._version(db), ids, partial(_read_outlines, db))

    def _version(self, db: apsw.Connection) -> tuple[object, int]:
        return self.memory.local.identity, known_facts(db).content

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        condition, values = passes(self, "c.id", only)
        rows = self.select(
            f"""SELECT id FROM (
                    SELECT c.id, row_number() OVER (
                        PARTITION BY c.file_id ORDER BY c.defines = '[]', c.position) AS place
                    FROM json_each(?) wanted CROSS JOIN files f ON f.path = wanted.value
                    JOIN chunks c ON c.file_id = f.id WHERE {condition})
                WHERE place <= ?""",
            (json.dumps(list(paths)), *values, per_file),
        )
        return [chunk_id for (chunk_id,) in rows]

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        condition, values = passes(self, "c.id", only)
        rows = self.select(
            f"""SELECT c.id FROM json_each(?) wanted CROSS JOIN files f ON f.path = wanted.value
                JOIN chunks c ON c.file_id = f.id AND c.start_line < ?
                WHERE {condition} ORDER BY wanted.key, c.position""",
            (json.dumps(list(paths)), lines, *values),
        )
        return [chunk_id for (chunk_id,) in rows]

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        with self.reading() as db:
            found = self.memory.chunk_ids.get(self._version(db), paths, partial(_read_chunk_ids, db))
        return {path: list(ids) for path, ids in found.items()}

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        condition = "f.path = ? AND c.end_line > ? AND c.start_line < ?"
        sql = f"""SELECT c.id FROM files f CROSS JOIN chunks c ON c.file_id = f.id
            WHERE {condition} ORDER BY c.position"""
        return list(self.chunks(chunk for (chunk,) in self.select(sql, (path, first, last))).values())

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        # Without a path, the query reads all chunks, which takes 5 ms for 16,000 chunks.
        of_path, wanted = ("AND f.path = ?", (path,)) if path else ("", ())
        sql = f"""SELECT DISTINCT f.path FROM files f JOIN chunks c ON c.file_id = f.id
            WHERE c.content_hash = ? {of_path} ORDER BY f.path"""
        return [found for (found,) in self.select(sql, (bytes.fromhex(content_hash), *wanted))]

    def counted_languages(self) -> tuple[LanguageStats, ...]:
        """Return the numbers, in 0.5 s for a million chunks in the system's cache, or else some seconds."""
        return tuple(starmap(LanguageStats, self.select(_SELECT_LANGUAGES)))

    def has_language(self, language: str) -> bool:
        return bool(self.select("SELECT 1 FROM chunks WHERE language = ? LIMIT 1", (language,)))

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        if not names:
            return []
        condition, values = passes(self, "d.chunk_id", only)
        rows = self.select(
            f"""SELECT d.chunk_id, max(iif(d.name = n.value COLLATE BINARY, 1.0, 0.9)) AS score
                FROM json_each(?) n JOIN definitions d ON d.name = n.value
                WHERE {condition} GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",
            (json.dumps(list(names)), *values, limit),
        )
        return list(starmap(Hit, rows))

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        condition, values = passes(self, "d.chunk_id", only)
        rows = self.select(
            f"""{_NAMED_NEAR_OWNER} SELECT d.chunk_id, max(iif(d.is_same, 1.0, 0.9)) AS score
                FROM named d CROSS JOIN chunks c ON c.id = d.chunk_id CROSS JOIN files f ON f.id = c.file_id
                WHERE (c.parent = ?1 COLLATE NOCASE OR instr(lower(f.path), '/' || lower(?1) || '.')
                       OR EXISTS (SELECT 1 FROM definitions o WHERE o.name = ?1 AND o.chunk_id = d.chunk_id)) AND {condition}
                GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",  # noqa: E501
            (owner, json.dumps(list(names)), *values, limit),
        )
        return list(starmap(Hit, rows))

    def definitions(self, names: Sequence[str], most: int, of_each: int) -> list[FoundName]:
        rows = self.select(_SELECT_DEFINING, (json.dumps(list(names)), of_each, most))
        return list(starmap(FoundName, rows))

    def names_matching(self, first: str, pattern: str) -> list[str]:
        conditions, values = ["true"], list[str]()
        if first:
            conditions, values = ["name >= ? AND name < ?"], [first, first + "\U0010ffff"]
        if pattern:
            conditions, values = [*conditions, "name LIKE ?"], [*values, pattern]
        sql = f"""SELECT name FROM (SELECT DISTINCT name FROM definitions WHERE {" AND ".join(conditions)} LIMIT {_MOST_SORTED})
            ORDER BY length(name), name LIMIT {_MOST_NAMES}"""  # noqa: E501
        return [name for (name,) in self.select(sql, values)]

    def symbols_with_words(self, words: Sequence[str], limit: int) -> list[tuple[int, str]]:
        match = " AND ".join(f'"{word}"' for word in words)
        if not match:
            return []

        def read(missing: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[Row, ...]]:
            return {key: tuple(db.execute(_SELECT_BY_NAME, key)) for key in missing}

        with self.reading() as db:
            rows = self.memory.written.get(self._version(db), [(match, limit)], read)[match, limit]
        return [(number, path) for number, path in rows]

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        # Ids are never reused, so cached tables stay valid.
        return self.memory.tables.get(self.identity(), ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        from cairn.chunking.references.packed_table import PackedTable

        sql = "SELECT id, packed FROM symbols WHERE id IN (SELECT value FROM json_each(?))"
        return {each: PackedTable(packed) for each, packed in self.select(sql, (json.dumps(list(ids)),))}


def _read_chunk_ids(db: apsw.Connection, paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = defaultdict(list)
    for chunk, path in db.execute(_SELECT_CHUNK_IDS, (json.dumps(paths),)):
        found[str(path)].append(int(str(chunk)))
    return {path: tuple(ids) for path, ids in found.items()}


def _read_chunks(db: apsw.Connection, ids: Sequence[int]) -> dict[int, StoredChunk]:
    rows = db.execute(
        f"""SELECT {STORED_COLUMNS} FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value
            JOIN files f ON f.id = c.file_id""",
        (json.dumps(ids),),
    )
    return {chunk.id: chunk for chunk in map(stored_chunk, rows)}


_SELECT_CHUNK_IDS = """
    SELECT c.id, f.path FROM json_each(?) p CROSS JOIN files f ON f.path = p.value
    CROSS JOIN chunks c ON c.file_id = f.id ORDER BY p.key, c.position"""


def _read_outlines(db: apsw.Connection, ids: Sequence[int]) -> dict[int, Outline]:
    rows = db.execute(
        """SELECT c.id, f.path, f.kind, c.position, c.type, c.symbol, c.symbol_kind, c.defines, c.parent,
               c.signature <> ''
           FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value
           JOIN files f ON f.id = c.file_id""",
        (json.dumps(ids),),
    )
    return {outline.id: outline for outline in map(Outline._make, rows)}


_SELECT_LANGUAGES = """
    SELECT f.collection, c.language, count(*), sum(c.chunks) FROM (
        SELECT file_id, language, count(*) AS chunks FROM chunks GROUP BY file_id, language) c
    JOIN files f ON f.id = c.file_id GROUP BY f.collection, c.language ORDER BY f.collection, c.language"""

# The query examines every chunk in files that define the owner. Elsewhere it examines the name's first
# thousand definitions, since some languages define methods apart from their type.
_NAMED_NEAR_OWNER = """WITH named AS (
    SELECT d.chunk_id, d.name = n.value COLLATE BINARY AS is_same
    FROM (SELECT chunk_id FROM definitions WHERE name = ?1 LIMIT 50) o
    CROSS JOIN chunks oc ON oc.id = o.chunk_id
    CROSS JOIN chunks c ON c.file_id = oc.file_id CROSS JOIN json_each(?2) n
    CROSS JOIN definitions d ON d.name = n.value AND d.chunk_id = c.id
    UNION SELECT * FROM (
        SELECT d.chunk_id, d.name = n.value COLLATE BINARY
        FROM json_each(?2) n CROSS JOIN definitions d ON d.name = n.value LIMIT 1000))"""

_SELECT_DEFINING = """
    SELECT d.chunk_id, f.path, d.name FROM json_each(?1) n
    CROSS JOIN definitions d ON d.name = n.value AND d.chunk_id IN (
        SELECT o.chunk_id FROM definitions o WHERE o.name = n.value ORDER BY o.chunk_id LIMIT ?2)
    CROSS JOIN chunks c ON c.id = d.chunk_id CROSS JOIN files f ON f.id = c.file_id
    ORDER BY n.key, d.chunk_id LIMIT ?3"""

_SELECT_BY_NAME = """SELECT f.symbols_id, f.path FROM names CROSS JOIN files f ON f.symbols_id = names.rowid
    WHERE names MATCH ? LIMIT ?"""
