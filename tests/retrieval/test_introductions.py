"""What an overview is asked of, and what says what it is."""

from __future__ import annotations

import pytest

from cairn.retrieval.intent import Readme, readme_of
from cairn.retrieval.introductions import Introduced, is_furniture, key_of_name, subject_of, tells_who_owns
from cairn.retrieval.query import understand


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("what is harbour", "harbour"),
        ("What is the request context?", "request context"),
        ("what's `moor_ship` for?", "`moor_ship`"),
        ("explain harbour", "harbour"),
        ("Could you please tell me about harbour?", "harbour"),
        ("what does harbour do", "harbour"),
        ("give me a short overview of harbour", "harbour"),
        ("summarize harbour.", "harbour"),
        # Something of it is asked, or about one matter.
        ("what is the default timeout", ""),
        ("what is the difference between a berth and a quay", ""),
        ("explain how ships are moored at the berths", ""),
        ("how does harbour work", ""),
        ("harbour", ""),
    ],
)
def test_an_overview_is_asked_of_a_thing_as_a_whole(question: str, subject: str) -> None:
    assert subject_of(question) == subject


def test_a_value_that_is_asked_for_is_no_overview() -> None:
    assert readme_of(understand("what is the default timeout")) is not Readme.FIRST
    assert readme_of(understand("what is the berth")) is Readme.FIRST


@pytest.mark.parametrize("name", ["serde-json", "serde_json", "Serde JSON", "serdeJson"])
def test_spellings_of_a_name_have_one_key(name: str) -> None:
    assert key_of_name(name) == "serdejson"


def test_a_file_of_the_language_is_no_part_of_a_name() -> None:
    assert key_of_name("Express.js") == key_of_name("express")


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
    about = Introduced.by("what is harbour")
    assert about is not None
    assert about.said_in(text) == said


def test_a_subject_may_be_asked_for_in_the_plural() -> None:
    about = Introduced.by("what are blueprints")
    assert about is not None
    assert about.said_in("A blueprint is a set of operations.") == 1.0


def test_what_is_about_a_projects_life_is_furniture() -> None:
    assert is_furniture(["harbour", "Current team members"])
    assert is_furniture(["Ships"], "CODE_OF_CONDUCT.md")
    assert is_furniture(["Ships"], "docs/release-notes.md")
    assert is_furniture(["Ships"], "docs/upgrading-to-10.md")
    assert is_furniture(["Ships"], "docs/third-party-packages.md")
    assert not is_furniture(["harbour", "Releasing a ship"], "docs/security_of_berths.md")


def test_who_owns_a_thing_is_not_what_it_is() -> None:
    assert tells_who_owns("Harbour is a registered trademark of the port.")
    assert tells_who_owns("Harbour is MIT licensed code.")
    assert not tells_who_owns("Harbour is a planner for ports.")


@pytest.mark.parametrize(
    ("path", "line", "is_own"),
    [
        ("README.md", 300, True),
        ("docs/index.md", 300, True),
        ("docs/tides.md", 3, True),
        ("docs/tides.md", 300, False),  # there it is about tides
        ("packages/tides/README.md", 3, False),
        ("src/harbour.py", 3, False),
    ],
)
def test_its_own_documents_speak_of_the_subject_and_others_at_their_beginning(
    path: str, line: int, is_own: bool
) -> None:
    about = Introduced.by("what is harbour")
    assert about is not None
    assert about.owns(path, "harbour-docs", line) == is_own
    assert not about.owns(path, "port-docs", line)
