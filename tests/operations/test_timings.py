"""The timings of the latest queries come from the logs or from memory."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from attrs import evolve
from tests.operations.answers import search_answer

from cairn import protocol
from cairn.operations.kill_switch import PhaseChange
from cairn.operations.query_log import Answer, QueryLine, QueryLog
from cairn.operations.recent_queries import MOST_QUERIES, TimingMemory, logged_timings
from cairn.settings.tree import LogSettings

ANSWER = search_answer(("src/harbour.py", 0.9, ("moor",)))
LOWERED = PhaseChange("2026-03-01T10:00:00+00:00", 3, 2, "It was slow: <b>p95</b> 900 ms.", 300.0)


def log_of(data: Path) -> QueryLog:
    return QueryLog(data, lambda: LogSettings(queries=True))


def query(ms: float, answer: Answer = ANSWER, **how: Any) -> QueryLine:
    return QueryLine.of("search", answer, ms, **how)


def add(log: QueryLog, ms: float, answer: Answer = ANSWER, **how: Any) -> None:
    log.add(query(ms, answer, **how), "Where do ships moor?", answer)


def test_the_log_gives_queries_and_phase_changes_in_order(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    add(log, 12.5)
    add(log, 0.25, cached=True)
    log.add_phase_change(LOWERED)
    off = protocol.AnsweredIn(0, 3, "generic", "x")
    add(log, 30, evolve(ANSWER, retrieval=off), error="ModelError")
    found = logged_timings([tmp_path])
    assert [(each.ms, each.phase, each.cached, each.failed) for each in found.questions] == [
        (12.5, 3, False, False),
        (0.25, 3, True, False),
        (30.0, 0, False, True),
    ]
    (step,) = found.steps
    assert (step.before, step.after, step.reason) == (3, 2, LOWERED.reason)
    assert (found.cached, found.failed, found.percentile(0.95)) == (1, 1, 12.5)


def test_a_query_in_the_logs_of_two_folders_counts_once(tmp_path: Path) -> None:
    first, second = log_of(tmp_path / "first"), log_of(tmp_path / "second")
    for log in (first, second):
        add(log, 12.345)
    add(second, 99)
    found = logged_timings([tmp_path / "first", tmp_path / "second"])
    assert sorted(each.ms for each in found.questions) == [12.345, 99.0]


def test_the_memory_keeps_the_latest_without_their_text() -> None:
    memory = TimingMemory()
    for ms in range(MOST_QUERIES + 3):
        memory.questions.append(query(float(ms)))
    memory.steps.append(LOWERED)
    found = memory.timings()
    assert len(found.questions) == MOST_QUERIES
    assert (found.questions[0].ms, found.questions[-1].ms) == (3.0, MOST_QUERIES + 2)
    assert found.steps[0].moment == datetime.datetime(2026, 3, 1, 10, tzinfo=datetime.UTC)
    assert "moor" not in repr(found)
