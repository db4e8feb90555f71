"""Overviews have a subject, which some sentences and documents introduce."""

from __future__ import annotations

import pytest

from cairn.retrieval.intent import Readme, readme_of
from cairn.retrieval.introductions import (
    OverviewSubject,
    is_about_ownership,
    is_project_upkeep,
    name_key,
    subject_of,
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
