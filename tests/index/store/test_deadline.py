"""A query ends at its deadline, or when it is cancelled."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cairn.index.store import deadline as module
from cairn.index.store.deadline import Deadline, never


@pytest.mark.parametrize(
    ("worked", "waited", "is_over"),
    [
        pytest.param(0.20, 0.0, False, id="in time"),
        pytest.param(0.26, 0.0, True, id="worked too long"),
        pytest.param(0.20, 0.7, False, id="waited for a core"),
        pytest.param(0.00, 1.01, True, id="waited too long"),
    ],
)
def test_deadline_counts_work_and_limits_waiting(
    monkeypatch: pytest.MonkeyPatch, worked: float, waited: float, is_over: bool
) -> None:
    now = {"thread_time": 100.0, "perf_counter": 5_000.0}
    clocks = {name: lambda name=name: now[name] for name in now}
    monkeypatch.setattr(module, "time", SimpleNamespace(**clocks))
    deadline = Deadline(never, 250.0)
    now["thread_time"] += worked
    now["perf_counter"] += worked + waited
    assert deadline() == deadline.is_over == is_over


def test_cancelled_query_ends() -> None:
    deadline = Deadline(lambda: True)
    assert deadline()
    assert not deadline.is_over
