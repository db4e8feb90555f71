"""The whole ranking finds the same passages through each reader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.index.conformance.indexes import Subject, overlaid
from tests.index.conformance.workspace import CRANE, GUIDE, TEXTS

from cairn.embedding.static import StaticTable
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import SearchSettings

SETTINGS = SearchSettings(leg_deadline_ms=60_000.0)
MOST, ALL = 12, ChunkFilter()

QUESTIONS: dict[str, tuple[str, ChunkFilter]] = {
    "symbol": ("dock_ship", ALL),
    "member": ("Crane.lift", ALL),
    "symbol in another case": ("harbourclient", ALL),
    "error message": ("BerthError: cannot dock: the water is too shallow", ALL),
    "error code": ("E4711 cargo exceeds the maximum load", ALL),
    "stack trace": (
        'Traceback (most recent call last):\n  File "/app/src/harbour/berth.py", line 28, in dock_ship\n'
        "harbour.berth.BerthError: berth 3 is taken: it lies there already",
        ALL,
    ),
    "overview": ("What is this project about?", ALL),
    "architecture": ("how do the berths, the crane and the tide work together", ALL),
    "bug": ("The winch does not release the rope when it snaps under load", ALL),
    "question": ("when is the water high enough for a ship", ALL),
    "question in a language": ("where is cargo lifted", ChunkFilter(languages=("typescript",))),
    "question in a folder": ("negative draught", ChunkFilter(paths=("fleet/",))),
    "question in a collection": ("mooring in a storm", ChunkFilter(collections=("harbour-docs",))),
    "question about tests": ("tests of free berths", ALL),
    "typing error": ("harbuor crane overlaod", ALL),
    "operators": ("`a?.b?.[0] ?? b`", ALL),
    "quotes": ('berths for a ship "water is too shallow"', ALL),
    "name of the project": ("when does harbour dock a ship at a berth", ALL),
    "path": ("fleet/ship/ship.go", ALL),
    "accents": ("Größe des Schiffs café", ALL),
    "configuration": ("timeout_seconds of the cranes", ALL),
    "commit": ("release the winch when a rope snaps", ALL),
    "nothing": ("xylophone zymurgy", ALL),
    "common words": ("the of a ship", ALL),
}  # fmt: skip


@pytest.fixture(scope="module")
def meaning(table: StaticTable) -> Meaning:
    return Meaning(table)


def results(reader: IndexReader, kind: str, meaning: Meaning | None) -> list[tuple[str, int, float]]:
    text, only = QUESTIONS[kind]
    query = understand(text, None if meaning else 0.0, IndexVocabulary([reader]), SETTINGS)
    ranking = rank([reader], [query], meaning, SETTINGS, only=only)
    found = ranking.results(MOST, SETTINGS.diversity)
    return [(each.stored.path, each.stored.chunk.position, each.score) for each in found]


def assert_same(one: list[tuple[str, int, float]], other: list[tuple[str, int, float]]) -> None:
    assert [each[:2] for each in other] == [each[:2] for each in one]
    assert [each[2] for each in other] == pytest.approx([each[2] for each in one], abs=1e-5)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_rankings_are_the_same(sqlite: Subject, snapshot: Subject, meaning: Meaning, kind: str) -> None:
    one = results(sqlite.reader, kind, meaning)
    assert one or kind == "nothing"
    assert_same(one, results(snapshot.reader, kind, meaning))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_rankings_by_keywords_are_the_same(sqlite: Subject, snapshot: Subject, kind: str) -> None:
    assert_same(results(sqlite.reader, kind, None), results(snapshot.reader, kind, None))


@pytest.fixture(scope="module")
def edited(
    sqlite: Subject, alone: Subject, shared: Subject, remote: Subject
) -> Iterator[dict[str, OverlaidReader]]:
    """Each reader with the same unsaved text."""
    readers = {subject.name: overlaid(subject) for subject in (sqlite, alone, shared, remote)}
    for reader in readers.values():
        reader.overlay.changed("src/harbour/crane.py", CRANE.replace("Crane", "Davit"))
        reader.overlay.changed("docs/new.md", "# Storms\n\nMooring in a storm; the winch releases a rope.\n")
        reader.overlay.changed("docs/guide.md", GUIDE.replace("winch", "capstan"))
        reader.overlay.changed("fleet/main.go", "")
        reader.show_unsaved()
    yield readers
    for reader in readers.values():
        reader.overlay.close()


@pytest.mark.parametrize("kind", QUESTIONS)
def test_rankings_with_unsaved_text_are_the_same(
    edited: dict[str, OverlaidReader], snapshot: Subject, meaning: Meaning, kind: str
) -> None:
    assert_same(results(edited["sqlite"], kind, meaning), results(edited[snapshot.name], kind, meaning))


def test_the_expected_passages_come_first(subject: Subject, meaning: Meaning) -> None:
    expected = {
        "symbol": "src/harbour/berth.py",
        "error code": "src/harbour/crane.py",
        "question in a language": "web/src/crane.ts",
        "question in a collection": "docs/guide.md",
        "path": "fleet/ship/ship.go",
        "operators": "web/src/operators.js",
        "overview": "README.md",
    }
    for kind, path in expected.items():
        assert results(subject.reader, kind, meaning)[0][0] == path, kind


def test_each_result_contains_the_quoted_text(subject: Subject, meaning: Meaning) -> None:
    holding = {path for path, text in TEXTS.items() if "water is too shallow" in text}
    assert {path for path, _, _ in results(subject.reader, "quotes", meaning)} == holding
