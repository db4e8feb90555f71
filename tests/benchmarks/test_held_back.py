"""Tests of weakly labelled questions: what becomes a question, and what is removed from the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "training"))

from held_back_comments import Words, comment_questions
from held_back_commits import question_of, says_name

_COMMENTS = {
    "first": "Read what is left of the archive's header, without moving on.\n\n    More about it.\n    ",
    "second": "Short.",
    "third": "Throw away buffered sectors that no client has asked for.",
    "fourth": "Guess how many sectors a damaged volume still holds.",
}
# Each is long enough for a chunk.
_BODY = "".join(f"    stream.step_{number}(stream.position + {number}, whole=True)\n" for number in range(40))
_CODE = "\n\n".join(
    f'def {name}(stream):\n    """{comment}"""\n{_BODY}' for name, comment in _COMMENTS.items()
)


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        (
            "fix(parser): keep trailing commas in nested arrays (#123)",
            "keep trailing commas in nested arrays",
        ),
        ("Keep trailing commas in nested arrays, closes #9", "Keep trailing commas in nested arrays"),
        ("Bump serde from 1.0.1 to 1.0.2", ""),
        ("chore: drop the retired release pipeline", ""),
        ("Merge branch 'main' into feature", ""),
        ("Fix typo in the archive reader's message", ""),
        ("Fix bug", ""),
        ("Add more tests for sector allocation", ""),
    ],
)
def test_specific_subjects_become_questions(subject: str, question: str) -> None:
    assert question_of(subject) == question


def test_file_names_are_found_in_their_spelling_and_as_words() -> None:
    assert says_name("rework PrettyPrinter margins", ["src/PrettyPrinter.kt"])
    assert says_name("rework margins of the pretty printer", ["src/PrettyPrinter.kt"])
    assert not says_name("rework margins", ["src/PrettyPrinter.kt"])


def test_question_comments_are_removed_and_definitions_keep_their_lines() -> None:
    questions, text = comment_questions("volume.py", _CODE, Words([_CODE]))

    assert len(questions) == 1
    (question,) = questions
    assert question.query in _CODE
    assert question.query not in text
    lines = text.split("\n")
    assert lines[question.start_line - 1].startswith("def ")
    assert all(not line.startswith("def ") for line in lines[question.start_line : question.end_line])
    for name in ("first", "second", "third", "fourth"):
        assert f"def {name}(stream):" in lines


def test_a_sentence_that_stands_elsewhere_too_asks_nothing() -> None:
    assert comment_questions("volume.py", _CODE, Words([_CODE, _CODE])) == ([], _CODE)
