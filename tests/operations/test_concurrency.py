"""The mean number of concurrent queries during each query is measured."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cairn.operations.concurrency import ConcurrentQueries


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("seconds", [5.0, 0.0])
def test_a_query_alone_has_a_mean_of_one(clock: Clock, seconds: float) -> None:
    with ConcurrentQueries(clock).counted() as alone:
        clock.now = seconds
    assert alone.mean == 1.0


def test_overlapping_queries_count_for_the_time_of_their_overlap(clock: Clock) -> None:
    queries = ConcurrentQueries(clock)
    with queries.counted() as whole:
        clock.now = 1.0
        with queries.counted() as half:
            clock.now = 3.0
        clock.now = 4.0
    assert half.mean == 2.0
    assert whole.mean == 1.5


def test_a_failed_query_no_longer_counts(clock: Clock) -> None:
    queries = ConcurrentQueries(clock)
    with suppress(ZeroDivisionError), queries.counted():
        clock.now = 1.0
        raise ZeroDivisionError
    with queries.counted() as next_one:
        clock.now = 2.0
    assert next_one.mean == 1.0
