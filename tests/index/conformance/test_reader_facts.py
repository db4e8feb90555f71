"""All readers know the same facts about files and the index."""

from __future__ import annotations

from collections import Counter

from tests.index.conformance.indexes import Subject
from tests.index.conformance.workspace import BINARY, TEXTS

from cairn.chunking.model import content_key
from cairn.index.reader.filters import ChunkFilter

SAME = "chunks files_total has_static static static_key static_queued history scanned".split()


def test_indexed_files_have_contents(subject: Subject) -> None:
    paths = ["src/harbour/berth.py", "web/LICENSE", "src/harbour/__init__.py", "nowhere", "", "x' OR 1=1"]
    assert subject.reader.contents(paths) == {
        "src/harbour/berth.py": (content_key(TEXTS["src/harbour/berth.py"]), "harbour-source"),
        "web/LICENSE": (content_key(TEXTS["web/LICENSE"]), "harbour-web-docs"),
        "src/harbour/__init__.py": (content_key(""), "harbour-source"),
    }
    assert subject.reader.contents([]) == {}
    assert set(subject.reader.contents([*TEXTS, *BINARY])) == {*TEXTS, *BINARY}


def test_facts_count_files_and_chunks(subject: Subject, sqlite: Subject) -> None:
    facts = subject.reader.facts()
    assert facts.chunks == len(subject.ids)
    assert facts.complete
    assert subject.reader.generation() == facts.generation > 0
    for name in SAME:
        assert getattr(facts, name) == getattr(sqlite.reader.facts(), name), name


def test_stats_count_by_collection(subject: Subject) -> None:
    stats = subject.reader.stats()
    collections = {each.name: (each.kind, each.files) for each in stats.collections}
    assert collections["fleet-source"] == ("source", 2)
    assert collections["harbour-web-source"] == ("source", 3)
    assert collections["harbour-tests"] == ("tests", 1)
    assert sum(each.chunks for each in stats.collections) == len(subject.ids)
    assert stats.files_indexed == len(TEXTS) + len(BINARY)
    assert stats.facts == subject.reader.facts()


def test_languages_agree_with_filters(subject: Subject, sqlite: Subject) -> None:
    found = subject.reader.languages()
    in_collections = Counter[str]()
    for each in found:
        in_collections[each.collection] += each.chunks
    assert in_collections == {each.name: each.chunks for each in subject.reader.stats().collections}
    of_language = {(each.collection, each.language): each for each in found}
    typescript = of_language["harbour-web-source", "typescript"]
    assert 0 < typescript.files <= typescript.chunks
    if subject.name != "remote":  # it only knows the names of files
        assert found == sqlite.reader.languages()
        for language in {each.language for each in found}:
            only = ChunkFilter(languages=(language,))
            admitted = subject.reader.admitted(only)
            assert admitted is not None
            assert len(admitted) == sum(each.chunks for each in found if each.language == language)


def test_remembered_values_are_made_once(subject: Subject) -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return 7

    name = f"conformance {subject.name}"
    assert [subject.reader.cached(name, make) for _ in range(3)] == [7, 7, 7]
    assert made == [1]
    assert subject.reader.version() is subject.reader.version()


def test_nothing_is_unsaved_without_an_editor(subject: Subject) -> None:
    reader = subject.reader
    assert reader.saved is reader
    assert list(reader.sources) == [reader]
    assert list(reader.hidden) == []
    assert not reader.has_unsaved
    assert not reader.has_requests()
    assert [(sign, ids) for _, sign, ids in reader.by_source([5, 3, -2])] == [(1, [5, 3])]
    assert list(reader.by_source([])) == []
