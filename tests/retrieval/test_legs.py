"""Legs: what is asked for as it is written comes first, and none takes longer than it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import content_key
from cairn.config import SearchSettings
from cairn.index.reader import IndexReader
from cairn.index.writer import FileRecord, IndexedFile, IndexWriter
from cairn.retrieval.legs import _literals
from cairn.retrieval.query import understand
from cairn.retrieval.search import Retrieved, retrieve

FILES = {
    "src/dock.py": "def dock(ship):\n    # dock, dock and dock again: the ship may not leave the dock\n    pass\n",
    "src/errors.py": 'WARNING = "may not leave: %s"\n\n\ndef warn():\n    print(WARNING)\n',
    "src/late.py": 'def late():\n    return "May Not Leave: %s"\n',
}


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[list[IndexReader]]:
    writer = IndexWriter(tmp_path)
    records = [FileRecord(path, len(text), 0, content_key(text), "p-source") for path, text in FILES.items()]
    writer.write(
        [IndexedFile(r, "source", True, tuple(chunk_text(r.path, FILES[r.path]))) for r in records], ()
    )
    yield [IndexReader(tmp_path)]
    writer.close()


def ask(
    readers: list[IndexReader], text: str, settings: SearchSettings | None = None, **how: bool
) -> Retrieved:
    return retrieve(readers, understand(text), None, settings or SearchSettings(), limit=5, **how)


def sources(found: Retrieved) -> list[tuple[str, str]]:
    return [(ranked.stored.path, ranked.source) for ranked in found.ranked]


def test_what_is_quoted_ranks_where_it_stands_as_written(readers: list[IndexReader]) -> None:
    found = ask(readers, 'ship "may not leave: %s"')
    assert sources(found) == [
        ("src/errors.py", "exact"),
        ("src/late.py", "exact"),
        ("src/dock.py", "keyword"),
    ]
    (reason,) = (each for each in found.ranked[0].reasons if each.signal == "contains the very text")
    assert reason.value == 1.0
    assert "exact" in found.timings
    assert found.broken_off == ()


def test_with_case_or_word_the_whole_question_is_a_text(readers: list[IndexReader]) -> None:
    assert ("src/late.py", "exact") not in sources(ask(readers, "may not leave: %s", case=True))
    assert sources(ask(readers, "may not leave: %s", case=True))[0] == ("src/errors.py", "exact")
    assert sources(ask(readers, "eave: %s", word=True)) == []
    assert "exact" not in ask(readers, "may not leave").timings
    assert sources(ask(readers, "may not leave", case=True))[0][1] == "exact"


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("may not leave: %s", ("may not leave: %s",)),  # whatever in it looks like code
        ('the "May Not" of %s', ("May Not",)),
        ('where is "=>" used', ("=>",)),
        ("if x:\n    y()\n", ("if x:", "y()")),
    ],
)
def test_what_is_found_as_written_with_case_or_word(text: str, literals: tuple[str, ...]) -> None:
    assert _literals(understand(text), all_of_it=True) == literals


def test_a_leg_whose_time_is_over_is_named_and_nothing_fails(readers: list[IndexReader]) -> None:
    hurried = evolve(SearchSettings(), leg_deadline_ms=0.0)
    found = ask(readers, 'dock "may not leave: %s"', hurried)
    assert {"keyword", "exact"} <= set(found.broken_off)
    assert found.problems == ()
    assert found.cut
