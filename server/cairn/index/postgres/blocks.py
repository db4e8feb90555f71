"""The stored form of inverted lists: blocks of neighbouring terms with the documents that contain each term.

A block has two parts, so that terms and their document frequencies can be read without the lists:

- The dictionary: the number of terms (`uint32`), the document frequencies (`uint32[terms]`), and the terms,
  one per line.
- The lists: first, the first document of each term (`uint32[terms]`), and the width of its gaps with flags
  (`uint8[terms]`). Then, for each term: the gaps between its documents (1, 2 or 4 bytes each); its count in
  each document's text (1 byte each; absent if all are 1); and its count in the names that each document
  defines (1 byte each; absent if all are 0).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.postings import Ids, Postings, capped

MOST_TERMS = 128
"""The maximum number of terms in a block. Their dictionary takes about 1.5 kB."""
MOST_BYTES = 6_000
"""The maximum size of a block's lists in bytes, so that a row fits on a page. A single list may be larger."""
_COUNTS, _NAMES = 16, 32
"""Flags that are stored with a width: the block contains the term's counts in texts, or in names."""
_WIDTHS = {1: "<u1", 2: "<u2", 4: "<u4"}


@frozen
class TermPostings:
    term: str
    postings: Postings


@frozen
class Block:
    """A stored block. If only its dictionary was read, its lists are empty."""

    dictionary: bytes
    lists: bytes = b""

    @cached_property
    def documents(self) -> NDArray[np.uint32]:
        """uint32[terms]: how many documents contain each term."""
        return np.frombuffer(self.dictionary, "<u4", self._size, 4)

    @cached_property
    def terms(self) -> Sequence[str]:
        """The terms in ascending order. The first is the block's key."""
        return self.text.decode().split("\n")

    @property
    def text(self) -> bytes:
        """The terms in UTF-8, separated by line feeds."""
        return self.dictionary[4 + 4 * self._size :]

    @property
    def _size(self) -> int:
        return int.from_bytes(self.dictionary[:4], "little")

    def place(self, term: str) -> int | None:
        """Return the index of the term in the block, or None if the block does not contain it."""
        at = bisect_left(self.terms, term)
        return at if at < len(self.terms) and self.terms[at] == term else None

    def count(self, term: str) -> int:
        at = self.place(term)
        return 0 if at is None else int(self.documents[at])

    @cached_property
    def _flags(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.lists, np.uint8, self._size, 4 * self._size)

    @cached_property
    def _ends(self) -> Ids:
        """int64[terms]: where each list ends, without its first document and flags."""
        many = self.documents.astype(np.int64)
        stored = ((self._flags & _COUNTS) > 0).astype(np.int64) + ((self._flags & _NAMES) > 0)
        ends: Ids = 5 * self._size + np.cumsum((many - 1) * (self._flags & 15) + many * stored)
        return ends

    def postings(self, place: int) -> Postings:
        """Return the postings of the term with index `place`."""
        documents, flags = int(self.documents[place]), int(self._flags[place])
        at = int(self._ends[place - 1]) if place else 5 * self._size
        width = flags & 15
        ids = np.empty(documents, np.int32)
        ids[0] = int.from_bytes(self.lists[4 * place : 4 * place + 4], "little")
        if documents > 1:
            ids[1:] = np.frombuffer(self.lists, _WIDTHS[width], documents - 1, at)
            np.cumsum(ids, out=ids)
        at += (documents - 1) * width
        counts, names = np.ones(documents, np.uint8), np.zeros(documents, np.uint8)
        if flags & _COUNTS:
            counts = np.frombuffer(self.lists, np.uint8, documents, at)
            at += documents
        if flags & _NAMES:
            names = np.frombuffer(self.lists, np.uint8, documents, at)
        return Postings(ids, counts, names)


@frozen(eq=False)
class TermBatch:
    """The postings of neighbouring terms, concatenated in the order of the terms."""

    terms: Sequence[str]
    """The terms in ascending order."""
    ends: Ids
    """int64[terms]: the index after each term's last posting."""
    ids: NDArray[np.int32]
    """int32[n], ascending for each term: the documents that contain it."""
    counts: NDArray[np.uint8]
    """uint8[n]: how often the document's text contains the term."""
    names: NDArray[np.uint8]
    """uint8[n]: how often the names that the document defines contain the term."""

    @property
    def places(self) -> Ids:
        """int64[n]: the index in `terms` of each posting's term."""
        return np.repeat(np.arange(len(self.terms)), np.diff(self.ends, prepend=0))


def pack(batches: Iterable[TermBatch]) -> Iterator[Block]:
    """Yield the blocks of `batches`, whose terms must ascend. Drop terms without documents."""
    lists: list[_PackedList] = []
    size = 0
    for batch in batches:
        for packed in _packed_lists(batch):
            if lists and (len(lists) == MOST_TERMS or size + len(packed.body) > MOST_BYTES):
                yield _block(lists)
                lists, size = [], 0
            lists.append(packed)
            size += len(packed.body)
    if lists:
        yield _block(lists)


class _PackedList(NamedTuple):
    term: str
    documents: int
    """The number of documents that contain the term."""
    first: int
    """The id of the first of these documents."""
    flags: int
    """The width of the gaps in bytes, plus `_COUNTS` and `_NAMES` if they apply."""
    body: bytes


def _packed_lists(batch: TermBatch) -> Iterator[_PackedList]:
    begins = np.concatenate(([0], batch.ends[:-1]))
    used = np.flatnonzero(batch.ends > begins)
    if not len(used):
        return
    begins, ends = begins[used], batch.ends[used]
    gaps = np.diff(batch.ids, prepend=batch.ids[:1])
    gaps[begins] = 0
    largest = np.maximum.reduceat(gaps, begins)
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
    counted = np.logical_or.reduceat(batch.counts != 1, begins)
    named = np.logical_or.reduceat(batch.names > 0, begins)
    by_width = {width: memoryview(gaps.astype(kind).tobytes()) for width, kind in _WIDTHS.items()}
    counts, names = memoryview(batch.counts.tobytes()), memoryview(batch.names.tobytes())
    columns = (used, begins, ends, widths, counted, named, batch.ids[begins])
    for place, begin, end, width, has_counts, has_names, first in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        parts = [by_width[width][(begin + 1) * width : end * width]]
        flags = width
        if has_counts:
            flags |= _COUNTS
            parts.append(counts[begin:end])
        if has_names:
            flags |= _NAMES
            parts.append(names[begin:end])
        yield _PackedList(batch.terms[place], end - begin, first, flags, b"".join(parts))


def _block(packed: Sequence[_PackedList]) -> Block:
    terms, documents, firsts, flags, bodies = zip(*packed, strict=True)
    dictionary = np.array([len(terms), *documents], "<u4").tobytes() + "\n".join(terms).encode()
    heads = np.array(firsts, "<u4").tobytes() + bytes(flags)
    return Block(dictionary, heads + b"".join(bodies))


_TERMS_AT_ONCE = 2_000


@frozen
class Frequency:
    """A term of an index file, with the number of its occurrences."""

    term: str
    rows: int


def in_runs(terms: Iterable[Frequency], most_rows: int) -> Iterator[list[Frequency]]:
    """Yield runs of neighbouring terms with at most `most_rows` rows in total, or single terms with more."""
    run: list[Frequency] = []
    rows = 0
    for each in terms:
        if run and rows + each.rows > most_rows:
            yield run
            run, rows = [], 0
        run.append(each)
        rows += each.rows
    if run:
        yield run


def counted(run: Sequence[Frequency], documents: Ids, named: NDArray[np.bool_]) -> TermBatch:
    """Count the terms of a run in each document.

    `documents` is int64[rows], ascending for each term. `named` is bool[rows]: whether the occurrence is in a
    name.
    """
    places = np.repeat(np.arange(len(run)), [each.rows for each in run])
    firsts = np.flatnonzero(np.diff(places << 32 | documents, prepend=-1))
    times = np.diff(firsts, append=len(documents))
    in_names = np.add.reduceat(named, firsts, dtype=np.int64) if len(firsts) else times
    counts, names = capped(times - in_names), capped(in_names)
    ends = np.searchsorted(places[firsts], np.arange(len(run)), side="right")
    ids = documents[firsts].astype(np.int32)
    return TermBatch([each.term for each in run], ends, ids, counts, names)


def marked(terms: Sequence[str], places: Ids, documents: Ids) -> TermBatch:
    """Return postings with counts of 1 from pairs of an index in `terms` and a document; pairs may repeat."""
    pairs = np.unique(places << 32 | documents)
    ends = np.searchsorted(pairs >> 32, np.arange(len(terms)), side="right")
    ids = (pairs & 0xFFFFFFFF).astype(np.int32)
    return TermBatch(terms, ends, ids, np.ones(len(ids), np.uint8), np.zeros(len(ids), np.uint8))


def renumbered(batch: TermBatch, ids: NDArray[np.int32]) -> TermBatch:
    """Return the batch with new ids, in their order. `ids` is int32[old ids]; 0 drops a posting."""
    new, places = ids[batch.ids], batch.places
    order = np.flatnonzero(new)
    keys = places[order] << 32 | new[order]
    if (np.diff(keys) < 0).any():
        order = order[np.argsort(keys, kind="stable")]
    ends = np.searchsorted(places[order], np.arange(len(batch.terms)), side="right")
    return TermBatch(batch.terms, ends, new[order], batch.counts[order], batch.names[order])


def batched(terms: Iterable[TermPostings]) -> Iterator[TermBatch]:
    waiting = iter(terms)
    while run := list(islice(waiting, _TERMS_AT_ONCE)):
        postings = [each.postings for each in run]
        yield TermBatch(
            [each.term for each in run],
            np.cumsum([len(each.ids) for each in postings]),
            np.concatenate([each.ids for each in postings]),
            np.concatenate([each.counts for each in postings]),
            np.concatenate([each.names for each in postings]),
        )
