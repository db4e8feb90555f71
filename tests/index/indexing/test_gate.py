"""Whoever asks does not wait for background work; background work still gets its turn."""

from __future__ import annotations

import threading
import time

import pytest

from cairn.index.indexing.folder_state import QueryGate


@pytest.fixture
def gate() -> QueryGate:
    """Background work steps aside for as long as it takes."""
    return QueryGate(longest_wait=60.0)


class Worker:
    """One piece of background work, on a thread of its own."""

    def __init__(self, gate: QueryGate) -> None:
        self.done = threading.Event()
        self._gate = gate
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        self._gate.step_aside()
        self.done.set()


def test_work_goes_on_at_once_where_nobody_asks(gate: QueryGate) -> None:
    with gate.query():
        pass
    assert Worker(gate).done.wait(60)


def test_work_waits_until_the_last_question_is_answered(gate: QueryGate) -> None:
    with gate.query():
        with gate.query():
            worker = Worker(gate)
            assert not worker.done.wait(0.1)
        assert not worker.done.wait(0.1)
    assert worker.done.wait(60)


def test_a_question_that_fails_holds_nobody_up(gate: QueryGate) -> None:
    with pytest.raises(ZeroDivisionError), gate.query():
        raise ZeroDivisionError
    assert Worker(gate).done.wait(60)


def test_questions_without_end_do_not_stop_the_work() -> None:
    gate = QueryGate(longest_wait=0.05, turn=60.0)
    with gate.query():
        began = time.monotonic()
        gate.step_aside()
        assert time.monotonic() - began >= 0.05
        gate.longest_wait = 60.0
        for _ in range(100):
            assert Worker(gate).done.wait(60)


def test_something_urgent_is_not_held_up(gate: QueryGate) -> None:
    with gate.query():
        looks = iter([False, False, True])
        gate.step_aside(urgent=lambda: next(looks))
    assert next(looks, None) is None


def test_after_its_turn_work_steps_aside_again() -> None:
    gate = QueryGate(longest_wait=0.01, turn=0.0)
    with gate.query():
        gate.step_aside()
        gate.longest_wait = 60.0
        worker = Worker(gate)
        assert not worker.done.wait(0.1)
    assert worker.done.wait(60)


def test_many_questions_at_once_leave_the_gate_open_when_all_are_answered(gate: QueryGate) -> None:
    def ask() -> None:
        for _ in range(500):
            with gate.query():
                pass

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Worker(gate).done.wait(60)
