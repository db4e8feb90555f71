"""Queries for the inverted lists of a snapshot's repository, and a cache of them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from attrs import define, field
from cachetools import LRUCache

from cairn.index.postgres.blocks import Block
from cairn.index.postgres.segment import NAMES, WORDS, merged
from cairn.index.postgres.snapshot_reader import SnapshotReader, storable
from cairn.index.reader.postings import NOWHERE, Postings
from cairn.index.reader.word_list import WordList, Words
from cairn.index.sqlite.word_memory import COUNTED
from cairn.index.store.caches import bounded
from cairn.index.store.deadline import Deadline

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
class _TermCache:
    lists: LRUCache[tuple[int, str], Postings] = field(
        factory=lambda: bounded(_MOST_BYTES, lambda postings: postings.size)
    )
    counts: dict[tuple[int, str], int] = field(factory=dict)
    waiting: LRUCache[tuple[int, str], list[Block]] = field(factory=lambda: bounded(_MOST_WAITING))
    """The blocks of counted terms, whose lists are not unpacked yet."""
    lock: threading.Lock = field(factory=threading.Lock)
    reading_all: threading.Lock = field(factory=threading.Lock)


class TermQueries(SnapshotReader):
    @property
    def _cache(self) -> _TermCache:
        return self.memory.own(_TermCache)

    def term_counts(self, terms: Iterable[str], kind: int = WORDS) -> dict[str, int]:
        """Return the number of the snapshot's documents that contain each term."""
        totals = self._totals(terms, kind)
        if not self.memory.has_others:
            return totals
        # Only the lists of a term show which documents belong to other revisions.
        lists = self.term_postings([term for term, total in totals.items() if total], kind)
        return {term: len(lists[term].ids) if term in lists else 0 for term in totals}

    def _totals(self, terms: Iterable[str], kind: int) -> dict[str, int]:
        """Return the number of the repository's documents, in all revisions, that contain each term."""
        cache, wanted = self._cache, list(dict.fromkeys(terms))
        # Another thread may clear all counts at any moment.
        known = {term: count for term in wanted if (count := cache.counts.get((kind, term))) is not None}
        missing = [term for term in wanted if term not in known]
        if missing:
            small_lists = f"CASE WHEN octet_length(b.lists) <= {_READ_WITH_COUNTS} THEN b.lists END"
            blocks = self._blocks(missing, kind, small_lists)
            found = {term: sum(block.count(term) for block in blocks.get(term, ())) for term in missing}
            with cache.lock:
                if len(cache.counts) > _MOST_COUNTED:
                    cache.counts.clear()
                cache.counts.update(((kind, term), count) for term, count in found.items())
                for term, every in blocks.items():
                    if found[term] and all(block.lists for block in every):
                        cache.waiting[kind, term] = every
            known |= found
        return known

    def term_postings(self, terms: Iterable[str], kind: int = WORDS) -> dict[str, Postings]:
        cache, wanted = self._cache, list(dict.fromkeys(terms))
        with cache.lock:
            found = {term: known for term in wanted if (known := cache.lists.get((kind, term))) is not None}
        missing = [term for term in wanted if term not in found]
        if not missing:
            return found
        counted = self._totals(missing, kind)
        with cache.lock:
            blocks = {term: each for term in missing if (each := cache.waiting.pop((kind, term), None))}
        unread = [term for term in missing if counted[term] and term not in blocks]
        if unread:
            blocks |= self._blocks(unread, kind, "b.lists")
        numbering = self.memory.file_numbers if kind == NAMES else self.memory.chunk_numbers
        for term in missing:
            parts = [
                block.postings(place)
                for block in blocks.get(term, ())
                if block.lists and (place := block.place(term)) is not None
            ]
            found[term] = numbering.postings(merged(parts)) if parts else NOWHERE
            if len(found[term].ids) > COUNTED:
                found[term] = once(found[term])
        with cache.lock:
            cache.lists.update(((kind, term), found[term]) for term in missing)
        return found

    def phrase(self, terms: Sequence[str], find: Callable[[], Postings]) -> Postings:
        """Return the postings of a phrase, from the cache or from `find`."""
        cache, key = self._cache, (_PHRASES, " ".join(terms))
        with cache.lock:
            known = cache.lists.get(key)
        if known is None:
            known = find()
            with cache.lock:
                cache.lists[key] = known
        return known

    def word_list(self) -> WordList:
        """Return all words of the repository, cached for a while. Reading takes 1 s per million chunks."""
        with self._cache.reading_all:  # Several threads at once would take three times as long.
            known = self.memory.words
            if not known.lists:
                known = WordList(tuple(self._read_words()))
            self.memory.use_words(known)
        return known

    def _read_words(self) -> Iterator[Words]:
        key = self.memory.key
        sql = f"""SELECT segment, dictionary FROM cairn.terms
            WHERE shard = %s AND repository = %s AND kind = {WORDS} AND segment = ANY(%s)
            ORDER BY segment, first"""
        values = (key.shard, key.repository, list(self.memory.segments))
        rows = self._ask(lambda db: db.execute(sql, values).fetchall())
        for _, blocks in groupby(rows, itemgetter(0)):
            texts = (Block(bytes(packed)).text for _, packed in blocks)
            yield Words(self.memory.columns.upto, b"\n".join([b"", *texts, b""]))

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        """Return the number of chunks with each term of this prefix, or {} if that would take too long."""
        if deadline():  # The number of terms limits the time after the query.
            return {}
        prefix = storable(prefix)
        found: defaultdict[str, int] = defaultdict(int)
        for block, place in self._starting(prefix, "''"):
            found[block.terms[place]] += int(block.documents[place])
        if len(found) > _MOST_STARTING:
            return {}
        if self.memory.has_others:
            found.clear()
            for block, place in self._starting(prefix, "t.lists"):
                if count := len(self.memory.chunk_numbers.postings(block.postings(place)).ids):
                    found[block.terms[place]] += count
        return dict(sorted(found.items()))

    def _starting(self, prefix: str, lists: str) -> Iterator[tuple[Block, int]]:
        """Yield the block of each term with this prefix, with these `lists`, and the term's index in it.

        The blocks of a segment with too many such terms are read in part.
        """
        key = self.memory.key
        of_segment = f"t.shard = %s AND t.repository = %s AND t.kind = {WORDS} AND t.segment = s.id"
        # A limit per segment makes PostgreSQL search the index instead of joining all blocks.
        sql = f"""SELECT b.dictionary, b.lists FROM unnest(%s::int[]) AS s(id)
            CROSS JOIN LATERAL (
                SELECT max(t.first) AS first FROM cairn.terms t WHERE {of_segment} AND t.first <= %s) AS low
            CROSS JOIN LATERAL (
                SELECT t.dictionary, {lists}::bytea AS lists FROM cairn.terms t
                WHERE {of_segment} AND t.first >= coalesce(low.first, '') AND t.first < %s
                ORDER BY t.first LIMIT {_MOST_STARTING + 2}) AS b"""
        at = (key.shard, key.repository)
        values = (list(self.memory.segments), *at, prefix, *at, prefix + "\U0010ffff")
        for dictionary, packed in self._ask(lambda db: db.execute(sql, values).fetchall()):
            block = Block(bytes(dictionary), bytes(packed))
            for place, term in enumerate(block.terms):
                if term.startswith(prefix):
                    yield block, place

    def _blocks(self, terms: Sequence[str], kind: int, lists: str) -> dict[str, list[Block]]:
        """Return the blocks that may contain each term. `lists` is the SQL expression for their lists."""
        key = self.memory.key
        sql = f"""SELECT w.term, b.dictionary, {lists} FROM unnest(%s::text[]) AS w(term)
            CROSS JOIN unnest(%s::int[]) AS s(id) CROSS JOIN LATERAL (
                SELECT dictionary, lists FROM cairn.terms t
                WHERE t.shard = %s AND t.repository = %s AND t.kind = %s AND t.segment = s.id
                    AND t.first <= w.term
                ORDER BY t.first DESC LIMIT 1) AS b"""
        values = (list(terms), list(self.memory.segments), key.shard, key.repository, kind)
        rows = self._ask(lambda db: db.cursor(binary=True).execute(sql, values).fetchall())
        found: defaultdict[str, list[Block]] = defaultdict(list)
        for term, dictionary, packed in rows:
            found[term].append(Block(dictionary, packed or b""))
        return dict(found)


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
