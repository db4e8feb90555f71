"""Queries for the words and the texts of an index file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from typing import TYPE_CHECKING, cast

import apsw
from attrs import frozen

from cairn.errors import OutOfTimeError
from cairn.index.reader.bm25 import Statistics, any_of, quoted_word, read_statistics
from cairn.index.reader.exact import ExactMatches, Literal, Proposer, Wanted, find, propose
from cairn.index.reader.filters import ChunkFilter, passes
from cairn.index.reader.index_memory import IndexMemory
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights, Hit, KeywordCounts
from cairn.index.reader.word_list import WordList, is_of_use, read_word_list
from cairn.index.store.deadline import Deadline, ended_by
from cairn.index.store.rows import text_of

# Only methods that count words import numpy: opening a workspace does not need it.
if TYPE_CHECKING:
    from cairn.index.reader.postings import ChunkColumns, Ids, Postings


class WordQueries(IndexReader):
    def word_counts(self, texts: Iterable[str], bound: int) -> KeywordCounts:
        from cairn.index.sqlite.word_memory import count_rows

        quoted = {text: quoted_word(text) for text in texts}
        counts = count_rows(self, "chunks_fts", quoted.values(), bound)
        matching = {text: counts.matching[expression] for text, expression in quoted.items()}
        return KeywordCounts(counts.rows, matching)

    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        from cairn.index.sqlite.word_memory import ChunkArrays, PostingsCache

        kept = self.memory.own(PostingsCache)
        found: dict[str, Postings] = {}
        with self.reading() as db, suppress(OutOfTimeError):
            identity = self.memory.local.identity
            upto = self.memory.own(ChunkArrays).columns(db, identity).upto
            for text, rows in texts.items():
                with self.reading():
                    found[text] = kept.get(db, identity, text, rows, upto)
        return found

    def columns(self) -> ChunkColumns:
        from cairn.index.sqlite.word_memory import ChunkArrays

        with self.reading() as db:
            return self.memory.own(ChunkArrays).columns(db, self.memory.local.identity)

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
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
        )
        return list(starmap(Hit, rows))

    def statistics(self, words: Sequence[str]) -> Statistics:
        with self.reading() as db:
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
        with self.reading() as db, ended_by(deadline):
            return find(db, _SqliteProposer(db, self.memory, passing), literal, limit, deadline, first)

    def proposed(self, literals: Iterable[Literal], only: ChunkFilter) -> Ids:
        import numpy as np

        passing = passes(self, "{}", only)
        with self.reading() as db:
            return np.array(propose(db, _SqliteProposer(db, self.memory, passing), literals), np.int64)

    def chunk_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, int, str]]:
        # `chunks` would keep the texts of all chunks that are read once.
        waiting = iter(ids)
        while batch := list(itertools.islice(waiting, _TEXTS_AT_ONCE)):
            for chunk_id, start_line, packed in self.select(_SELECT_TEXTS, (json.dumps(batch),)):
                yield chunk_id, start_line, text_of(packed)


_SELECT_ABSENT = """
    SELECT key FROM json_each(?) WHERE NOT EXISTS
    (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH value)
    AND NOT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH value)"""
_SELECT_DOCUMENTS = "SELECT w.term, w.doc FROM json_each(?) t CROSS JOIN words w ON w.term = t.value"
_SELECT_TEXTS = "SELECT id, start_line, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
_TEXTS_AT_ONCE = 256
_SELECT_STARTING = "SELECT term, doc FROM words WHERE term >= ?1 AND term < ?2"

# --- exact text ---------------------------------------------------------------------------------------

_MOST_IDS = 20_000
"""One of several conditions is skipped if it proposes this number of chunks or more."""
_FEW = 200
"""The number of chunks up to which reading their texts is faster than evaluating another condition."""

_BY_PHRASE = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND {passes}"
_BY_OPERATORS = "SELECT rowid FROM operators WHERE operators MATCH ? AND {passes}"
_BY_TERMS = (
    "SELECT DISTINCT doc FROM json_each(?) t CROSS JOIN occurrences o ON o.term = t.value WHERE {passes}"
)


@frozen(eq=False)
class _SqliteProposer(Proposer):
    db: apsw.Connection
    memory: IndexMemory
    passes: tuple[str, list[str]]
    """An SQL condition for chunks that pass, with `{}` in place of the column of ids, and its values."""

    # A chunk takes 10 to 20 µs, a query 0.1 ms.
    batches = (32, 64, 128, 256)

    def with_all(self, wanted: Wanted) -> Iterable[int]:
        operators = " AND ".join(map(quoted_word, wanted.operators))
        conditions = [(_BY_OPERATORS, "+rowid", operators)] if operators else []
        conditions += [(_BY_TERMS, "o.doc", json.dumps(terms)) for terms in wanted.parts]
        if words := wanted.words:
            # A phrase of several words proposes the fewest chunks, and a single word often the most.
            text = wanted.data[words[0].start : words[-1].end].decode("utf-8", "replace")
            phrase = (_BY_PHRASE, "+rowid", f"{{text}} : {quoted_word(text)}")
            conditions.insert(0 if len(words) > 1 else len(conditions), phrase)
        proposed: set[int] | None = None
        for sql, column, value in conditions if len(conditions) > 1 else ():
            ids = set(itertools.islice(self._ids(sql, column, value), _MOST_IDS))
            if len(ids) < _MOST_IDS:
                proposed = ids if proposed is None else proposed & ids
            if proposed is not None and len(proposed) <= _FEW:
                break
        if proposed is not None:
            return sorted(proposed)
        sql, column, value = conditions[0]
        return self._ids(sql, column, value)

    def every(self) -> Iterable[int]:
        return self._ids("SELECT id FROM chunks WHERE {passes} ORDER BY id", "id")

    def newer_than(self, known: WordList) -> Iterable[int]:
        return self._ids("SELECT id FROM chunks WHERE id > ? AND {passes}", "id", known.upto)

    def word_list(self) -> WordList:
        found = read_word_list(self.db, self.memory.words)
        self.memory.use_words(found)
        return found if is_of_use(self.db, found) else WordList()

    def packed_texts(self, ids: Sequence[int]) -> Iterable[tuple[int, int, bytes]]:
        rows = self.db.execute(_SELECT_TEXTS, (json.dumps(ids),))
        return cast("Iterable[tuple[int, int, bytes]]", rows)

    def _ids(self, sql: str, column: str, *values: apsw.SQLiteValue) -> Iterator[int]:
        condition, more = self.passes
        rows = self.db.execute(sql.format(passes=condition.format(column)), (*values, *more))
        return (int(str(row[0])) for row in rows)
