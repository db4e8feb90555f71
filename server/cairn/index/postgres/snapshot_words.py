"""A cache of the inverted lists of a snapshot's repository."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar
from weakref import ref

import apsw
import numpy as np
from attrs import define, field
from cachetools import LRUCache
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.blocks import Dictionary, unpack
from cairn.index.postgres.segment import NAMES, WORDS, merged
from cairn.index.postgres.snapshot_catalogue import Numbering, SnapshotMemory
from cairn.index.reader.postings import NOWHERE, Postings
from cairn.index.reader.word_list import WordList, Words
from cairn.index.sqlite.word_memory import COUNTED
from cairn.index.store.caches import bounded
from cairn.index.store.deadline import Deadline

T = TypeVar("T")
Ask = Callable[[Callable[[Connection[TupleRow]], Any]], Any]
"""The type of a function that runs another function in a transaction of the reader."""
_Block = tuple[Dictionary, bytes | None]
"""The dictionary of a block of terms, and its lists if they were read."""

_PHRASES = -1
"""The kind by which cached phrases differ from cached terms."""
_MOST_BYTES = 28_000_000
"""The maximum size of all cached lists. The least recently used terms are evicted."""
_MOST_COUNTED = 50_000
"""The maximum number of cached document frequencies."""
_READ_WITH_COUNTS = 8_192
"""The maximum size of lists that are read with their block's dictionary. Nearly all blocks are smaller, and
queries look up most terms that they count."""
_MOST_WAITING = 256
"""The maximum number of counted terms whose packed lists are kept, 2 MB."""
_MOST_STARTING = 7_500
"""The maximum number of terms with a prefix. More would take too long. It is not a number of blocks, which
would depend on the runs that stored them."""


@define(eq=False)
class SnapshotWords:
    """A thread-safe cache of the terms of one snapshot. It does not keep the `SnapshotMemory` alive."""

    _memory: ref[SnapshotMemory]
    _lists: LRUCache[tuple[int, str], Postings] = field(
        factory=lambda: bounded(_MOST_BYTES, lambda postings: postings.size), init=False
    )
    _counts: dict[tuple[int, str], int] = field(factory=dict, init=False)
    _waiting: LRUCache[tuple[int, str], list[_Block]] = field(
        factory=lambda: bounded(_MOST_WAITING), init=False
    )
    """The blocks of counted terms, whose lists are not unpacked yet."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _reading_all: threading.Lock = field(factory=threading.Lock, init=False)

    @property
    def memory(self) -> SnapshotMemory:
        """The data of the snapshot, which the caller keeps alive."""
        memory = self._memory()
        assert memory is not None
        return memory

    def counts(self, ask: Ask, terms: Iterable[str], kind: int = WORDS) -> dict[str, int]:
        """Return the number of the snapshot's documents that contain each term."""
        totals = self._totals(ask, terms, kind)
        if not self.memory.has_others:
            return totals
        # Only the lists of a term show which documents belong to other revisions.
        lists = self.postings(ask, [term for term, total in totals.items() if total], kind)
        return {term: len(lists[term].ids) if term in lists else 0 for term in totals}

    def _totals(self, ask: Ask, terms: Iterable[str], kind: int) -> dict[str, int]:
        """Return the number of the repository's documents, in all revisions, that contain each term."""
        wanted = list(dict.fromkeys(terms))
        # Another thread may clear all counts at any moment.
        known = {term: count for term in wanted if (count := self._counts.get((kind, term))) is not None}
        missing = [term for term in wanted if term not in known]
        if missing:
            small_lists = f"CASE WHEN octet_length(b.lists) <= {_READ_WITH_COUNTS} THEN b.lists END"
            blocks = self._blocks(ask, missing, kind, small_lists)
            found = {term: sum(words.count(term) for words, _ in blocks.get(term, ())) for term in missing}
            with self._lock:
                if len(self._counts) > _MOST_COUNTED:
                    self._counts.clear()
                self._counts.update(((kind, term), count) for term, count in found.items())
                for term, every in blocks.items():
                    if found[term] and all(lists is not None for _, lists in every):
                        self._waiting[kind, term] = every
            known |= found
        return known

    def postings(self, ask: Ask, terms: Iterable[str], kind: int = WORDS) -> dict[str, Postings]:
        wanted = list(dict.fromkeys(terms))
        found: dict[str, Postings] = {}
        with self._lock:
            for term in wanted:
                if (known := self._lists.get((kind, term))) is not None:
                    found[term] = known
        missing = [term for term in wanted if term not in found]
        if not missing:
            return found
        counted = self._totals(ask, missing, kind)
        with self._lock:
            blocks = {term: each for term in missing if (each := self._waiting.pop((kind, term), None))}
        unread = [term for term in missing if counted[term] and term not in blocks]
        if unread:
            blocks |= self._blocks(ask, unread, kind, "b.lists")
        for term in missing:
            parts = [
                unpack(words, lists, place)
                for words, lists in blocks.get(term, ())
                if lists is not None and (place := words.place(term)) is not None
            ]
            found[term] = self._numbering(kind).postings(merged(parts)) if parts else NOWHERE
            if len(found[term].ids) > COUNTED:
                found[term] = once(found[term])
        self._keep({term: found[term] for term in missing}, kind)
        return found

    def phrase(self, terms: Sequence[str], find: Callable[[], Postings]) -> Postings:
        """Return the postings of a phrase, from the cache or from `find`."""
        key = (_PHRASES, " ".join(terms))
        with self._lock:
            if (known := self._lists.get(key)) is not None:
                return known
        found = find()
        self._keep({key[1]: found}, _PHRASES)
        return found

    def all(self, ask: Ask) -> WordList:
        """Return all words of the repository, cached for a while. Reading takes 1 s per million chunks."""
        with self._reading_all:  # Several threads at once would take three times as long.
            known = self.memory.words
            if not known.lists:
                known = WordList(tuple(self._read_all(ask)))
            self.memory.use_words(known)
        return known

    def _read_all(self, ask: Ask) -> Iterator[Words]:
        key = self.memory.key
        sql = f"""SELECT segment, dictionary FROM cairn.terms
            WHERE shard = %s AND repository = %s AND kind = {WORDS} AND segment = ANY(%s)
            ORDER BY segment, first"""
        values = (key.shard, key.repository, list(self.memory.segments))
        rows = ask(lambda db: db.execute(sql, values).fetchall())
        for _, blocks in groupby(rows, itemgetter(0)):
            texts = (Dictionary(bytes(packed)).text for _, packed in blocks)
            yield Words(self.memory.columns.upto, b"\n".join([b"", *texts, b""]))

    def starting(self, ask: Ask, prefix: str, deadline: Deadline) -> dict[str, int]:
        """Return the number of chunks with each term of this prefix, or {} if that would take too long."""
        if deadline():  # The number of terms limits the time after the query.
            return {}
        found: defaultdict[str, int] = defaultdict(int)
        for words, place, _ in self._starting(ask, prefix, "NULL"):
            found[words.terms[place]] += int(words.documents[place])
        if len(found) > _MOST_STARTING:
            return {}
        if self.memory.has_others:
            found.clear()
            for words, place, lists in self._starting(ask, prefix, "t.lists"):
                count = len(self.memory.chunk_numbers.postings(unpack(words, lists, place)).ids)
                if count:
                    found[words.terms[place]] += count
        return dict(sorted(found.items()))

    def _starting(self, ask: Ask, prefix: str, lists: str) -> Iterator[tuple[Dictionary, int, bytes]]:
        """Yield the dictionary and the index in it of each term with this prefix, and the block's `lists`.

        The blocks of a segment with too many such terms are read in part.
        """
        key = self.memory.key
        of_segment = f"t.shard = %s AND t.repository = %s AND t.kind = {WORDS} AND t.segment = s.id"
        # A limit per segment makes PostgreSQL search the index instead of joining all blocks.
        sql = f"""SELECT b.dictionary, b.lists FROM unnest(%s::int[]) AS s(id)
            CROSS JOIN LATERAL (
                SELECT max(t.first) AS first FROM cairn.terms t WHERE {of_segment} AND t.first <= %s) AS low
            CROSS JOIN LATERAL (
                SELECT t.dictionary, {lists} AS lists FROM cairn.terms t
                WHERE {of_segment} AND t.first >= coalesce(low.first, '') AND t.first < %s
                ORDER BY t.first LIMIT {_MOST_STARTING + 2}) AS b"""
        at = (key.shard, key.repository)
        values = (list(self.memory.segments), *at, prefix, *at, prefix + "\U0010ffff")
        for dictionary, packed in ask(lambda db: db.execute(sql, values).fetchall()):
            words = Dictionary(bytes(dictionary))
            for place, term in enumerate(words.terms):
                if term.startswith(prefix):
                    yield words, place, packed

    def _blocks(self, ask: Ask, terms: Sequence[str], kind: int, lists: str) -> dict[str, list[_Block]]:
        """Return the blocks that may contain each term. `lists` is the SQL expression for their lists."""
        key = self.memory.key
        sql = f"""SELECT w.term, b.dictionary, {lists} FROM unnest(%s::text[]) AS w(term)
            CROSS JOIN unnest(%s::int[]) AS s(id) CROSS JOIN LATERAL (
                SELECT dictionary, lists FROM cairn.terms t
                WHERE t.shard = %s AND t.repository = %s AND t.kind = %s AND t.segment = s.id
                    AND t.first <= w.term
                ORDER BY t.first DESC LIMIT 1) AS b"""
        values = (list(terms), list(self.memory.segments), key.shard, key.repository, kind)
        rows = ask(lambda db: db.cursor(binary=True).execute(sql, values).fetchall())
        found: defaultdict[str, list[_Block]] = defaultdict(list)
        for term, dictionary, packed in rows:
            found[term].append((Dictionary(dictionary), packed))
        return dict(found)

    def _numbering(self, kind: int) -> Numbering:
        return self.memory.file_numbers if kind == NAMES else self.memory.chunk_numbers

    def _keep(self, lists: Mapping[str, Postings], kind: int) -> None:
        with self._lock:
            self._lists.update(((kind, term), postings) for term, postings in lists.items())


@cache
def _tokenizing() -> apsw.Connection:
    """Return a connection that tokenizes texts. Threads share it under `_TOKENIZING`."""
    return apsw.Connection(":memory:")


_TOKENIZING = threading.Lock()


def query_stems(text: str) -> list[str]:
    with _TOKENIZING:
        return stems(_tokenizing(), text)


def stems(db: apsw.Connection, text: str) -> list[str]:
    """Return the stemmed words of a text, as the keyword index stores them."""
    return _tokens(db, "porter", ["unicode61"], text)


def tokens(db: apsw.Connection, text: str) -> list[str]:
    """Return the unstemmed words of a text, as the keyword index separates them."""
    return _tokens(db, "unicode61", [], text)


def _tokens(db: apsw.Connection, name: str, arguments: list[str], text: str) -> list[str]:
    tokenizer = db.fts5_tokenizer(name, [*arguments, "remove_diacritics", "2", "tokenchars", "_"])
    found = tokenizer(
        text.encode("utf-8", "surrogatepass"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False
    )
    return [str(token[0]) for token in found]


def once(postings: Postings) -> Postings:
    """Return the postings with a count of 1 in each chunk."""
    return Postings(postings.ids, np.ones(len(postings.ids), np.uint8), np.minimum(postings.names, 1))


def intersection(every: Sequence[Postings]) -> Postings:
    """Return the documents that are in all postings, each with its lowest count."""
    ids = every[0].ids
    for each in every[1:]:
        ids = np.intersect1d(ids, each.ids, assume_unique=True)
    places = [each.at(ids.astype(np.int64))[0] for each in every]
    counts = np.min([each.counts[place] for each, place in zip(every, places, strict=True)], axis=0)
    names = np.min([each.names[place] for each, place in zip(every, places, strict=True)], axis=0)
    return Postings(ids, counts.astype(np.uint8), names.astype(np.uint8))
