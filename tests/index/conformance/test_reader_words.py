"""All readers know the same words, their places and their frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject
from tests.index.conformance.workspace import TEXTS

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights
from cairn.index.store.deadline import Deadline, never

ALL, EVERY = ChunkFilter(), 10_000
WEIGHTS = ColumnWeights()


def keywords(
    subject: Subject, *words: str, limit: int = 50, only: ChunkFilter = ALL
) -> list[tuple[str, int]]:
    hits = subject.reader.keywords(words, WEIGHTS, limit, only)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return subject.places(hit.chunk_id for hit in hits)


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("shallow", 3),
        ("SHALLOW", 3),
        ("quay", 2),
        ("draughts", 5),
        ("naïve", 1),
        ("naive", 1),
        ("winch_pull", 2),
        ("pilot", 30),
        ("tide-level", 3),
        ("level-tide", 0),
        ("nowhere", 0),
        ("", 0),
        ("%%", 0),
    ],
)
def test_word_counts_count_chunks_with_the_stem(subject: Subject, word: str, count: int) -> None:
    counts = subject.reader.word_counts([word], EVERY)
    assert counts.rows == len(subject.ids)
    assert counts.matching == {word: count}


def test_word_counts_stop_at_the_bound(subject: Subject) -> None:
    assert subject.reader.word_counts(["pilot", "nowhere"], 5).matching == {"pilot": 5, "nowhere": 0}
    assert subject.reader.word_counts([], EVERY).matching == {}


@pytest.mark.parametrize("phrase", ["too shallow", "tide-level", "cannot dock: the water", "ship.cargo"])
def test_phrases_match_adjacent_words(subject: Subject, phrase: str) -> None:
    (found,) = subject.reader.postings({phrase: 0}).values()
    chunks = subject.reader.chunks(subject.ids.values())
    assert {number for number, each in chunks.items() if phrase in each.chunk.text} <= set(found.ids.tolist())
    assert len(found.ids) == subject.reader.statistics([phrase]).frequencies[0]


@pytest.mark.parametrize(
    ("phrase", "paths"),
    [
        ("water moor", set()),
        ("harbour state", {"web/src/client.ts"}),  # parts of a compound name
        ("fetch tide", {"web/src/client.ts"}),
    ],
)
def test_phrases_match_in_compound_names_but_not_in_separated_words(
    subject: Subject, phrase: str, paths: set[str]
) -> None:
    (found,) = subject.reader.postings({phrase: 0}).values()
    assert subject.paths(found.ids) == paths


@pytest.mark.parametrize(
    ("word", "count"), [("東京港", 1), ("渡し船", 1), ("京港", 1), ("東港", 0), ("渡し東京", 0)]
)
def test_words_are_found_inside_runs_without_spaces(subject: Subject, word: str, count: int) -> None:
    (found,) = subject.reader.postings({word: 0}).values()
    assert len(found.ids) == count
    assert subject.reader.word_counts([word], EVERY).matching == {word: count}
    assert subject.reader.absent([word]) == [word] * (not count)


def test_postings_count_texts_and_names_separately(subject: Subject) -> None:
    found = subject.reader.postings({"overload": 0, "nowhere": 0, "crane": 0})
    overload = found["overload"]
    assert subject.places(overload.ids) == [("src/harbour/crane.py", 0)]
    assert (overload.counts.tolist(), overload.names.tolist()) == ([2], [1])
    assert not len(found["nowhere"].ids)
    assert (np.diff(found["crane"].ids) > 0).all()
    assert (found["crane"].ids.dtype, found["crane"].counts.dtype) == (np.int32, np.uint8)


def test_columns_have_file_and_length_of_each_chunk(subject: Subject) -> None:
    columns = subject.reader.columns()
    ids = np.array(list(subject.ids.values()), np.int64)
    files = dict(zip(ids.tolist(), columns.files_of(ids).tolist(), strict=True))
    known: dict[int, str] = dict(subject.reader.select("SELECT id, path FROM files"))
    assert all(known[files[chunk]] == path for (path, _), chunk in subject.ids.items())
    assert columns.upto >= ids.max()
    lengths = columns.tokens_of(ids)
    assert columns.mean_tokens == pytest.approx(lengths.mean())
    longest, shortest = (subject.place(ids[pick(lengths)])[0] for pick in (np.argmax, np.argmin))
    assert (longest, shortest) == ("docs/guide.md", "data/log.txt")[::-1]


def test_keywords_rank_chunks_with_rare_words_first(subject: Subject) -> None:
    assert keywords(subject, "overload", "crane")[0] == ("src/harbour/crane.py", 0)
    shallow = {path for path, _ in keywords(subject, "shallow")}
    assert shallow == {"README.md", "src/harbour/berth.py", "legacy/berth.py"}
    assert keywords(subject) == keywords(subject, "", "%", "nowhere") == []


def test_keywords_respect_the_limit(subject: Subject) -> None:
    everything = keywords(subject, "pilot", "ship")
    assert keywords(subject, "pilot", "ship", limit=4) == everything[:4]
    assert keywords(subject, "pilot", limit=0) == []


@pytest.mark.parametrize(
    ("only", "paths"),
    [
        (ChunkFilter(languages=("go",)), {"fleet/main.go", "fleet/ship/ship.go", "fleet/ship/ship_test.go"}),
        (ChunkFilter(languages=("go",), collections=("fleet-tests",)), {"fleet/ship/ship_test.go"}),
        (ChunkFilter(paths=("web/",)), {"web/src/client.ts"}),
        (ChunkFilter(types=("prose",), paths=("docs/",)), {"docs/guide.md"}),
        (ChunkFilter(collections=("no such collection",)), set()),
        (ChunkFilter(languages=("cobol",)), set()),
        (ChunkFilter(paths=("nowhere/",)), set()),
    ],
)
def test_filters_restrict_keywords(subject: Subject, only: ChunkFilter, paths: set[str]) -> None:
    assert {path for path, _ in keywords(subject, "ship", only=only)} == paths


def test_hidden_files_do_not_count_towards_the_keyword_limit(subject: Subject) -> None:
    first, *rest = keywords(subject, "shallow")
    hidden = ChunkFilter(hidden=(first[0],))
    assert keywords(subject, "shallow", limit=2, only=hidden) == rest
    assert first[0] not in {path for path, _ in keywords(subject, "ship", limit=EVERY, only=hidden)}


def test_statistics_count_chunks_and_frequencies(subject: Subject) -> None:
    found = subject.reader.statistics(["shallow", "nowhere"])
    assert found.chunks == len(subject.ids)
    assert list(found.frequencies) == [3, 0]
    assert found.tokens == int(subject.reader.columns().tokens.sum(dtype=np.int64))
    assert subject.reader.statistics(["nowhere"]).chunks == len(subject.ids)


def test_absent_words_are_in_no_chunk_and_no_path(subject: Subject) -> None:
    words = ["shallow", "nowhere", "winch", "ipynb", "tides", "qwertz", "naïve"]
    assert subject.reader.absent(words) == ["nowhere", "qwertz"]
    assert subject.reader.absent([]) == []


def test_documents_returns_the_chunk_count_of_each_stem(subject: Subject) -> None:
    found = subject.reader.documents(["shallow", "draught", "nowhere", "quai", ""])
    assert found == {"shallow": 3, "draught": 5, "quai": 2}
    assert subject.reader.documents([]) == {}


def test_stems_starting_returns_the_chunk_counts_of_a_prefix(subject: Subject) -> None:
    deadline = Deadline(never)
    found = subject.reader.stems_starting("over", deadline)
    assert found == {"overload": 1, "overloaderror": 1}
    assert subject.reader.stems_starting("qqq", deadline) == {}
    assert subject.reader.stems_starting("shallow", deadline) == {"shallow": 3}


def test_is_named_finds_words_of_defined_names(subject: Subject) -> None:
    words = ["overload", "cranes", "shallow", "nowhere", ""]
    assert [word for word in words if subject.reader.is_named(word)] == ["overload", "cranes"]


def test_accents_match_in_any_composition(subject: Subject) -> None:
    for spelling in ("gezeitenhöhe", "gezeitenho\u0308he", "gezeitenhohe", "GEZEITENHÖHE"):
        (found,) = subject.reader.postings({spelling: 0}).values()
        assert subject.paths(found.ids) == {"src/harbour/accents.py", "docs/guide.md"}, spelling


def test_the_empty_file_has_no_chunk(subject: Subject) -> None:
    assert TEXTS["src/harbour/__init__.py"] == ""
    assert "src/harbour/__init__.py" not in {path for path, _ in subject.ids}
