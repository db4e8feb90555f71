"""The name of the indexed project in a question chooses nothing, unless it means a part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.index.index_builders import indexed

from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter
from cairn.retrieval.project_names import without_project_name
from cairn.retrieval.query import understand


def vocabulary_of(base: Path, name: str, files: Mapping[str, str]) -> IndexVocabulary:
    base.mkdir()
    writer = IndexWriter(base)
    writer.write([indexed(path, text) for path, text in files.items()], ())
    writer.close()
    return IndexVocabulary([SqliteReader(base, root=f"/src/{name}")])


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> IndexVocabulary:
    files = {
        "package.json": json.dumps({"name": "@Moorings/monorepo"}, indent=2),
        "README.md": "# Port Planner\n\nIt plans.\n",
        "packages/harbour/dock.js": "export class Harbour {}\n",
    }
    return vocabulary_of(tmp_path_factory.mktemp("named") / "index", "harbour", files)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("how does harbour moor a large ship", "how does moor a large ship"),
        ("in Harbour, how are ships moored", "how are ships moored"),
        ("how are ships moored in harbour?", "how are ships moored ?"),
        ("harbour's rules for large ships", "rules for large ships"),
        ("the harbour mooring rules", "the mooring rules"),
        ("where does moorings plan the berths", "where does plan the berths"),
        ("how does Port Planner sort the berths", "how does sort the berths"),
        ("how does harbour type checking treat ships", "how does type checking treat ships"),
        ("MooringRules in harbour", "MooringRules"),
    ],
)
def test_a_question_is_read_without_the_project(harbour: IndexVocabulary, question: str, read: str) -> None:
    assert without_project_name(question, harbour) == read


@pytest.mark.parametrize(
    "question",
    [
        "harbour",
        "Harbour class",
        "harbour berth",
        "what is harbour",
        "how do I install harbour on a large ship",
        "how are rafts converted to harbour ships",
        "what is new for ships in harbour 2.0",
        "how does packages/harbour sort ships",
        "how does the harbour package sort ships",
        "where is the class Harbour made for tests",
        "how does the Harbour class sort ships",
        "which files contain `harbour` and ships",
        'large ships "harbour"',
        "how does Harbour.moor sort ships",
        "how do harbours sort large ships",
        "harbour fails:\nships are not moored in harbour",
    ],
)
def test_a_name_that_may_mean_a_part_stays(harbour: IndexVocabulary, question: str) -> None:
    assert without_project_name(question, harbour) == question


def test_a_common_word_stays_after_an_article(tmp_path: Path) -> None:
    clicks = vocabulary_of(tmp_path / "index", "click", {"click.py": "def click(): ...\n"})
    assert without_project_name("how does click read prompts", clicks) == "how does read prompts"
    assert without_project_name("how is a click sent twice", clicks) == "how is a click sent twice"


def test_a_generic_folder_name_is_not_a_project(tmp_path: Path) -> None:
    server = vocabulary_of(tmp_path / "index", "server", {"main.py": "def run(): ...\n"})
    question = "how does server handle long timeouts"
    assert without_project_name(question, server) == question


def test_one_of_several_projects_stays(harbour: IndexVocabulary, tmp_path: Path) -> None:
    (other,) = vocabulary_of(tmp_path / "index", "ferry", {"ferry.py": "def run(): ...\n"}).readers
    both = IndexVocabulary([*harbour.readers, other])
    assert without_project_name("how does harbour moor a large ship", both).startswith("how does harbour")


def test_the_project_is_no_term_of_a_query(harbour: IndexVocabulary) -> None:
    query = understand("how does harbour moor a large ship", vocabulary=harbour)
    assert "harbour" not in query.terms
    assert "harbour" not in query.meant
