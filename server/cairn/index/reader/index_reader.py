"""Reads one index: keywords, exact text, vectors, chunks and counts. Safe from many threads at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import TypeVar

import apsw
from attrs import define, evolve, field

from cairn.index.reader.filters import ChunkFilter, passes
from cairn.index.reader.kept import Kept
from cairn.index.reader.records import (
    STORED_COLUMNS,
    CollectionStats,
    ColumnWeights,
    Hit,
    IndexStats,
    Outline,
    StoredChunk,
    stored_chunk,
)
from cairn.index.reader.vector_queries import VectorQueries
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.store.meta import Facts, read_facts
from cairn.index.text.exact import ExactMatches, Literal, find
from cairn.index.text.word_list import WordList, is_of_use, read_word_list

T = TypeVar("T")


@define(eq=False, slots=False)
class IndexReader(VectorQueries):
    """Reads the index in `folder`; while there is none, every answer is empty."""

    _counts: Kept[IndexStats] = field(factory=Kept, init=False)

    @property
    def hidden(self) -> Sequence[str]:
        """Paths of the files that are read as unsaved text instead."""
        return ()

    # --- what is found ------------------------------------------------------------------------------

    def keywords(
        self, match: str, weights: ColumnWeights, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        """The best chunks for the FTS5 expression `match` by BM25, best first."""
        if not match:
            return []
        # `+rowid`: one keyword query whose rows are filtered, not a keyword query for each admitted row.
        condition, values = passes(self, "+rowid", only)
        rows = self.select(
            f"""SELECT rowid, -bm25(chunks_fts, {weights.sql}) AS score
                FROM chunks_fts WHERE chunks_fts MATCH ? AND {condition} ORDER BY score DESC, rowid LIMIT ?""",
            (match, *values, limit),
            cancelled,
        )
        return list(starmap(Hit, rows))

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        """Chunks whose text contains `literal` as it is written, `limit` at most besides those of `first`.

        `first` are chunks that pass `only` and are looked at before any other. When the time is over, it answers
        with what it has; where it is cancelled, it raises QueryCancelledError.
        """
        passing = passes(self, "{}", only)
        with self.reading(deadline) as db:

            def words() -> WordList:
                found = read_word_list(db, self.memory.words)
                self.memory.use_words(found)
                return found if is_of_use(db, found) else WordList()

            return find(db, literal, limit, passing, deadline, words, first)

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names`; 1 for the very spelling, 0.9 for another case."""
        if not names:
            return []
        condition, values = passes(self, "d.chunk_id", only)
        rows = self.select(
            f"""SELECT d.chunk_id, max(iif(d.name = n.value COLLATE BINARY, 1.0, 0.9)) AS score
                FROM json_each(?) n JOIN definitions d ON d.name = n.value
                WHERE {condition} GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",
            (json.dumps(names), *values, limit),
        )
        return list(starmap(Hit, rows))

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        """Chunks that define one of `names` as a member of `owner`, a type or a module; 1 for the very spelling, 0.9 for another case."""
        condition, values = passes(self, "d.chunk_id", only)
        rows = self.select(
            f"""{_NAMED_NEAR_OWNER} SELECT d.chunk_id, max(iif(d.is_same, 1.0, 0.9)) AS score
                FROM named d CROSS JOIN chunks c ON c.id = d.chunk_id CROSS JOIN files f ON f.id = c.file_id
                WHERE (c.parent = ?1 COLLATE NOCASE OR f.path LIKE '%/' || ?1 || '.%'
                       OR EXISTS (SELECT 1 FROM definitions o WHERE o.name = ?1 AND o.chunk_id = d.chunk_id)) AND {condition}
                GROUP BY d.chunk_id ORDER BY score DESC, d.chunk_id LIMIT ?""",
            (owner, json.dumps(names), *values, limit),
        )
        return list(starmap(Hit, rows))

    # --- chunks -------------------------------------------------------------------------------------

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """The chunks with these ids; one that is gone is left out."""
        wanted = "c.id IN (SELECT value FROM json_each(?))"
        rows = self.select(f"{_SELECT_CHUNKS} WHERE {wanted}", (json.dumps(list(ids)),))
        return {chunk.id: chunk for chunk in map(stored_chunk, rows)}

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        """The outlines of the chunks with these ids; one that is gone is left out."""
        with self.reading() as db:
            version = (self.memory.local.identity, read_facts(db).content)
            return self.memory.outlines.get(version, ids, partial(_read_outlines, db))

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        """Of each of these files up to `per_file` chunks that define something, or else its first ones."""
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

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        """For each of `places`, path and position of a chunk, up to `window` chunks on each side of it, in file order.

        One query for all: ten places took 0.5 ms where ten queries took 1.3.
        """
        found: dict[tuple[str, int], list[StoredChunk]] = {}
        for *row, position in self.chunk_rows(_SELECT_NEIGHBOURS, (json.dumps(list(places)), window)):
            found.setdefault((row[1], position), []).append(stored_chunk(row))
        return found

    def page(self, path: str) -> list[StoredChunk]:
        """All chunks of a file in order; empty for a path that is not indexed."""
        rows = self.chunk_rows(f"{_SELECT_CHUNKS} WHERE f.path = ? ORDER BY c.position", (path,))
        return list(map(stored_chunk, rows))

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        """The chunks of a file that hold some of its lines `[first, last)`, in order."""
        condition = "f.path = ? AND c.end_line > ? AND c.start_line < ?"
        rows = self.chunk_rows(f"{_SELECT_CHUNKS} WHERE {condition} ORDER BY c.position", (path, first, last))
        return list(map(stored_chunk, rows))

    # --- files and facts ----------------------------------------------------------------------------

    def contents(self, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The content hash and the collection of those of `paths` that are indexed."""
        named = "path IN (SELECT value FROM json_each(?))"
        sql = f"SELECT path, lower(hex(content_hash)), collection FROM files WHERE {named}"
        rows = self.select(sql, (json.dumps(list(paths)),))
        return {path: (content_hash, collection) for path, content_hash, collection in rows}

    def has_language(self, language: str) -> bool:
        """Whether a chunk is in the language; looks at all of them."""
        found = "SELECT 1 FROM chunks WHERE language = ? LIMIT 1"
        return any(source.select(found, (language,)) for source in self.sources)

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

    def _counted(self) -> IndexStats:
        collections = tuple(starmap(CollectionStats, self.select(_SELECT_COLLECTIONS)))
        ((indexed,),) = self.select("SELECT count(*) FROM files")
        return IndexStats(files_indexed=indexed, collections=collections)


_SELECT_CHUNKS = f"SELECT {STORED_COLUMNS} FROM chunks c JOIN files f ON f.id = c.file_id"

_SELECT_NEIGHBOURS = f"""
    WITH places AS (
        SELECT key, json_extract(value, '$[0]') AS path, json_extract(value, '$[1]') AS position FROM json_each(?1))
    SELECT {STORED_COLUMNS}, p.position
    FROM places p CROSS JOIN files f ON f.path = p.path
    CROSS JOIN chunks c ON c.file_id = f.id AND c.position BETWEEN p.position - ?2 AND p.position + ?2
    WHERE c.position <> p.position ORDER BY p.key, c.position"""


def _read_outlines(db: apsw.Connection, ids: Sequence[int]) -> dict[int, Outline]:
    rows = db.execute(
        """SELECT c.id, f.path, f.kind, c.position, c.type, c.symbol, c.symbol_kind, c.defines
           FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value JOIN files f ON f.id = c.file_id""",
        (json.dumps(ids),),
    )
    return {outline.id: outline for outline in map(Outline._make, rows)}


# In files that define the owner every chunk is looked at; elsewhere, as for methods that are defined apart from their type, the
# first thousand of the name are.
_NAMED_NEAR_OWNER = """WITH named AS (
    SELECT d.chunk_id, d.name = n.value COLLATE BINARY AS is_same
    FROM (SELECT chunk_id FROM definitions WHERE name = ?1 LIMIT 50) o CROSS JOIN chunks oc ON oc.id = o.chunk_id
    CROSS JOIN chunks c ON c.file_id = oc.file_id CROSS JOIN json_each(?2) n
    CROSS JOIN definitions d ON d.name = n.value AND d.chunk_id = c.id
    UNION SELECT * FROM (
        SELECT d.chunk_id, d.name = n.value COLLATE BINARY
        FROM json_each(?2) n CROSS JOIN definitions d ON d.name = n.value LIMIT 1000))"""

_SELECT_COLLECTIONS = """
    SELECT collection, min(kind), count(*), sum(chunks), min(indexed_at), max(indexed_at)
    FROM files WHERE is_text GROUP BY collection ORDER BY collection"""
