"""Background work waits for queries, but still gets its turn."""

from __future__ import annotations

import threading
import time

import pytest

from cairn.index.indexing.folder_state import QueryGate


@pytest.fixture
def gate() -> QueryGate:
    """A gate at which background work waits as long as queries run."""
    return QueryGate(longest_wait=60.0)


class Worker:
    """A thread with one piece of background work."""

    def __init__(self, gate: QueryGate) -> None:
        self.done = threading.Event()
        self._gate = gate
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        self._gate.step_aside()
        self.done.set()


def test_work_continues_when_no_query_runs(gate: QueryGate) -> None:
    with gate.query():
        pass
    with pytest.raises(ZeroDivisionError), gate.query():
        raise ZeroDivisionError
    assert Worker(gate).done.wait(60)


def test_work_waits_for_the_last_query(gate: QueryGate) -> None:
    with gate.query():
        with gate.query():
            worker = Worker(gate)
            assert not worker.done.wait(0.1)
        assert not worker.done.wait(0.1)
    assert worker.done.wait(60)


def test_endless_queries_do_not_stop_the_work() -> None:
    gate = QueryGate(longest_wait=0.05, turn=60.0)
    with gate.query():
        began = time.monotonic()
        gate.step_aside()
        assert time.monotonic() - began >= 0.05
        gate.longest_wait = 60.0
        for _ in range(100):
            assert Worker(gate).done.wait(60)


def test_urgent_work_does_not_wait(gate: QueryGate) -> None:
    with gate.query():
        looks = iter([False, False, True])
        gate.step_aside(urgent=lambda: next(looks))
    assert next(looks, None) is None


def test_work_waits_again_after_its_turn() -> None:
    gate = QueryGate(longest_wait=0.01, turn=0.0)
    with gate.query():
        gate.step_aside()
        gate.longest_wait = 60.0
        worker = Worker(gate)
        assert not worker.done.wait(0.1)
    assert worker.done.wait(60)


def test_gate_is_open_after_many_queries_on_threads(gate: QueryGate) -> None:
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
