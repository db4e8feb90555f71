"""How many questions are answered at once."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cairn.operations.concurrency import ConcurrentQueries


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_question_alone_shares_with_none(clock: Clock) -> None:
    with ConcurrentQueries(clock).counted() as sharing:
        clock.now = 5.0
    assert sharing.mean == 1.0


def test_questions_at_once_share_for_as_long_as_they_overlap(clock: Clock) -> None:
    questions = ConcurrentQueries(clock)
    with questions.counted() as whole:
        clock.now = 1.0
        with questions.counted() as half:
            clock.now = 3.0
        clock.now = 4.0
    assert half.mean == 2.0
    assert whole.mean == 1.5


def test_a_question_that_fails_is_counted_no_longer(clock: Clock) -> None:
    questions = ConcurrentQueries(clock)
    with suppress(ZeroDivisionError), questions.counted():
        clock.now = 1.0
        raise ZeroDivisionError
    with questions.counted() as sharing:
        clock.now = 2.0
    assert sharing.mean == 1.0


def test_no_time_at_all_is_no_error(clock: Clock) -> None:
    with ConcurrentQueries(clock).counted() as sharing:
        pass
    assert sharing.mean == 1.0
