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
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids, numbers, read_ids
from cairn.index.text.bm25 import OCCURRENCES

NAMES_WEIGHT = 2.5
"""How often a word counts in the names that a chunk defines (docs/ranking.md)."""

_COUNTED = 20_000
"""Chunks of a word up to which it is counted how often it stands in each: 0.13 µs for each place. A more frequent word
counts once in each chunk."""
_MOST_BYTES = 28_000_000
"""All kept words may take so much, at 6 bytes for each of a word's chunks; the words asked for longest ago go first."""
_MOST_ADDED = 2_000
"""New chunks in which it is counted how often a word stands, one by one; with more, all of it is read again."""


@frozen(eq=False)
class Postings:
    """The chunks that contain a word or phrase, and how often."""

    ids: NDArray[np.int32]
    """int32[n], ascending; there are never more than 2³¹ chunks."""
    counts: NDArray[np.uint8]
    """uint8[n]: in the text, and in the parts of compound identifiers."""
    names: NDArray[np.uint8]
    """uint8[n]: in the names that the chunk defines."""
    _last: tuple[Ids, NDArray[np.intp], NDArray[np.bool_]] | None = field(default=None, init=False)
    """What was looked for last, and what `at` found of it: ranking asks for the same chunks several times, one signal after another."""

    def weights(self, places: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float32]:
        """float32[m]: how often it stands in the chunks at `places`, names counting more."""
        return self.counts[places] + np.float32(NAMES_WEIGHT) * self.names[places]

    def names_at(self, places: NDArray[np.intp]) -> NDArray[np.uint8]:
        """uint8[m]: how often it stands in the names that the chunks at `places` define."""
        return self.names[places]

    def at(self, chunks: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """intp[m] and bool[m]: where each of `chunks` stands, and whether it does."""
        if not len(self.ids):
            return np.zeros(len(chunks), np.intp), np.zeros(len(chunks), np.bool_)
        last = self._last
        if last is not None and np.array_equal(last[0], chunks):
            return last[1], last[2]
        wanted = chunks.astype(np.int32)  # or all ids would become as wide for each search
        places = np.searchsorted(self.ids, wanted)
        np.minimum(places, len(self.ids) - 1, out=places)
        there = np.equal(self.ids[places], wanted)
        object.__setattr__(self, "_last", (chunks, places, there))
        return places, there

    def shares(self, chunks: Ids) -> NDArray[np.float64]:
        """float64[m]: for each of `chunks` 1 where it defines a name with the word, ½ where it just contains it."""
        places, there = self.at(chunks)
        if not there.any():
            return np.zeros(len(chunks))
        found: NDArray[np.float64] = np.where(there, np.where(self.names[places] > 0, 1.0, 0.5), 0.0)
        return found

    def contain(self, chunks: Ids) -> NDArray[np.bool_]:
        """bool[m]: which of `chunks` contain the word."""
        return self.at(chunks)[1]

    def with_unsaved(self, unsaved: Postings) -> Postings:
        """These and those of unsaved text, whose ids become negative."""
        if not len(unsaved.ids):
            return self
        return Postings(
            np.concatenate((-unsaved.ids[::-1], self.ids)),
            np.concatenate((unsaved.counts[::-1], self.counts)),
            np.concatenate((unsaved.names[::-1], self.names)),
        )

    @property
    def size(self) -> int:
        """Bytes."""
        return self.ids.nbytes + self.counts.nbytes + self.names.nbytes


NOWHERE = Postings(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8))


def together(postings: list[Postings]) -> Postings:
    """The chunks of any of them; of several words that count as one, each counts."""
    every = [each for each in postings if len(each.ids)]
    if len(every) < 2:
        return every[0] if every else NOWHERE
    ids, places = np.unique(np.concatenate([each.ids for each in every]), return_inverse=True)

    def summed(columns: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        return _capped(np.bincount(places, np.concatenate(columns), len(ids)))

    return Postings(ids, summed([each.counts for each in every]), summed([each.names for each in every]))


def quoted_word(text: str) -> str:
    """As an FTS5 string: whatever stands in it is text, never syntax."""
    escaped = text.replace('"', '""').replace("\0", "")
    return f'"{escaped}"'


def read_postings(db: apsw.Connection, text: str, rows: int, above: int = 0) -> Postings:
    """The postings of a word or phrase, which some `rows` chunks hold, among those of an id higher than `above`."""
    tokens = _tokens(db, text)
    if not tokens:
        return NOWHERE
    quoted = quoted_word(text)
    if rows <= _COUNTED:
        if above:
            return _added(db, quoted, above)
        if len(tokens) == 1:
            return _counted(db, tokens[0])
    matching = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?"
    ids = read_ids(db, matching, (quoted, above)).astype(np.int32)
    in_names = np.isin(ids, read_ids(db, matching, (f"symbol_words : ({quoted})", above)), assume_unique=True)
    return Postings(ids, np.ones(len(ids), np.uint8), in_names.astype(np.uint8))


def _tokens(db: apsw.Connection, text: str) -> list[str]:
    tokenizer = db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2", "tokenchars", "_"])
    found = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return [str(token[0]) for token in found]


def _counted(db: apsw.Connection, token: str) -> Postings:
    """By the list of all places where the token stands, which is in the order of chunks."""
    ((everywhere, in_names),) = db.execute(
        "SELECT group_concat(doc), group_concat(doc) FILTER (WHERE col = 'symbol_words') FROM occurrences WHERE term = ?",
        (token,),
    )
    ids, counts = np.unique(numbers(everywhere), return_counts=True)
    named, times = np.unique(numbers(in_names), return_counts=True)
    names = np.zeros(len(ids), np.int64)
    names[np.searchsorted(ids, named)] = times
    return Postings(ids.astype(np.int32), _capped(counts - names), _capped(names))


def _added(db: apsw.Connection, quoted: str, above: int) -> Postings:
    """Chunk by chunk, as there are few."""
    rows = db.execute(
        f"SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid > ?",
        (quoted, above),
    )
    found = [(int(str(row)), json.loads(str(said))[1][0]) for row, said in rows]
    return Postings(
        np.array([row for row, _ in found], np.int32),
        _capped(np.array([sum(columns[:2]) for _, columns in found])),
        _capped(np.array([columns[2] for _, columns in found])),
    )


def _capped(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.minimum(counts, 255).astype(np.uint8)


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
        if kept is not None and (upto - kept.upto <= _MOST_ADDED or rows > _COUNTED):
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
    most = 1 if len(before.ids) > _COUNTED else 255
    return Postings(
        np.concatenate((before.ids, new.ids)),
        np.concatenate((before.counts, np.minimum(new.counts, most))),
        np.concatenate((before.names, np.minimum(new.names, most))),
    )
