"""A query ends at its deadline, or when it is cancelled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from cairn.errors import QueryCancelledError
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import deadline as module
from cairn.index.store.deadline import Deadline, check_end, ended_by, never
from cairn.startup.figures import part_of_request


@pytest.mark.parametrize(
    ("worked", "waited", "is_known", "is_over"),
    [
        pytest.param(0.20, 0.0, True, False, id="in time"),
        pytest.param(0.26, 0.0, True, True, id="worked too long"),
        pytest.param(0.20, 0.7, True, False, id="waited for a core"),
        pytest.param(0.00, 1.01, True, True, id="waited too long"),
        pytest.param(0.00, 0.24, False, False, id="in time on an unknown clock"),
        pytest.param(0.00, 0.26, False, True, id="too long on an unknown clock"),
    ],
)
def test_deadline_counts_work_and_limits_waiting(
    monkeypatch: pytest.MonkeyPatch, worked: float, waited: float, is_known: bool, is_over: bool
) -> None:
    worked_at, now = 100.0, 5_000.0
    monkeypatch.setattr(module, "thread_seconds", lambda: worked_at if is_known else None)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now))
    deadline = Deadline(never, 250.0)
    worked_at += worked
    now += worked + waited
    assert deadline() == deadline.is_over == is_over


def test_cancelled_query_ends() -> None:
    deadline = Deadline(lambda: True)
    assert deadline()
    assert not deadline.is_over


def test_cancelled_request_reads_no_index(reader: SqliteReader) -> None:
    is_cancelled = False
    with ended_by(lambda: is_cancelled):
        assert not reader.facts().complete
        is_cancelled = True
        with pytest.raises(QueryCancelledError):
            reader.facts()
    assert not reader.facts().complete


def test_cancelling_a_request_ends_its_work_in_other_threads() -> None:
    with ThreadPoolExecutor(1) as threads:
        with ended_by(lambda: True):
            part = threads.submit(part_of_request(check_end))
        apart = threads.submit(check_end)
        with pytest.raises(QueryCancelledError):
            part.result()
        apart.result()
