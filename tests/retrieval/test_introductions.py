"""Overviews have a subject, which some sentences and documents introduce. In other questions, the name of the
indexed project chooses nothing, unless it means a part."""

from __future__ import annotations

import json

import pytest
from tests.retrieval.indexed_folder import ReaderOf

from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.intent import Readme, readme_of
from cairn.retrieval.introductions import (
    OverviewSubject,
    is_about_ownership,
    is_project_upkeep,
    name_key,
    subject_of,
    without_project_name,
)
from cairn.retrieval.query import understand


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is harbour", "harbour"),
        ("What is the request context?", "request context"),
        ("what's `moor_ship` for?", "`moor_ship`"),
        ("explain harbour", "harbour"),
        ("Could you please tell me about harbour?", "harbour"),
        ("what does harbour do", "harbour"),
        ("give me a short overview of harbour", "harbour"),
        ("summarize harbour.", "harbour"),
        # Questions about a part of it.
        ("what is the default timeout", ""),
        ("what is the difference between a berth and a quay", ""),
        ("explain how ships are moored at the berths", ""),
        ("how does harbour work", ""),
        ("harbour", ""),
    ],
)
def test_an_overview_has_a_subject(question: str, expected: str) -> None:
    assert subject_of(question) == expected


def test_a_question_for_a_value_is_not_an_overview() -> None:
    assert readme_of(understand("what is the default timeout")) is not Readme.FIRST
    assert readme_of(understand("what is the berth")) is Readme.FIRST


@pytest.mark.parametrize("name", ["serde-json", "serde_json", "Serde JSON", "serdeJson", "SerdeJson.js"])
def test_spellings_of_a_name_share_a_key(name: str) -> None:
    assert name_key(name) == "serdejson"


def subject(name: str) -> OverviewSubject:
    found = OverviewSubject.by(f"what is {name}")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("harbour is a planner for ports.", 1.0),
        ("# Harbour\n\nThe **Harbour** library is the planner of a port.", 1.0),
        ("harbour - plans moorings", 1.0),
        ("First this. Harbour (for ports) provides a planner.", 0.4),
        ("harbour-tides is a library for tides.", 0.0),
        ("harbour is used by many.", 0.0),
        ("Whoever plans a harbour is a planner.", 0.0),
    ],
)
def test_a_sentence_says_what_its_subject_is(text: str, said: float) -> None:
    assert subject("harbour").definition_score(text) == said


def test_a_plural_subject_is_introduced_in_the_singular() -> None:
    assert subject("blueprints").definition_score("A blueprint is a set of operations.") == 1.0


@pytest.mark.parametrize(
    ("heading", "path", "expected"),
    [
        ("Current team members", "", True),
        ("Ships", "CODE_OF_CONDUCT.md", True),
        ("Ships", "docs/release-notes.md", True),
        ("Ships", "docs/upgrading-to-10.md", True),
        ("Ships", "docs/third-party-packages.md", True),
        ("Releasing a ship", "docs/security_of_berths.md", False),
    ],
)
def test_headings_and_files_show_a_projects_upkeep(heading: str, path: str, expected: bool) -> None:
    assert is_project_upkeep(["harbour", heading], path) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Harbour is a registered trademark of the port.", True),
        ("Harbour is MIT licensed code.", True),
        ("Harbour is a planner for ports.", False),
    ],
)
def test_ownership_differs_from_a_description(text: str, expected: bool) -> None:
    assert is_about_ownership(text) is expected


@pytest.mark.parametrize(
    ("path", "line", "is_own"),
    [
        ("README.md", 300, True),
        ("docs/index.md", 300, True),
        ("docs/tides.md", 3, True),
        ("docs/tides.md", 300, False),  # further down, it is about tides
        ("packages/tides/README.md", 3, False),
        ("src/harbour.py", 3, False),
    ],
)
def test_a_subject_owns_its_introductions_and_the_top_of_its_documents(
    path: str, line: int, is_own: bool
) -> None:
    assert subject("harbour").owns(path, "harbour-docs", line) == is_own
    assert not subject("harbour").owns(path, "port-docs", line)


@pytest.fixture(scope="module")
def harbour(reader_of: ReaderOf) -> IndexVocabulary:
    files = {
        "package.json": json.dumps({"name": "@Moorings/monorepo"}, indent=2),
        "README.md": "# Port Planner\n\nIt plans.\n",
        "packages/harbour/dock.js": "export class Harbour {}\n",
    }
    return IndexVocabulary([reader_of(files, "harbour")])


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


def test_a_common_word_stays_after_an_article(reader_of: ReaderOf) -> None:
    clicks = IndexVocabulary([reader_of({"click.py": "def click(): ...\n"}, "click")])
    assert without_project_name("how does click read prompts", clicks) == "how does read prompts"
    assert without_project_name("how is a click sent twice", clicks) == "how is a click sent twice"


def test_a_generic_folder_name_is_not_a_project(reader_of: ReaderOf) -> None:
    server = IndexVocabulary([reader_of({"main.py": "def run(): ...\n"}, "server")])
    question = "how does server handle long timeouts"
    assert without_project_name(question, server) == question


def test_one_of_several_projects_stays(harbour: IndexVocabulary, reader_of: ReaderOf) -> None:
    both = IndexVocabulary([*harbour.readers, reader_of({"ferry.py": "def run(): ...\n"}, "ferry")])
    assert without_project_name("how does harbour moor a large ship", both).startswith("how does harbour")


def test_the_project_is_no_term_of_a_query(harbour: IndexVocabulary) -> None:
    query = understand("how does harbour moor a large ship", vocabulary=harbour)
    assert "harbour" not in query.terms
    assert "harbour" not in query.meant
