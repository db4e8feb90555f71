"""Inverted lists as they are stored: blocks of neighbouring terms, each with the documents that contain it.

A block has two parts, so that whoever only wants to know which terms there are, and how frequent, reads little:

- the dictionary: `uint32 terms`, then `uint32[terms]` how many documents contain each, then the terms, with line ends between them;
- the lists: for each term `uint32` its first document and `uint8` how wide its steps are, then, term after term, the steps from one
  document to the next (1, 2 or 4 bytes each), and where they are not all alike, how often the term stands in each document's text
  and in the names that it defines (1 byte each).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids
from cairn.index.reader.postings import Postings

MOST_TERMS = 128
"""Terms of a block: their dictionary takes some 1.5 kB."""
MOST_BYTES = 6_000
"""A block ends once its lists take so much, so that a row stays on one page of the database; a frequent term has a block of its own."""
_COUNTS, _NAMES = 16, 32
"""Flags beside a width: how often it stands in texts, and in names, is stored."""
_WIDTHS = {1: "<u1", 2: "<u2", 4: "<u4"}


@frozen
class TermPostings:
    """A term and where it stands."""

    term: str
    postings: Postings


@frozen
class PackedBlock:
    """A block to be stored."""

    first: str
    """Its first term, by which it is found."""
    dictionary: bytes
    lists: bytes


@frozen(eq=False)
class TermBatch:
    """Neighbouring terms and where they stand: the entries of one term lie behind those of the one before."""

    terms: Sequence[str]
    """In ascending order."""
    ends: Ids
    """int64[terms]: behind the last entry of each."""
    ids: NDArray[np.int32]
    """int32[n], ascending for each term: the documents that contain it."""
    counts: NDArray[np.uint8]
    """uint8[n]: how often it stands in the text of each."""
    names: NDArray[np.uint8]
    """uint8[n]: how often it stands in the names that each defines."""

    @property
    def places(self) -> Ids:
        """int64[n]: the place of each entry's term."""
        return np.repeat(np.arange(len(self.terms)), np.diff(self.ends, prepend=0))


def pack(batches: Iterable[TermBatch]) -> Iterator[PackedBlock]:
    """Blocks of the terms of `batches`, which come in ascending order. Those without documents are left out."""
    names: list[str] = []
    documents: list[int] = []
    heads: list[tuple[int, int]] = []
    bodies: list[bytes] = []
    size = 0
    for batch in batches:
        for name, many, first, flags, body in _packed_lists(batch):
            if names and (len(names) == MOST_TERMS or size + len(body) > MOST_BYTES):
                yield _block(names, documents, heads, bodies)
                names, documents, heads, bodies, size = [], [], [], [], 0
            names.append(name)
            documents.append(many)
            heads.append((first, flags))
            bodies.append(body)
            size += len(body)
    if names:
        yield _block(names, documents, heads, bodies)


def _packed_lists(batch: TermBatch) -> Iterator[tuple[str, int, int, int, bytes]]:
    """Of each term that stands somewhere: itself, in how many documents, the first of these, the width of the steps with flags, and
    the bytes that follow its head."""
    begins = np.concatenate(([0], batch.ends[:-1]))
    standing = np.flatnonzero(batch.ends > begins)
    if not len(standing):
        return
    begins, ends = begins[standing], batch.ends[standing]
    steps = np.diff(batch.ids, prepend=batch.ids[:1])
    steps[begins] = 0
    largest = np.maximum.reduceat(steps, begins)
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
    counted = np.logical_or.reduceat(batch.counts != 1, begins)
    named = np.logical_or.reduceat(batch.names > 0, begins)
    by_width = {width: memoryview(steps.astype(kind).tobytes()) for width, kind in _WIDTHS.items()}
    counts, names = memoryview(batch.counts.tobytes()), memoryview(batch.names.tobytes())
    columns = (standing, begins, ends, widths, counted, named, batch.ids[begins])
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
        yield batch.terms[place], end - begin, first, flags, b"".join(parts)


def _block(
    names: Sequence[str], documents: Sequence[int], heads: Sequence[tuple[int, int]], bodies: Sequence[bytes]
) -> PackedBlock:
    numbers = np.array([len(names), *documents], "<u4")
    firsts = np.array([first for first, _ in heads], "<u4")
    flags = np.array([flag for _, flag in heads], np.uint8)
    dictionary = numbers.tobytes() + "\n".join(names).encode()
    return PackedBlock(names[0], dictionary, firsts.tobytes() + flags.tobytes() + b"".join(bodies))


@frozen(eq=False)
class Dictionary:
    """The terms of a block."""

    packed: bytes

    @cached_property
    def documents(self) -> NDArray[np.uint32]:
        """uint32[terms]: how many documents contain each."""
        return np.frombuffer(self.packed, "<u4", self._size, 4)

    @cached_property
    def terms(self) -> Sequence[str]:
        """In ascending order."""
        return self.text.decode().split("\n")

    @property
    def text(self) -> bytes:
        """The terms in UTF-8, with line ends between them."""
        return self.packed[4 + 4 * self._size :]

    @property
    def _size(self) -> int:
        return int.from_bytes(self.packed[:4], "little")

    def place(self, term: str) -> int | None:
        """Where the term stands in the block; None where it does not."""
        at = bisect_left(self.terms, term)
        return at if at < len(self.terms) and self.terms[at] == term else None

    def count(self, term: str) -> int:
        """How many documents contain the term."""
        at = self.place(term)
        return 0 if at is None else int(self.documents[at])


def unpack(dictionary: Dictionary, lists: bytes, place: int) -> Postings:
    """Where the term at `place` of a block stands."""
    documents = dictionary.documents
    terms = len(documents)
    flags = np.frombuffer(lists, np.uint8, terms, 4 * terms)
    before = slice(0, place)
    begin = 5 * terms + int(_sizes(documents[before], flags[before]).sum())
    return _read(lists, begin, terms, place, int(documents[place]), int(flags[place]))


def unpack_all(dictionary: Dictionary, lists: bytes) -> Iterator[TermPostings]:
    """All terms of a block and where they stand."""
    documents = dictionary.documents
    terms = len(documents)
    flags = np.frombuffer(lists, np.uint8, terms, 4 * terms)
    ends = 5 * terms + np.cumsum(_sizes(documents, flags))
    begin = 5 * terms
    for place, term in enumerate(dictionary.terms):
        found = _read(lists, begin, terms, place, int(documents[place]), int(flags[place]))
        yield TermPostings(term, found)
        begin = int(ends[place])


def _sizes(documents: NDArray[np.uint32], flags: NDArray[np.uint8]) -> Ids:
    """int64[n]: the bytes of each list after its head."""
    many = documents.astype(np.int64)
    stored = ((flags & _COUNTS) > 0).astype(np.int64) + ((flags & _NAMES) > 0)
    sizes: Ids = (many - 1) * (flags & 15) + many * stored
    return sizes


def _read(lists: bytes, begin: int, terms: int, place: int, documents: int, flags: int) -> Postings:
    width = flags & 15
    ids = np.empty(documents, np.int32)
    ids[0] = int.from_bytes(lists[4 * place : 4 * place + 4], "little")
    if documents > 1:
        ids[1:] = np.frombuffer(lists, _WIDTHS[width], documents - 1, begin)
        np.cumsum(ids, out=ids)
    at = begin + (documents - 1) * width
    counts, names = np.ones(documents, np.uint8), np.zeros(documents, np.uint8)
    if flags & _COUNTS:
        counts = np.frombuffer(lists, np.uint8, documents, at)
        at += documents
    if flags & _NAMES:
        names = np.frombuffer(lists, np.uint8, documents, at)
    return Postings(ids, counts, names)
