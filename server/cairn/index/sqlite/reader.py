"""Reads the index file of one folder: words, exact text, chunks, definitions and symbols."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import apsw
from attrs import define, evolve, frozen

from cairn.errors import OutOfTimeError
from cairn.index.reader.connection import IndexMemory
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import (
    STORED_COLUMNS,
    ColumnWeights,
    DefinitionPlace,
    FoundName,
    Hit,
    KeywordCounts,
    LanguageStats,
    Outline,
    StoredChunk,
    stored_chunk,
)
from cairn.index.sqlite.filters import HIDDEN_CHUNKS, admitted, admitted_files, passes
from cairn.index.sqlite.row_counts import count_rows
from cairn.index.sqlite.vector_queries import VectorQueries
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.store.meta import read_facts
from cairn.index.text.bm25 import Statistics, read_statistics
from cairn.index.text.exact import find
from cairn.index.text.literals import ExactMatches, Literal
from cairn.index.text.match import any_of, quoted_word
from cairn.index.text.word_list import WordList, is_of_use, read_word_list

# Only methods that count words import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.reader.arrays import Ids
    from cairn.index.reader.chunk_columns import ChunkColumns
    from cairn.index.reader.postings import Postings
    from cairn.index.sqlite.chunk_arrays import ChunkArrays
    from cairn.index.sqlite.postings import PostingsCache

_MOST_SORTED = 3_000
"""The maximum number of matching names to sort. Sorting all names that match `%est%` took 100 ms."""
_MOST_NAMES = 400
"""The maximum number of names to return, the shortest first. The caller takes about 15 µs to compare each."""


@frozen(eq=False)
class _WordMemory:
    postings: PostingsCache
    columns: ChunkArrays


_MEMORIES: WeakKeyDictionary[IndexMemory, _WordMemory] = WeakKeyDictionary()


@define(eq=False, slots=False)
class SqliteReader(VectorQueries):
    """Reads the index in `folder`. Every result is empty while there is no index."""

    def _word_memory(self) -> _WordMemory:
        from cairn.index.sqlite.chunk_arrays import ChunkArrays
        from cairn.index.sqlite.postings import PostingsCache

        known = _MEMORIES.get(self.memory)
        if known is None:
            known = _MEMORIES.setdefault(self.memory, _WordMemory(PostingsCache(), ChunkArrays()))
        return known

    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        quoted = {text: quoted_word(text) for text in texts}
        counts = count_rows(self, "chunks_fts", quoted.values(), bound, cancelled)
        matching = {text: counts.matching[expression] for text, expression in quoted.items()}
        return KeywordCounts(counts.rows, matching)

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        kept, upto = self._word_memory().postings, self.columns().upto
        found: dict[str, Postings] = {}
        with self.reading() as db, suppress(OutOfTimeError):
            identity = self.memory.local.identity
            for text, rows in texts.items():
                with self.reading(cancelled):
                    found[text] = kept.get(db, identity, text, rows, upto)
        return found

    def columns(self) -> ChunkColumns:
        with self.reading() as db:
            return self._word_memory().columns.columns(db, self.memory.local.identity)

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        if not words:
            return []
        # `+rowid` makes SQLite filter the rows of one keyword query. Without it, SQLite runs a query for each
        # admitted row.
        condition, values = passes(self, "+rowid", only)
        rows = self.select(
            f"""SELECT rowid, -bm25(chunks_fts, {weights.sql}) AS score
                FROM chunks_fts WHERE chunks_fts MATCH ? AND {condition}
                ORDER BY score DESC, rowid LIMIT ?""",
            (any_of(words), *values, limit),
            cancelled,
        )
        return list(starmap(Hit, rows))

    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        with self.reading(cancelled) as db:
            return read_statistics(db, any_of(words))

    def absent(self, words: Sequence[str]) -> list[str]:
        places = self.select(_SELECT_ABSENT, (json.dumps(list(map(quoted_word, words))),))
        return [words[place] for (place,) in places]

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        return dict(self.select(_SELECT_DOCUMENTS, (json.dumps(list(stems)),)))

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        found: dict[str, int] = {}
        with self.reading() as db:
            for term, documents in db.execute(_SELECT_STARTING, (prefix, prefix + "\U0010ffff")):
                found[str(term)] = int(str(documents))
                if deadline():
                    return {}
        return found

    def is_named(self, word: str) -> bool:
        sql = "SELECT EXISTS (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ?)"
        return bool(self.select(sql, (f"symbol_words : {quoted_word(word)}",))[0][0])

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        passing = passes(self, "{}", only)
        with self.reading(deadline) as db:

            def words() -> WordList:
                found = read_word_list(db, self.memory.words)
                self.memory.use_words(found)
                return found if is_of_use(db, found) else WordList()

            return find(db, literal, limit, passing, deadline, words, first)

    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        import numpy as np

        from cairn.index.reader.arrays import read_ids

        where, values = admitted(self, evolve(only, hidden=()))
        if not where:
            return None
        files = admitted_files(self, only)
        with self.reading(cancelled) as db:
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
        from cairn.index.reader.arrays import read_ids

        with self.reading() as db:
            return read_ids(db, HIDDEN_CHUNKS, [json.dumps(list(paths))])

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        wanted = "c.id IN (SELECT value FROM json_each(?))"
        rows = self.select(f"{_SELECT_CHUNKS} WHERE {wanted}", (json.dumps(list(ids)),))
        return {chunk.id: chunk for chunk in map(stored_chunk, rows)}

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        with self.reading() as db:
            version = (self.memory.local.identity, read_facts(db).content)
            return self.memory.outlines.get(version, ids, partial(_read_outlines, db))

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
        found: dict[str, list[int]] = defaultdict(list)
        for chunk, path in self.select(_SELECT_CHUNK_IDS, (json.dumps(list(paths)),)):
            found[path].append(chunk)
        return dict(found)

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        # Ten places take 0.5 ms in one query, and 1.3 ms in ten queries.
        found: dict[tuple[str, int], list[StoredChunk]] = {}
        for *row, position in self.select(_SELECT_NEIGHBOURS, (json.dumps(list(places)), window)):
            found.setdefault((row[1], position), []).append(stored_chunk(row))
        return found

    def page(self, path: str) -> list[StoredChunk]:
        rows = self.select(f"{_SELECT_CHUNKS} WHERE f.path = ? ORDER BY c.position", (path,))
        return list(map(stored_chunk, rows))

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        condition = "f.path = ? AND c.end_line > ? AND c.start_line < ?"
        rows = self.select(f"{_SELECT_CHUNKS} WHERE {condition} ORDER BY c.position", (path, first, last))
        return list(map(stored_chunk, rows))

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        # Without a path, the query reads all chunks, which takes 5 ms for 16,000 chunks.
        of_path, wanted = ("AND f.path = ?", (path,)) if path else ("", ())
        sql = f"""SELECT DISTINCT f.path FROM files f JOIN chunks c ON c.file_id = f.id
            WHERE c.content_hash = ? {of_path} ORDER BY f.path"""
        return [found for (found,) in self.select(sql, (bytes.fromhex(content_hash), *wanted))]

    def _counted_languages(self) -> tuple[LanguageStats, ...]:
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

    def definitions(
        self, names: Sequence[str], most: int, of_each: int, cancelled: Cancelled
    ) -> list[FoundName]:
        rows = self.select(_SELECT_DEFINING, (json.dumps(list(names)), of_each, most), cancelled)
        return list(starmap(FoundName, rows))

    def definitions_of(self, names: Iterable[str], most: int) -> list[FoundName]:
        rows = self.select(_SELECT_DEFINITIONS, (json.dumps(list(names)), most))
        return list(starmap(FoundName, rows))

    def names_matching(self, first: str, pattern: str, cancelled: Cancelled) -> list[str]:
        conditions, values = ["true"], list[str]()
        if first:
            conditions, values = ["name >= ? AND name < ?"], [first, first + "\U0010ffff"]
        if pattern:
            conditions, values = [*conditions, "name LIKE ?"], [*values, pattern]
        sql = f"""SELECT name FROM (SELECT DISTINCT name FROM definitions WHERE {" AND ".join(conditions)} LIMIT {_MOST_SORTED})
            ORDER BY length(name), name LIMIT {_MOST_NAMES}"""  # noqa: E501
        return [name for (name,) in self.select(sql, values, cancelled)]

    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        rows = self.select(_SELECT_PLACES, (json.dumps(list(ids)),))
        return {place.chunk_id: place for place in starmap(DefinitionPlace, rows)}

    def symbols_with_words(
        self, words: Sequence[str], limit: int, cancelled: Cancelled
    ) -> list[tuple[int, str]]:
        match = " AND ".join(f'"{word}"' for word in words)
        rows = self.select(_SELECT_BY_NAME, (match, limit), cancelled) if match else []
        return [(number, path) for number, path in rows]

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        # Ids are never reused, so cached tables stay valid.
        return self.memory.tables.get(self.identity(), ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        from cairn.chunking.references.packed_table import PackedTable

        sql = "SELECT id, packed FROM symbols WHERE id IN (SELECT value FROM json_each(?))"
        return {each: PackedTable(packed) for each, packed in self.select(sql, (json.dumps(list(ids)),))}


_SELECT_CHUNKS = f"SELECT {STORED_COLUMNS} FROM chunks c JOIN files f ON f.id = c.file_id"

_SELECT_NEIGHBOURS = f"""
    WITH places AS (
        SELECT key, json_extract(value, '$[0]') AS path, json_extract(value, '$[1]') AS position
        FROM json_each(?1))
    SELECT {STORED_COLUMNS}, p.position
    FROM places p CROSS JOIN files f ON f.path = p.path
    CROSS JOIN chunks c ON c.file_id = f.id AND c.position BETWEEN p.position - ?2 AND p.position + ?2
    WHERE c.position <> p.position ORDER BY p.key, c.position"""

_SELECT_CHUNK_IDS = """
    SELECT c.id, f.path FROM json_each(?) p CROSS JOIN files f ON f.path = p.value
    CROSS JOIN chunks c ON c.file_id = f.id ORDER BY p.key, c.position"""


def _read_outlines(db: apsw.Connection, ids: Sequence[int]) -> dict[int, Outline]:
    rows = db.execute(
        """SELECT c.id, f.path, f.kind, c.position, c.type, c.symbol, c.symbol_kind, c.defines
           FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value
           JOIN files f ON f.id = c.file_id""",
        (json.dumps(ids),),
    )
    return {outline.id: outline for outline in map(Outline._make, rows)}


_SELECT_LANGUAGES = """
    SELECT f.collection, c.language, count(*), sum(c.chunks) FROM (
        SELECT file_id, language, count(*) AS chunks FROM chunks GROUP BY file_id, language) c
    JOIN files f ON f.id = c.file_id GROUP BY f.collection, c.language ORDER BY f.collection, c.language"""

_SELECT_ABSENT = """
    SELECT key FROM json_each(?) WHERE NOT EXISTS
    (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH value)
    AND NOT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH value)"""
_SELECT_DOCUMENTS = "SELECT w.term, w.doc FROM json_each(?) t CROSS JOIN words w ON w.term = t.value"
_SELECT_STARTING = "SELECT term, doc FROM words WHERE term >= ?1 AND term < ?2"

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
    SELECT found.chunk_id, f.path, found.name FROM (
        SELECT n.key AS place, d.name, d.chunk_id,
               row_number() OVER (PARTITION BY n.key ORDER BY d.chunk_id) AS nth
        FROM json_each(?1) n CROSS JOIN definitions d ON d.name = n.value) found
    CROSS JOIN chunks c ON c.id = found.chunk_id CROSS JOIN files f ON f.id = c.file_id
    WHERE nth <= ?2 ORDER BY place, chunk_id LIMIT ?3"""

_SELECT_DEFINITIONS = """
    SELECT d.chunk_id, f.path, n.value FROM json_each(?1) n
    CROSS JOIN definitions d ON d.name = n.value CROSS JOIN chunks c ON c.id = d.chunk_id
    CROSS JOIN files f ON f.id = c.file_id
    WHERE d.name = n.value COLLATE BINARY
    AND (SELECT count(*) FROM (SELECT 1 FROM definitions o WHERE o.name = n.value LIMIT ?2 + 1)) <= ?2"""

_SELECT_PLACES = """
    SELECT c.id, f.path, f.kind, c.symbol, c.symbol_kind, c.parent, c.signature <> '', c.position,
           coalesce(i.in_degree, 0)
    FROM json_each(?) w CROSS JOIN chunks c ON c.id = w.value CROSS JOIN files f ON f.id = c.file_id
    LEFT JOIN file_imports i ON i.path = f.path"""

_SELECT_BY_NAME = """SELECT f.symbols_id, f.path FROM names CROSS JOIN files f ON f.symbols_id = names.rowid
    WHERE names MATCH ? LIMIT ?"""
