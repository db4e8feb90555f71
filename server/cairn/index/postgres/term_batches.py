"""Batches of neighbouring terms with their postings in arrays, so that few numpy calls handle many terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.postgres.blocks import TermBatch, TermPostings
from cairn.index.reader.arrays import Ids
from cairn.index.reader.postings import capped

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
