"""Blocks of inverted lists: every batch of terms is read back as it was packed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cairn.index.postgres.blocks import (
    Frequency,
    TermBatch,
    TermPostings,
    batched,
    counted,
    in_runs,
    marked,
    pack,
    renumbered,
)
from cairn.index.reader.postings import Postings

Entries = dict[int, tuple[int, int]]
"""A term's counts in the text and in the names of each document."""

entries = st.dictionaries(
    st.integers(1, 200_000), st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=12
)
vocabularies = st.dictionaries(st.text("abcß", min_size=1, max_size=4), entries, max_size=20)


def postings_of(found: Entries) -> Postings:
    documents = sorted(found)
    return Postings(
        np.array(documents, np.int32),
        np.array([found[document][0] for document in documents], np.uint8),
        np.array([found[document][1] for document in documents], np.uint8),
    )


def terms_of(vocabulary: dict[str, Entries]) -> list[TermPostings]:
    return [TermPostings(term, postings_of(vocabulary[term])) for term in sorted(vocabulary, key=str.encode)]


def entries_of(postings: Postings) -> Entries:
    counts = zip(postings.counts.tolist(), postings.names.tolist(), strict=True)
    return dict(zip(postings.ids.tolist(), counts, strict=True))


def read(batches: list[TermBatch]) -> dict[str, Entries]:
    """Pack batches, and read them back block by block."""
    found: dict[str, Entries] = {}
    for block in pack(batches):
        for place, term in enumerate(block.terms):
            assert term not in found
            found[term] = entries_of(block.postings(place))
    return found


def with_documents(vocabulary: dict[str, Entries]) -> dict[str, Entries]:
    return {term: found for term, found in vocabulary.items() if found}


@given(vocabularies)
def test_blocks_keep_all_terms_and_postings_of_batches(vocabulary: dict[str, Entries]) -> None:
    assert read(list(batched(terms_of(vocabulary)))) == with_documents(vocabulary)


@given(vocabularies, st.integers(0, 20))
def test_blocks_do_not_depend_on_where_batches_end(vocabulary: dict[str, Entries], cut: int) -> None:
    terms = terms_of(vocabulary)
    in_two = [*batched(terms[:cut]), *batched(terms[cut:])]
    assert list(pack(in_two)) == list(pack(batched(terms)))


def test_lists_of_every_width_are_read_back() -> None:
    vocabulary = {
        "far": {1: (1, 0), 70_000: (1, 0), 5_000_000: (1, 0)},
        "many": dict.fromkeys(range(1, 30000), (1, 0)),
        "near": {10: (1, 0), 265: (2, 1)},
        "step": {10: (1, 0), 266: (1, 0)},
    }
    assert read(list(batched(terms_of(vocabulary)))) == vocabulary


@given(vocabularies, st.randoms(use_true_random=False), st.data())
def test_renumbered_documents_keep_their_entries(
    vocabulary: dict[str, Entries], chance: object, data: st.DataObject
) -> None:
    every = sorted({document for found in vocabulary.values() for document in found})
    new = data.draw(st.permutations(range(1, len(every) + 1)))
    left_out = data.draw(st.sets(st.sampled_from(every))) if every else set()
    ids = np.zeros(max(every, default=0) + 1, np.int32)
    ids[every] = [0 if document in left_out else number for document, number in zip(every, new, strict=True)]
    batches = [renumbered(batch, ids) for batch in batched(terms_of(vocabulary))]
    for batch in batches:
        for begin, end in zip([0, *batch.ends[:-1].tolist()], batch.ends.tolist(), strict=True):
            assert (np.diff(batch.ids[begin:end]) > 0).all()
    assert read(batches) == with_documents(
        {
            term: {int(ids[document]): entry for document, entry in found.items() if ids[document]}
            for term, found in vocabulary.items()
        }
    )


rows = st.lists(st.tuples(st.integers(1, 50), st.booleans()), min_size=1, max_size=30).map(sorted)


@given(st.lists(rows, min_size=1, max_size=6))
def test_occurrences_are_counted_by_document(every: list[list[tuple[int, bool]]]) -> None:
    run = [Frequency(f"t{number}", len(places)) for number, places in enumerate(every)]
    documents = np.array([document for places in every for document, _ in places], np.int64)
    named = np.array([is_name for places in every for _, is_name in places], np.bool_)
    expected: dict[str, Entries] = {}
    for each, places in zip(run, every, strict=True):
        found: Entries = {}
        for document, is_name in places:
            texts, names = found.get(document, (0, 0))
            found[document] = (texts + (not is_name), names + is_name)
        expected[each.term] = found
    assert read([counted(run, documents, named)]) == expected


@given(st.lists(st.lists(st.integers(1, 50), max_size=10), min_size=1, max_size=6))
def test_repeated_pairs_of_term_and_document_count_once(every: list[list[int]]) -> None:
    terms = [f"t{number}" for number in range(len(every))]
    places = np.array([place for place, found in enumerate(every) for _ in found], np.int64)
    documents = np.array([document for found in every for document in found], np.int64)
    assert read([marked(terms, places, documents)]) == {
        term: dict.fromkeys(found, (1, 0)) for term, found in zip(terms, every, strict=True) if found
    }


def test_runs_end_before_they_are_too_long() -> None:
    terms = [Frequency(str(number), rows) for number, rows in enumerate((3, 3, 9, 1, 1, 1))]
    assert [[each.rows for each in run] for run in in_runs(terms, 6)] == [[3, 3], [9], [1, 1, 1]]
