"""What a process keeps in memory of an index file's words: counts, postings, and the chunks' lengths.

For each query, FTS5 takes 0.9 µs a row, mostly to look up the row's length, and in a million chunks the words
of a query match hundreds of thousands of rows. Here a word's chunks are a cached array, and a query adds
arrays up.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable

import apsw
import numpy as np
from attrs import define, field, frozen
from cachetools import LRUCache

from cairn.index.reader.bm25 import OCCURRENCES, quoted_word
from cairn.index.reader.index_memory import ConnectedReader
from cairn.index.reader.postings import (
    LONGEST,
    NO_CHUNKS,
    NOWHERE,
    ChunkColumns,
    Ids,
    Postings,
    capped,
    numbers,
    read_ids,
)
from cairn.index.reader.records import KeywordCounts
from cairn.index.store.caches import bounded
from cairn.index.store.deadline import uninterrupted
from cairn.index.store.keyword_columns import stems
from cairn.index.store.meta import known_facts

_MAX_WORDS = 20_000
"""The maximum number of words whose counts are cached. They take 2 MB."""
_DRIFT = 0.1


@define
class _Counts:
    generation: int = -1
    rows: int = 0
    rows_then: int = 0
    """The number of rows when the first of `counts` was counted."""
    bound: int = 0
    counts: dict[str, int] = field(factory=dict)


def _tables() -> defaultdict[str, _Counts]:
    return defaultdict(_Counts)


def count_rows(reader: ConnectedReader, table: str, expressions: Iterable[str], bound: int) -> KeywordCounts:
    """Return the number of rows of `table` that match each FTS5 expression. Counting stops at `bound`.

    FTS5 counts by walking all matches, which takes 2 ms for a word in 20,000 chunks. So each word is counted
    once, and the count is reused until the table has grown or shrunk by a tenth: a query plan needs no exact
    number. Counts of zero expire with each change of the index, because a plan may drop absent words.
    """
    wanted = list(expressions)
    with reader.reading() as db:
        generation = known_facts(db).generation
        cache = reader.memory.own(_tables)[table]
        if generation != cache.generation:
            cache.rows = int(db.execute(f"SELECT count(*) FROM {table}_docsize").get)
            counted = cache.counts.copy()  # Other threads may add counts meanwhile.
            cache.counts = {expression: rows for expression, rows in counted.items() if rows}
            cache.generation = generation
        stale = abs(cache.rows - cache.rows_then) > _DRIFT * cache.rows_then or cache.bound != bound
        if stale or len(cache.counts) > _MAX_WORDS:
            cache.rows_then, cache.bound, cache.counts = cache.rows, bound, {}
        counts = cache.counts
        if missing := [expression for expression in wanted if expression not in counts]:
            bounded = f"SELECT 1 FROM {table} WHERE {table} MATCH value LIMIT ?"
            sql = f"SELECT value, (SELECT count(*) FROM ({bounded})) FROM json_each(?)"
            counts.update(db.execute(sql, (bound, json.dumps(missing))))
        found = {expression: counts[expression] for expression in wanted}
    return KeywordCounts(cache.rows, found)


_ROOM = 1.25
"""The capacity of the arrays relative to the number of ids, so that a save seldom copies them."""


@define(eq=False)
class ChunkArrays:
    """The `ChunkColumns` of one index, shared by all threads. Chunks of later saves are appended."""

    _known: tuple[object, ChunkColumns] | None = None
    _reading: threading.Lock = field(factory=threading.Lock)

    def columns(self, db: apsw.Connection, identity: object) -> ChunkColumns:
        """Return the columns of the index that `db` reads. The first call takes 1 s for a million chunks."""
        last = int(db.execute("SELECT max(id) FROM chunks").get or 0)
        known = self._known
        if known is None or known[0] != identity or known[1].upto < last:
            with self._reading, uninterrupted():
                known = self._known
                if known is None or known[0] != identity or known[1].upto < last:
                    before = known[1] if known is not None and known[0] == identity else NO_CHUNKS
                    self._known = known = (identity, _extended(db, before, last))
        return known[1]


def _extended(db: apsw.Connection, before: ChunkColumns, last: int) -> ChunkColumns:
    file_of, tokens = before.file_of, before.tokens
    if last >= len(file_of):
        file_of, tokens = (np.zeros(int(last * _ROOM) + 1, column.dtype) for column in (file_of, tokens))
        file_of[: len(before.file_of)], tokens[: len(before.tokens)] = before.file_of, before.tokens
    between = (before.upto, last)
    # An SQLite index has both numbers without the texts. For a few new chunks, the table itself is faster.
    source = "chunks INDEXED BY sqlite_autoindex_chunks_1" if before is NO_CHUNKS else "chunks"
    ((ids, files),) = db.execute(
        f"SELECT group_concat(id), group_concat(file_id) FROM {source} WHERE id > ? AND id <= ?", between
    )
    file_of[numbers(ids)] = numbers(files)
    ((ids, sizes, lengths),) = db.execute(
        "SELECT group_concat(id), group_concat(hex(sz), ''), group_concat(length(sz)) FROM chunks_fts_docsize"
        " WHERE id > ? AND id <= ?",
        between,
    )
    if ids:
        tokens[numbers(ids)] = np.minimum(_sums(bytes.fromhex(str(sizes)), numbers(lengths)), LONGEST)
    counted = tokens[: last + 1]
    chunks = np.count_nonzero(counted)
    mean = float(counted.sum(dtype=np.int64)) / chunks if chunks else 1.0
    return ChunkColumns(file_of, tokens, last, mean)


def _sums(varints: bytes, lengths: Ids) -> Ids:
    """Return the sum of each row's numbers, int64[rows]. The numbers are SQLite varints of up to three bytes:
    all bytes but the last have their highest bit set, and the first byte has the highest digits."""
    every = np.frombuffer(varints, np.uint8)
    continues = every >= 128
    shift = np.where(continues, np.where(np.append(continues[1:], False), 14, 7), 0)
    values = (every & 127).astype(np.int64) << shift
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return np.add.reduceat(values, starts)


COUNTED = 20_000
"""The maximum number of chunks in which a word's occurrences are counted, in 0.13 µs each. A word in more
chunks counts once in each."""
_MOST_BYTES = 28_000_000
"""The maximum size of the cache in bytes. Each chunk of a word takes 6 bytes, and the least recently used
words are evicted."""
_MOST_ADDED = 2_000
"""The maximum number of new chunks to add to a cached word. With more of them, all postings of the word are
read again."""


def read_postings(db: apsw.Connection, text: str, rows: int, above: int = 0) -> Postings:
    """Return the postings of a word or phrase for chunk ids above `above`. About `rows` chunks contain it."""
    tokens = stems(db, text)
    if not tokens:
        return NOWHERE
    quoted = quoted_word(text)
    if rows <= COUNTED and above:
        return _added(db, quoted, above)
    if rows <= COUNTED and len(tokens) == 1:
        return counted_places(*next(db.execute(PLACES, (tokens[0],))))
    matching = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?"
    ids = read_ids(db, matching, (quoted, above)).astype(np.int32)
    in_names = np.isin(ids, read_ids(db, matching, (f"symbol_words : ({quoted})", above)), assume_unique=True)
    return Postings(ids, np.ones(len(ids), np.uint8), in_names.astype(np.uint8))


PLACES = """SELECT group_concat(doc), group_concat(doc) FILTER (WHERE col = 'symbol_words')
    FROM occurrences WHERE term = ?"""
"""All chunk ids in which a term occurs, once for each place; and those of places in names."""


def counted_places(everywhere: object, in_names: object) -> Postings:
    """Return the postings of a term from the result of `PLACES`."""
    ids, counts = np.unique(numbers(everywhere), return_counts=True)
    named, times = np.unique(numbers(in_names), return_counts=True)
    names = np.zeros(len(ids), np.int64)
    names[np.searchsorted(ids, named)] = times
    return Postings(ids.astype(np.int32), capped(counts - names), capped(names))


def _added(db: apsw.Connection, quoted: str, above: int) -> Postings:
    rows = db.execute(
        f"SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?",
        (quoted, above),
    )
    found = [(int(str(row)), json.loads(str(occurrences))[1][0]) for row, occurrences in rows]
    return Postings(
        np.array([row for row, _ in found], np.int32),
        capped(np.array([sum(columns[:2]) for _, columns in found])),
        capped(np.array([columns[2] for _, columns in found])),
    )


@frozen(eq=False)
class _Entry:
    upto: int
    postings: Postings


@define(eq=False)
class PostingsCache:
    """A cache of one index's postings, up to `_MOST_BYTES`, which all threads of the process share."""

    _identity: object = None
    _words: LRUCache[str, _Entry] = field(
        factory=lambda: bounded(_MOST_BYTES, lambda entry: entry.postings.size)
    )
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, db: apsw.Connection, identity: object, text: str, rows: int, upto: int) -> Postings:
        """Return the postings of a word or phrase, which about `rows` chunks of the index behind `db`
        contain. `upto` is the highest chunk id of that index. Deleted chunks may remain in the result; other
        tables do not have them. An interrupted query leaves the cache unchanged."""
        with self._lock:
            if identity != self._identity:
                self._identity = identity
                self._words.clear()
            cached = self._words.get(text)
        if cached is not None and cached.upto >= upto:
            return cached.postings
        if cached is not None and (upto - cached.upto <= _MOST_ADDED or rows > COUNTED):
            found = _behind(cached.postings, read_postings(db, text, rows, cached.upto))
        else:
            found = read_postings(db, text, rows)
        # The connection may already see chunks above `upto`; the next call reads them again.
        seen = int(np.searchsorted(found.ids, upto, side="right"))
        found = Postings(found.ids[:seen], found.counts[:seen], found.names[:seen])
        with self._lock:
            if identity == self._identity:
                self._words[text] = _Entry(upto, found)
        return found


def _behind(before: Postings, new: Postings) -> Postings:
    if not len(new.ids):
        return before
    most = 1 if len(before.ids) > COUNTED else 255
    return Postings(
        np.concatenate((before.ids, new.ids)),
        np.concatenate((before.counts, np.minimum(new.counts, most))),
        np.concatenate((before.names, np.minimum(new.names, most))),
    )
