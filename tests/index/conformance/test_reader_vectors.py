"""All readers compare static vectors in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.conformance.indexes import Subject

from cairn.embedding.static import StaticTable
from cairn.errors import QueryCancelledError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import ended_by

ALL = ChunkFilter()


@pytest.fixture
def vector(table: StaticTable) -> NDArray[np.int8]:
    return table.embed_queries_int8(["lift heavy cargo with a crane"])[0]


def test_the_static_table_is_named(subject: Subject, table: StaticTable) -> None:
    assert subject.reader.static_table().startswith(table.id)


def test_the_nearest_chunks_come_first(subject: Subject, vector: NDArray[np.int8]) -> None:
    hits = subject.reader.nearest_static(vector, 10, ALL)
    assert len(hits) == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert ("src/harbour/crane.py", 0) in subject.places(hit.chunk_id for hit in hits[:3])
    every = subject.reader.static_similarities(subject.ids.values(), vector)
    assert set(every) == set(subject.ids.values())
    assert [hit.score for hit in hits] == pytest.approx(sorted(every.values(), reverse=True)[:10], abs=1e-6)
    assert [hit.score for hit in hits] == pytest.approx([every[hit.chunk_id] for hit in hits])


def test_a_high_limit_returns_all_chunks(subject: Subject, vector: NDArray[np.int8]) -> None:
    hits = subject.reader.nearest_static(vector, 200, ALL)
    assert {hit.chunk_id for hit in hits} == set(subject.ids.values())
    assert subject.reader.nearest_static(vector, 0, ALL) == []
    assert len(subject.reader.nearest_static(vector, 10_000, ALL)) == len(subject.ids)


@pytest.mark.parametrize(
    "only",
    [
        ChunkFilter(languages=("go",)),
        ChunkFilter(paths=("docs/",)),
        ChunkFilter(types=("config",), hidden=("pyproject.toml",)),
        ChunkFilter(collections=("harbour-web-source",), languages=("typescript",)),
        ChunkFilter(hidden=("src/harbour/crane.py", "web/src/crane.ts")),
        ChunkFilter(paths=("nowhere/",)),
    ],
)
def test_filters_restrict_the_nearest_chunks(
    subject: Subject, vector: NDArray[np.int8], only: ChunkFilter
) -> None:
    every = subject.reader.nearest_static(vector, 200, ALL)
    admitted = subject.reader.admitted(only)
    hidden = set(subject.reader.chunks_in(only.hidden).tolist())
    allowed = set(subject.ids.values() if admitted is None else admitted.tolist()) - hidden
    expected = [hit for hit in every if hit.chunk_id in allowed]
    for limit in (2, 200):
        found = subject.reader.nearest_static(vector, limit, only)
        assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in expected[:limit]]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected[:limit]])


def test_static_vectors_have_the_common_length(subject: Subject, vector: NDArray[np.int8]) -> None:
    wanted = [subject.ids["README.md", 0], subject.ids["LICENSE", 0], 10_000_000, 0, -2]
    found, rows = subject.reader.static_vectors(wanted)
    assert set(found.tolist()) == set(wanted[:2])
    assert (rows.dtype, rows.shape) == (np.int8, (2, len(vector)))
    assert np.linalg.norm(rows.astype(float), axis=1) == pytest.approx([127, 127], abs=1.5)
    (chunk,) = subject.reader.static_vectors([wanted[0]])[0]
    assert chunk == wanted[0]


def test_vectors_of_nothing_are_empty(subject: Subject, vector: NDArray[np.int8]) -> None:
    for unknown in ([], [10_000_000, -1, 0]):
        found, rows = subject.reader.static_vectors(unknown)
        assert (len(found), rows.shape) == (0, (0, 0))
        assert subject.reader.static_similarities(unknown, vector) == {}


def test_a_cancelled_comparison_raises(subject: Subject, vector: NDArray[np.int8]) -> None:
    for only in (ALL, ChunkFilter(languages=("go",))):
        with pytest.raises(QueryCancelledError), ended_by(lambda: True):
            subject.reader.nearest_static(vector, 5, only)
