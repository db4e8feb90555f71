"""Reads the timings of the latest queries from the query logs."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from pathlib import Path

from cairn.operations.kill_switch import OFF
from cairn.operations.recent_queries import QueryLine, moment_of, read_log
from cairn.operations.timings import MOST_STEPS, MOST_TIMINGS, PhaseStep, Timing, Timings

_SAME_SECONDS = 2.0
"""The maximum time between log lines of one query. A query over several folders is in the log of each."""


def logged_timings(folders: Iterable[Path]) -> Timings:
    """Return the latest queries in the logs of these data folders, each once. This takes 10 ms per folder."""
    questions: list[Timing] = []
    steps: list[PhaseStep] = []
    for data in folders:
        logged, changes = read_log(data, MOST_TIMINGS, MOST_STEPS)
        here = [
            _timing(at, line)
            for line in reversed(logged)
            if (at := moment_of(line.at)) is not None and 0 <= line.ms < math.inf
        ]
        known = {_same(each): each.at for each in questions}
        questions += [each for each in here if not _is_near(known.get(_same(each)), each.at)]
        stepped = [
            PhaseStep(at, line.before, line.after, line.reason, line.pid)
            for line in reversed(changes)
            if (at := moment_of(line.at)) is not None
        ]
        steps += [each for each in stepped if each not in steps]
    questions.sort(key=lambda each: each.at)
    steps.sort(key=lambda each: each.at)
    return Timings(tuple(questions[-MOST_TIMINGS:]), tuple(steps[-MOST_STEPS:]))


def _timing(at: datetime.datetime, line: QueryLine) -> Timing:
    failed = bool(line.error) or line.phase == OFF
    return Timing(at, line.method, line.ms, line.phase, line.cached, failed, line.pid)


def _same(timing: Timing) -> tuple[int, str, float]:
    return timing.pid, timing.method, timing.ms


def _is_near(moment: datetime.datetime | None, other: datetime.datetime) -> bool:
    return moment is not None and abs((moment - other).total_seconds()) < _SAME_SECONDS
