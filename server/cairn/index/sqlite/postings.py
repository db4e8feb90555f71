"""Postings of query words, cached in memory for all queries.

For each query, FTS5 takes 0.9 µs a row, mostly to look up the row's length, and in a million chunks the words
of a query match hundreds of thousands of rows. Here a word's chunks are a cached array, and a query adds
arrays up.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict

import apsw
import numpy as np
from attrs import define, field, frozen

from cairn.index.reader.arrays import numbers, read_ids
from cairn.index.reader.postings import NOWHERE, Postings, capped
from cairn.index.text.bm25 import OCCURRENCES
from cairn.index.text.match import quoted_word

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
    tokens = _tokens(db, text)
    if not tokens:
        return NOWHERE
    quoted = quoted_word(text)
    if rows <= COUNTED:
        if above:
            return _added(db, quoted, above)
        if len(tokens) == 1:
            return count_places(db, tokens[0])
    matching = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?"
    ids = read_ids(db, matching, (quoted, above)).astype(np.int32)
    in_names = np.isin(ids, read_ids(db, matching, (f"symbol_words : ({quoted})", above)), assume_unique=True)
    return Postings(ids, np.ones(len(ids), np.uint8), in_names.astype(np.uint8))


def _tokens(db: apsw.Connection, text: str) -> list[str]:
    tokenizer = db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2", "tokenchars", "_"])
    found = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return [str(token[0]) for token in found]


def count_places(db: apsw.Connection, token: str) -> Postings:
    """Return the postings of a token, counted from the list of all its places in the order of chunks."""
    ((everywhere, in_names),) = db.execute(
        "SELECT group_concat(doc), group_concat(doc) FILTER (WHERE col = 'symbol_words')"
        " FROM occurrences WHERE term = ?",
        (token,),
    )
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
    _words: OrderedDict[str, _Entry] = field(factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, db: apsw.Connection, identity: object, text: str, rows: int, upto: int) -> Postings:
        """Return the postings of a word or phrase, which about `rows` chunks of the index behind `db`
        contain. `upto` is the highest chunk id of that index. Deleted chunks may remain in the result; other
        tables do not have them. An interrupted query leaves the cache unchanged."""
        with self._lock:
            if identity != self._identity:
                self._identity, self._bytes = identity, 0
                self._words.clear()
            cached = self._words.get(text)
            if cached is not None:
                self._words.move_to_end(text)
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
                before = self._words.pop(text, None)
                self._bytes += found.size - (before.postings.size if before else 0)
                self._words[text] = _Entry(upto, found)
                while self._bytes > _MOST_BYTES and len(self._words) > 1:
                    self._bytes -= self._words.popitem(last=False)[1].postings.size
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
