"""When a query must end."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from attrs import define

from cairn.index.store import deadline as module
from cairn.index.store.deadline import Deadline


@define
class Clocks:
    """The thread's clock and the wall's, in seconds."""

    worked: float = 100.0
    wall: float = 5_000.0

    def work(self, seconds: float) -> None:
        self.worked += seconds
        self.wall += seconds

    def wait(self, seconds: float) -> None:
        self.wall += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    time = SimpleNamespace(thread_time=lambda: clocks.worked, perf_counter=lambda: clocks.wall)
    monkeypatch.setattr(module, "time", time)
    return clocks


def test_a_query_ends_when_it_has_worked_for_its_time(clocks: Clocks) -> None:
    deadline = Deadline(lambda: False, 250.0)
    clocks.work(0.2)
    assert not deadline()
    clocks.work(0.06)
    assert deadline()
    assert deadline.is_over


def test_waiting_for_a_core_is_not_work(clocks: Clocks) -> None:
    deadline = Deadline(lambda: False, 250.0)
    clocks.wait(0.7)
    clocks.work(0.2)
    assert not deadline()


def test_nobody_waits_for_ever(clocks: Clocks) -> None:
    deadline = Deadline(lambda: False, 250.0)
    clocks.wait(1.01)
    assert deadline.is_over


def test_a_cancelled_query_ends_at_once() -> None:
    assert Deadline(lambda: True)()
    assert not Deadline(lambda: True).is_over
