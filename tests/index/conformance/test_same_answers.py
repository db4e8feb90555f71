"""Snapshots answer generated questions as the index file does that they were made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.index.conformance.indexes import ChunkPlace, Subject
from tests.index.conformance.workspace import TEXTS

from cairn.embedding.static import StaticTable
from cairn.index.postgres import reader as postgres_reader
from cairn.index.postgres.vectors import KeptVectors
from cairn.index.queries import symbols, words
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, FoundName, Hit
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Deadline, never
from cairn.index.text.literals import Literal

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


fragment = st.tuples(st.sampled_from([t for t in TEXTS.values() if t]), st.integers(0), st.integers(1, 60)).map(_fragment)  # fmt: skip

patterns = st.sampled_from(["src/", "*.py", "web/**", "**/ship*", "docs/", "native/*.h", "fleet/", "!legacy/", "**", "nowhere", "data/odd*"])  # fmt: skip
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
        """What each answers."""
        return ask(self.file), ask(self.snapshot)

    def assert_same(self, ask: Callable[[Subject], Any]) -> None:
        """Each answers the same."""
        one, other = self.ask(ask)
        assert other == one

    def assert_same_hits(self, ask: Callable[[Subject], list[Hit]], exact: bool = False) -> None:
        """Each finds the same chunks with the same scores; which of equal ones are cut off is up to each."""
        (one, other) = (
            {subject.place(hit.chunk_id): hit.score for hit in ask(subject)}
            for subject in (self.file, self.snapshot)
        )
        assert sorted(other.values()) == pytest.approx(sorted(one.values()), abs=1e-6, rel=1e-6)
        lowest = min(one.values(), default=0.0)
        assert {p: s for p, s in other.items() if s > lowest + 1e-5} == pytest.approx(
            {p: s for p, s in one.items() if s > lowest + 1e-5}, abs=1e-6, rel=1e-6
        )


@pytest.fixture
def both(sqlite: Subject, snapshot: Subject) -> Both:
    return Both(sqlite, snapshot)


def by_place(subject: Subject, ids: Iterable[int], *columns: Iterable[Any]) -> dict[ChunkPlace, Any]:
    return dict(zip(subject.places(ids), zip(*columns, strict=True) if columns else ids, strict=True))


def named(found: Iterable[FoundName], subject: Subject) -> list[tuple[ChunkPlace, str]]:
    return sorted((subject.place(each.chunk_id), each.name) for each in found)


@few
@given(asked=st.lists(word | phrase | odd_text, max_size=6, unique=True))
def test_words_stand_in_the_same_places(both: Both, asked: list[str]) -> None:
    def postings(subject: Subject) -> object:
        found = subject.reader.postings(dict.fromkeys(asked, 0), never)
        return {
            text: by_place(subject, each.ids, each.counts.tolist(), each.names.tolist())
            for text, each in found.items()
        }

    both.assert_same(postings)
    both.assert_same(lambda subject: sum(subject.reader.statistics(asked, never).frequencies) if asked else 0)
    both.assert_same(lambda subject: subject.reader.absent([each.lower() for each in asked]))
    both.assert_same(lambda subject: [subject.reader.is_named(each) for each in asked])


@few
@given(asked=st.lists(word, max_size=8, unique=True), bound=st.integers(1, 60))
def test_words_are_counted_alike(both: Both, asked: list[str], bound: int) -> None:
    both.assert_same(lambda subject: subject.reader.word_counts(asked, bound, never))
    both.assert_same(
        lambda subject: IndexVocabulary([subject.reader]).documents([each.lower() for each in asked])
    )
    both.assert_same(lambda subject: subject.reader.documents(asked))


@few
@given(prefix=word.map(lambda each: each[:3].lower()) | odd_text)
def test_stems_start_alike(both: Both, prefix: str) -> None:
    both.assert_same(lambda subject: subject.reader.stems_starting(prefix, Deadline(never)) if prefix else {})


@few
@given(
    asked=st.lists(word | phrase | odd_text, max_size=5, unique=True), only=filters, limit=st.integers(0, 50)
)
def test_keywords_score_alike(both: Both, asked: list[str], only: ChunkFilter, limit: int) -> None:
    both.assert_same_hits(lambda subject: subject.reader.keywords(asked, ColumnWeights(), limit, only, never))


@few
@given(
    asked=st.lists(st.lists(word, min_size=1, max_size=3), max_size=6), only=filters, most=st.integers(1, 200)
)
def test_found_words_score_alike(both: Both, asked: list[list[str]], only: ChunkFilter, most: int) -> None:
    def scores(subject: Subject) -> dict[ChunkPlace, float]:
        found = words.find_words(subject.reader, asked, most, never)
        passing = words.passing_chunks(subject.reader, only, never)
        ids = np.array(sorted(subject.ids.values()), np.int64) if passing is None else passing
        return dict(zip(subject.places(ids), found.scores(ids).tolist(), strict=True))

    one, other = both.ask(scores)
    assert other == pytest.approx(one, abs=1e-6)


@few
@given(text=fragment, only=filters, case=st.booleans(), whole=st.booleans())
def test_exact_text_is_found_alike(both: Both, text: str, only: ChunkFilter, case: bool, whole: bool) -> None:
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
    """By reading every chunk."""
    from cairn.index.text.literals import look

    if not literal.text.strip():
        return set()
    passing = subject.reader.admitted(only, never)
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
def test_filters_admit_alike(both: Both, only: ChunkFilter) -> None:
    def admitted(subject: Subject) -> object:
        found = subject.reader.admitted(only, never)
        return sorted(subject.ids) if found is None else sorted(subject.places(found))

    both.assert_same(admitted)


@few
@given(asked=st.lists(name | odd_text, max_size=5), only=filters, limit=st.integers(0, 20))
def test_names_are_defined_alike(both: Both, asked: list[str], only: ChunkFilter, limit: int) -> None:
    both.assert_same_hits(lambda subject: subject.reader.defining(asked, limit, only))
    both.assert_same(lambda subject: named(subject.reader.definitions(asked, MOST, MOST, never), subject))
    both.assert_same(lambda subject: named(subject.reader.definitions_of(asked, 4), subject))


@few
@given(owner=name | odd_text, asked=st.lists(name, min_size=1, max_size=4), only=filters)
def test_members_are_found_alike(both: Both, owner: str, asked: list[str], only: ChunkFilter) -> None:
    both.assert_same_hits(lambda subject: subject.reader.members(owner, asked, MOST, only))


@few
@given(
    letters=name.map(lambda each: each.replace("_", "")[:6]) | st.text("abcehrstw", min_size=1, max_size=3)
)
def test_names_are_like_alike(both: Both, letters: str) -> None:
    both.assert_same(
        lambda subject: [each.lower() for each in symbols.names_like(subject.reader, letters, never)]
    )


@few
@given(symbol=name, limit=st.integers(1, 30))
def test_references_lead_alike(both: Both, symbol: str, limit: int) -> None:
    def edges(subject: Subject) -> object:
        graph = ReferenceGraph(subject.reader, never)
        places = graph.named(symbol)
        return places, graph.callers(places, limit), graph.uses(places, limit), graph.tests(places, limit)

    both.assert_same(edges)


@few
@given(question=phrase, only=filters, limit=st.integers(1, 60))
def test_static_vectors_are_near_alike(
    both: Both, table: StaticTable, question: str, only: ChunkFilter, limit: int
) -> None:
    vector = table.embed_queries_int8([question])[0]
    both.assert_same_hits(lambda subject: subject.reader.nearest_static(vector, limit, only, never))
    similar, other = both.ask(
        lambda subject: {
            subject.place(chunk): cosine
            for chunk, cosine in subject.reader.static_similarities(
                list(subject.ids.values()), vector
            ).items()
        }
    )
    assert other == pytest.approx(similar, abs=1e-6)


@few
@given(
    places=st.lists(
        st.tuples(st.sampled_from(PATHS) | odd_text, st.integers(-2, 35)), max_size=5, unique=True
    ),
    window=st.integers(0, 3),
    lines=st.tuples(st.integers(0, 90), st.integers(0, 90)),
    only=filters,
)
def test_chunks_of_files_are_read_alike(
    both: Both, places: list[tuple[str, int]], window: int, lines: tuple[int, int], only: ChunkFilter
) -> None:
    paths = list(dict.fromkeys(path for path, _ in places))

    def read(subject: Subject) -> object:
        reader = subject.reader
        return (
            {place: [(each.path, each.chunk) for each in found] for place, found in reader.neighbours(places, window).items()},
            [[(each.collection, each.kind, each.content_hash, each.chunk) for each in reader.page(path)] for path in paths],
            [[each.chunk.position for each in reader.between(path, *lines)] for path in paths],
            sorted(subject.places(reader.leading_chunks(paths, window, only))),
            subject.places(reader.opening_chunks(paths, lines[0], only)),
            {path: subject.places(ids) for path, ids in reader.chunk_ids(paths).items()},
            reader.contents(paths),
            sorted(path for _, path in reader.symbols_at(paths)),
        )  # fmt: skip

    both.assert_same(read)


def test_the_database_compares_vectors_as_memory_does(
    both: Both, table: StaticTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of snapshots whose vectors are too many for memory, or are being read."""
    monkeypatch.setattr(postgres_reader, "_VECTORS", KeptVectors(most_bytes=0))
    for question in ("lift the cargo", "mooring in a storm"):
        vector = table.embed_queries_int8([question])[0]
        for only in (ChunkFilter(), ChunkFilter(languages=("python", "markdown"), hidden=("README.md",))):
            for limit in (3, 200):
                both.assert_same_hits(
                    lambda subject, vector=vector, limit=limit, only=only: subject.reader.nearest_static(
                        vector, limit, only, never
                    )
                )
        both.assert_same_hits(
            lambda subject, vector=vector: [
                Hit(*each)
                for each in subject.reader.static_similarities(
                    [*subject.ids.values(), -1, 0, 2**40], vector
                ).items()
            ]
        )
    test_vectors_are_the_same(both)
    assert len(both.snapshot.reader.static_vectors(range(-5, 500))[0]) == len(both.snapshot.ids)


def test_vectors_are_the_same(both: Both) -> None:
    def vectors(subject: Subject) -> dict[ChunkPlace, bytes]:
        found, rows = subject.reader.static_vectors(list(subject.ids.values()))
        return dict(zip(subject.places(found), (row.tobytes() for row in rows), strict=True))

    both.assert_same(vectors)


def test_places_and_outlines_are_the_same(both: Both) -> None:
    def read(subject: Subject) -> object:
        ids = list(subject.ids.values())
        outlines = {(each.path, each.position): each[3:] for each in subject.reader.outlines(ids).values()}
        places = {
            (each.path, each.position): (each.kind, each.symbol, each.symbol_kind, each.parent, each.has_signature, each.in_degree)
            for each in subject.reader.places(ids).values()
        }  # fmt: skip
        return outlines, places

    both.assert_same(read)
    both.assert_same(
        lambda subject: [
            (each.name, each.kind, each.files, each.chunks) for each in subject.reader.stats().collections
        ]
    )


def test_misspelt_words_are_repaired_alike(both: Both) -> None:
    for typed in ("harbuor", "berht", "tdie", "cranse", "wnich", "draugth", "shipp", "architectur", "permti"):
        both.assert_same(lambda subject, typed=typed: IndexVocabulary([subject.reader]).near(typed, 2))
