"""Where the words of questions stand, in memory: read from the keyword index once, then shared by all questions.

FTS5 scores a row in 0.9 µs, most of which is looking up its length, and every question anew: of a million chunks a
question's words stand in hundreds of thousands. Here a word's chunks are an array, and a question adds arrays up.
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
"""Chunks of a word up to which it is counted how often it stands in each: 0.13 µs for each place. A more frequent word
counts once in each chunk."""
_MOST_BYTES = 28_000_000
"""All kept words may take so much, at 6 bytes for each of a word's chunks; the words asked for longest ago go first."""
_MOST_ADDED = 2_000
"""New chunks in which it is counted how often a word stands, one by one; with more, all of it is read again."""


def read_postings(db: apsw.Connection, text: str, rows: int, above: int = 0) -> Postings:
    """The postings of a word or phrase, which some `rows` chunks hold, among those of an id higher than `above`."""
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
    """By the list of all places where the token stands, which is in the order of chunks."""
    ((everywhere, in_names),) = db.execute(
        "SELECT group_concat(doc), group_concat(doc) FILTER (WHERE col = 'symbol_words') FROM occurrences WHERE term = ?",
        (token,),
    )
    ids, counts = np.unique(numbers(everywhere), return_counts=True)
    named, times = np.unique(numbers(in_names), return_counts=True)
    names = np.zeros(len(ids), np.int64)
    names[np.searchsorted(ids, named)] = times
    return Postings(ids.astype(np.int32), capped(counts - names), capped(names))


def _added(db: apsw.Connection, quoted: str, above: int) -> Postings:
    """Chunk by chunk, as there are few."""
    rows = db.execute(
        f"SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?",
        (quoted, above),
    )
    found = [(int(str(row)), json.loads(str(said))[1][0]) for row, said in rows]
    return Postings(
        np.array([row for row, _ in found], np.int32),
        capped(np.array([sum(columns[:2]) for _, columns in found])),
        capped(np.array([columns[2] for _, columns in found])),
    )


@frozen(eq=False)
class _Kept:
    upto: int
    """The highest id of a chunk that was looked at."""
    postings: Postings


@define(eq=False)
class KeptPostings:
    """The postings of one index that questions asked for, `_MOST_BYTES` of them; for all threads of the process."""

    _identity: object = None
    _words: OrderedDict[str, _Kept] = field(factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, db: apsw.Connection, identity: object, text: str, rows: int, upto: int) -> Postings:
        """The postings of a word or phrase in the index that `db` reads, which some `rows` chunks hold.

        `upto` is the highest id of a chunk there.

        Chunks that are gone since stay among them, and are found in no other table. An interrupted query leaves
        nothing behind.
        """
        with self._lock:
            if identity != self._identity:
                self._identity, self._bytes = identity, 0
                self._words.clear()
            kept = self._words.get(text)
            if kept is not None:
                self._words.move_to_end(text)
        if kept is not None and kept.upto >= upto:
            return kept.postings
        if kept is not None and (upto - kept.upto <= _MOST_ADDED or rows > COUNTED):
            found = _behind(kept.postings, read_postings(db, text, rows, kept.upto))
        else:
            found = read_postings(db, text, rows)
        # The connection may have seen more than `upto`, which the next look reads.
        seen = int(np.searchsorted(found.ids, upto, side="right"))
        found = Postings(found.ids[:seen], found.counts[:seen], found.names[:seen])
        with self._lock:
            if identity == self._identity:
                before = self._words.pop(text, None)
                self._bytes += found.size - (before.postings.size if before else 0)
                self._words[text] = _Kept(upto, found)
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
