"""Snapshots answer generated queries like the index file from which they were made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.index.conformance.indexes import ChunkPlace, Subject
from tests.index.conformance.workspace import TEXTS

from cairn.embedding.static import StaticTable
from cairn.index.postgres import postgres_reader as postgres_reader
from cairn.index.postgres.postgres_reader import VectorCache
from cairn.index.queries import found_words, known_words, name_queries
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.exact import Literal, look
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, FoundName, Hit
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Deadline, never

few = settings(
    max_examples=30,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MOST = 1_000

_ALL_TEXT = "\n".join(TEXTS.values())
WORDS = sorted(set(re.findall(r"\w+", _ALL_TEXT)))
NAMES = sorted({name for name in WORDS if not name.isdigit()})
PATHS = sorted(TEXTS)

word = st.sampled_from(WORDS) | st.sampled_from([each.upper() for each in WORDS if each.isascii()])
phrase = st.tuples(st.sampled_from([t for t in TEXTS.values() if t]), st.integers(0), st.integers(2, 4)).map(
    lambda drawn: " ".join((re.findall(r"\w+", drawn[0]) * 3)[drawn[1] % len(drawn[0].split()) :][: drawn[2]])
)
odd_text = st.text(max_size=12)
name = st.sampled_from(NAMES)


def _fragment(drawn: tuple[str, int, int]) -> str:
    text, begin, length = drawn
    begin %= len(text)
    return text[begin : begin + length]


fragment = st.tuples(
    st.sampled_from([text for text in TEXTS.values() if text]), st.integers(0), st.integers(1, 60)
).map(_fragment)

patterns = st.sampled_from(
    "src/ *.py web/** **/ship* docs/ native/*.h fleet/ !legacy/ ** nowhere data/odd*".split()
)
filters = st.builds(
    ChunkFilter,
    types=st.sampled_from([(), (), ("code",), ("prose",), ("code", "config"), ("nothing",)]),
    languages=st.sampled_from([(), (), (), ("python",), ("go", "c"), ("markdown",), ("cobol",)]),
    paths=st.lists(patterns, max_size=2).map(tuple) | st.just(()),
    collections=st.sampled_from(
        [(), (), (), ("harbour-source",), ("fleet-source", "harbour-docs"), ("none",)]
    ),
    hidden=st.lists(st.sampled_from(PATHS), max_size=2).map(tuple) | st.just(()),
)


class Both:
    """An index file and a snapshot of it."""

    def __init__(self, file: Subject, snapshot: Subject) -> None:
        self.file, self.snapshot = file, snapshot

    def ask(self, ask: Callable[[Subject], Any]) -> tuple[Any, Any]:
        """Return the answers of both."""
        return ask(self.file), ask(self.snapshot)

    def assert_same(self, ask: Callable[[Subject], Any]) -> None:
        one, other = self.ask(ask)
        assert other == one

    def assert_same_hits(self, ask: Callable[[Subject], list[Hit]]) -> None:
        """Both must find the same chunks with equal scores. Which of equal ones are cut off may differ."""
        one, other = self.ask(lambda subject: {subject.place(h.chunk_id): h.score for h in ask(subject)})
        assert sorted(other.values()) == pytest.approx(sorted(one.values()), abs=1e-6, rel=1e-6)
        lowest = min(one.values(), default=0.0)
        best, same = ({p: s for p, s in each.items() if s > lowest + 1e-5} for each in (one, other))
        assert same == pytest.approx(best, abs=1e-6, rel=1e-6)


@pytest.fixture
def both(sqlite: Subject, snapshot: Subject) -> Both:
    return Both(sqlite, snapshot)


def by_place(subject: Subject, ids: Iterable[int], *columns: Iterable[Any]) -> dict[ChunkPlace, Any]:
    return dict(zip(subject.places(ids), zip(*columns, strict=True) if columns else ids, strict=True))


def named(found: Iterable[FoundName], subject: Subject) -> list[tuple[ChunkPlace, str]]:
    return sorted((subject.place(each.chunk_id), each.name) for each in found)


@few
@given(wanted=st.lists(word | phrase | odd_text, max_size=6, unique=True))
def test_postings_are_the_same(both: Both, wanted: list[str]) -> None:
    def answers(subject: Subject) -> object:
        reader = subject.reader
        found = reader.postings(dict.fromkeys(wanted, 0)).items()
        return (
            {text: by_place(subject, p.ids, p.counts.tolist(), p.names.tolist()) for text, p in found},
            sum(reader.statistics(wanted).frequencies) if wanted else 0,
            reader.absent([each.lower() for each in wanted]),
            [reader.is_named(each) for each in wanted],
        )

    both.assert_same(answers)


@few
@given(wanted=st.lists(word, max_size=8, unique=True), bound=st.integers(1, 60))
def test_word_counts_are_the_same(both: Both, wanted: list[str], bound: int) -> None:
    in_lower_case = [each.lower() for each in wanted]
    both.assert_same(lambda subject: subject.reader.word_counts(wanted, bound))
    both.assert_same(lambda subject: IndexVocabulary([subject.reader]).documents(in_lower_case))
    both.assert_same(lambda subject: subject.reader.documents(wanted))


@few
@given(prefix=word.map(lambda each: each[:3].lower()) | odd_text)
def test_stems_are_the_same(both: Both, prefix: str) -> None:
    both.assert_same(lambda subject: subject.reader.stems_starting(prefix, Deadline(never)) if prefix else {})


@few
@given(
    wanted=st.lists(word | phrase | odd_text, max_size=5, unique=True), only=filters, limit=st.integers(0, 50)
)
def test_keyword_scores_are_the_same(both: Both, wanted: list[str], only: ChunkFilter, limit: int) -> None:
    both.assert_same_hits(lambda subject: subject.reader.keywords(wanted, ColumnWeights(), limit, only))


@few
@given(
    wanted=st.lists(st.lists(word, min_size=1, max_size=3), max_size=6),
    only=filters,
    most=st.integers(1, 200),
)
def test_scores_of_found_words_are_the_same(
    both: Both, wanted: list[list[str]], only: ChunkFilter, most: int
) -> None:
    def scores(subject: Subject) -> dict[ChunkPlace, float]:
        found = found_words.find_words(subject.reader, wanted, most)
        passing = found_words.passing_chunks(subject.reader, only)
        ids = np.array(sorted(subject.ids.values()), np.int64) if passing is None else passing
        return dict(zip(subject.places(ids), found.scores(ids).tolist(), strict=True))

    one, other = both.ask(scores)
    assert other == pytest.approx(one, abs=1e-6)


@few
@given(text=fragment, only=filters, case=st.booleans(), whole=st.booleans())
def test_exact_matches_are_the_same(
    both: Both, text: str, only: ChunkFilter, case: bool, whole: bool
) -> None:
    literal = Literal(text, case, whole)

    def hits(subject: Subject) -> object:
        found = subject.reader.containing(literal, MOST, only, Deadline(never))
        rows = ((hit.score, hit.line, hit.occurrences) for hit in found.hits)
        return by_place(subject, [hit.chunk_id for hit in found.hits], rows), found.cut

    one, other = both.ask(hits)
    assert other == one
    expected = _containing(both.file, literal, only)
    assert set(one[0]) == expected


def _containing(subject: Subject, literal: Literal, only: ChunkFilter) -> set[ChunkPlace]:
    """Search every chunk."""
    if not literal.text.strip():
        return set()
    passing = subject.reader.admitted(only)
    ids = set(subject.ids.values() if passing is None else passing.tolist())
    ids -= set(subject.reader.chunks_in(only.hidden).tolist())
    stored = subject.reader.chunks(ids)
    return {
        (each.path, each.chunk.position)
        for each in stored.values()
        if look(literal, each.chunk.text, each.id, 0)
    }


@few
@given(only=filters)
def test_admitted_chunks_are_the_same(both: Both, only: ChunkFilter) -> None:
    def admitted(subject: Subject) -> object:
        found = subject.reader.admitted(only)
        return sorted(subject.ids) if found is None else sorted(subject.places(found))

    both.assert_same(admitted)


@few
@given(wanted=st.lists(name | odd_text, max_size=5), only=filters, limit=st.integers(0, 20))
def test_definitions_are_the_same(both: Both, wanted: list[str], only: ChunkFilter, limit: int) -> None:
    both.assert_same_hits(lambda subject: subject.reader.defining(wanted, limit, only))
    both.assert_same(lambda subject: named(subject.reader.definitions(wanted, MOST, MOST), subject))
    both.assert_same(lambda subject: named(subject.reader.definitions_of(wanted, 4), subject))


@few
@given(owner=name | odd_text, wanted=st.lists(name, min_size=1, max_size=4), only=filters)
def test_members_are_the_same(both: Both, owner: str, wanted: list[str], only: ChunkFilter) -> None:
    both.assert_same_hits(lambda subject: subject.reader.members(owner, wanted, MOST, only))


@few
@given(
    letters=name.map(lambda each: each.replace("_", "")[:6]) | st.text("abcehrstw", min_size=1, max_size=3)
)
def test_similar_names_are_the_same(both: Both, letters: str) -> None:
    both.assert_same(
        lambda subject: [each.lower() for each in name_queries.names_like(subject.reader, letters)]
    )


@few
@given(symbol=name, limit=st.integers(1, 30))
def test_references_are_the_same(both: Both, symbol: str, limit: int) -> None:
    def edges(subject: Subject) -> object:
        graph = ReferenceGraph(subject.reader)
        places = graph.named(symbol)
        return places, graph.callers(places, limit), graph.uses(places, limit), graph.tests(places, limit)

    both.assert_same(edges)


@few
@given(question=phrase, only=filters, limit=st.integers(1, 60))
def test_nearest_chunks_are_the_same(
    both: Both, table: StaticTable, question: str, only: ChunkFilter, limit: int
) -> None:
    vector = table.embed_queries_int8([question])[0]
    both.assert_same_hits(lambda subject: subject.reader.nearest_static(vector, limit, only))

    def similarities(subject: Subject) -> dict[ChunkPlace, float]:
        found = subject.reader.static_similarities(subject.ids.values(), vector)
        return dict(zip(subject.places(found), found.values(), strict=True))

    one, other = both.ask(similarities)
    assert other == pytest.approx(one, abs=1e-6)


@few
@given(
    places=st.lists(
        st.tuples(st.sampled_from(PATHS) | odd_text, st.integers(-2, 35)), max_size=5, unique=True
    ),
    window=st.integers(0, 3),
    lines=st.tuples(st.integers(0, 90), st.integers(0, 90)),
    only=filters,
)
def test_chunks_of_files_are_the_same(
    both: Both, places: list[tuple[str, int]], window: int, lines: tuple[int, int], only: ChunkFilter
) -> None:
    paths = list(dict.fromkeys(path for path, _ in places))

    def read(subject: Subject) -> object:
        reader = subject.reader
        beside = reader.neighbours(places, window)
        return (
            {place: [(each.path, each.chunk) for each in found] for place, found in beside.items()},
            [[evolve(each, id=0) for each in reader.page(path)] for path in paths],
            [[each.chunk.position for each in reader.between(path, *lines)] for path in paths],
            sorted(subject.places(reader.leading_chunks(paths, window, only))),
            subject.places(reader.opening_chunks(paths, lines[0], only)),
            {path: subject.places(ids) for path, ids in reader.chunk_ids(paths).items()},
            reader.contents(paths),
            sorted(path for _, path in reader.symbols_at(paths)),
        )  # fmt: skip

    both.assert_same(read)


@pytest.mark.parametrize("question", ["lift the cargo", "mooring in a storm"])
@pytest.mark.parametrize("limit", [3, 200])
@pytest.mark.parametrize(
    "only", [ChunkFilter(), ChunkFilter(languages=("python", "markdown"), hidden=("README.md",))]
)
def test_the_database_compares_vectors_like_memory(
    both: Both,
    table: StaticTable,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    limit: int,
    only: ChunkFilter,
) -> None:
    monkeypatch.setattr(postgres_reader, "_VECTORS", VectorCache(most_bytes=0))
    vector = table.embed_queries_int8([question])[0]

    def similarities(subject: Subject) -> list[Hit]:
        ids = [*subject.ids.values(), -1, 0, 2**40]
        return list(starmap(Hit, subject.reader.static_similarities(ids, vector).items()))

    both.assert_same_hits(lambda subject: subject.reader.nearest_static(vector, limit, only))
    both.assert_same_hits(similarities)
    test_vectors_are_the_same(both)
    assert len(both.snapshot.reader.static_vectors(range(-5, 500))[0]) == len(both.snapshot.ids)


def test_vectors_are_the_same(both: Both) -> None:
    def vectors(subject: Subject) -> dict[ChunkPlace, bytes]:
        found, rows = subject.reader.static_vectors(list(subject.ids.values()))
        return dict(zip(subject.places(found), (row.tobytes() for row in rows), strict=True))

    both.assert_same(vectors)


def test_outlines_and_collections_are_the_same(both: Both) -> None:
    def read(subject: Subject) -> object:
        ids = list(subject.ids.values())
        outlines = {(each.path, each.position): each[3:] for each in subject.reader.outlines(ids).values()}
        collections = subject.reader.stats().collections
        return (
            outlines,
            [evolve(each, created_at="", updated_at="") for each in collections],
        )

    both.assert_same(read)


TYPING_ERRORS = "harbuor berht tdie cranse wnich draugth shipp architectur permti".split()


@pytest.mark.parametrize("typed", TYPING_ERRORS)
def test_similar_words_are_the_same(both: Both, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words, "_LONGEST_MS", 60_000.0)  # a busy machine may need longer than 10 ms
    both.assert_same(lambda subject: IndexVocabulary([subject.reader]).near(typed, 2))
