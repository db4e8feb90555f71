"""The wording of a question shows its kind and the message that it cites."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.question_kinds import QuestionKind, message_fragments, message_of, question_kinds


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        (QuestionKind.CONSTANT, "What is the default mooring timeout?"),
        (QuestionKind.CONSTANT, "How many berths may a harbour have at most?"),
        (QuestionKind.CONFIG, "Which environment variable turns the tide off?"),
        (QuestionKind.CONFIG, "Which option limits the length of ships?"),
        (QuestionKind.TESTS, "Which test checks that a taken berth is refused?"),
        (QuestionKind.TESTS, "Is mooring at night tested?"),
        (QuestionKind.CALLERS, "What calls moor_ship?"),
        (QuestionKind.CALLERS, "Where is moor_ship used?"),
        (QuestionKind.CALLERS, "Where in the harbour master's office is moor_ship called?"),
        (QuestionKind.FLOW, "What happens when a ship arrives, step by step?"),
        (QuestionKind.CHANGE, "What do I have to change to add another kind of crane?"),
        (QuestionKind.CHANGE, "Add support for tankers"),
        (QuestionKind.COMPARE, "What is the difference between a berth and a mooring?"),
        (QuestionKind.ERROR, 'Where does "berth is taken already" come from, the error?'),
    ],
)
def test_wording_shows_the_kind(kind: QuestionKind, question: str) -> None:
    assert kind in question_kinds(question)


@pytest.mark.parametrize(
    "question", ["How is a ship moored?", "moor_ship", "", "Harbour master", "Where do tides come from"]
)
def test_an_ordinary_question_has_no_kind(question: str) -> None:
    assert question_kinds(question) == frozenset()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("ValueError: berth 12 is taken already", "berth 12 is taken already"),
        ('I get the error "no berth for Anna" when mooring', "no berth for Anna"),
        ("Berth is already taken. Where is this from?", "Berth is already taken."),
        ("What raises `berth is taken already`?", "berth is taken already"),
        ("error: harbour/berths.py: no berth is free", "no berth is free"),
        ("How is a ship moored?", ""),
        ('Where is the class "Berth master" defined?', ""),
        ("My ship is not moored. Where is it?", ""),
        ("", ""),
    ],
)
def test_a_cited_message_is_found(question: str, message: str) -> None:
    assert message_of(question) == message


@pytest.mark.parametrize(
    ("question", "pieces"),
    [
        ("ValueError: no free berth for ship 12 in harbour 'Porto' today again", ("no free berth for ship",)),
        ("error: cannot read /var/port/tides.toml because it is locked", ("because it is locked", "cannot read")),  # noqa: E501
        ("How is a ship moored?", ()),
    ],
)  # fmt: skip
def test_fragments_are_the_text_between_values(question: str, pieces: tuple[str, ...]) -> None:
    assert set(pieces) <= set(message_fragments(question))
    assert bool(pieces) == bool(message_fragments(question))


HOSTILE = [
    ":", "a:", "a: ", "(", '"', "'", "`", "“", "/", "*", "<a", "a.b", "- ", ". A", "what edit ", "where is ", "from to ",  # noqa: E501
]  # fmt: skip


@pytest.mark.parametrize("before", ["", "error: ", '"'])
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_question_is_read_in_linear_time(before: str, piece: str) -> None:
    text = before + piece * (12_000 // len(piece))
    began = time.process_time()
    question_kinds(text)
    message_fragments(text)
    # This takes 0.05 s of CPU time; it took over 5 s when it was quadratic.
    assert time.process_time() - began < 1.5


@given(
    st.one_of(st.text(), st.lists(st.sampled_from([*HOSTILE, "error", "ship", " ", "?", "\n"])).map("".join))
)
def test_any_text_is_read(text: str) -> None:
    assert question_kinds(text) <= frozenset(QuestionKind)
    message = message_of(text)
    assert all(word in text for word in message.split())
    assert all(fragment in message for fragment in message_fragments(text))
