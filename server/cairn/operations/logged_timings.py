"""Reads from the logs of questions how long the latest took, one by one."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from pathlib import Path

from cairn.operations.kill_switch import OFF
from cairn.operations.recent_queries import moment_of, read_log
from cairn.operations.timings import MOST_STEPS, MOST_TIMINGS, PhaseStep, Timing, Timings

_SAME_SECONDS = 2.0
"""A question about several folders is in the log of each, written one after the other."""


def logged_timings(folders: Iterable[Path]) -> Timings:
    """The latest questions in the logs of these data folders, in all processes: 10 ms for each. One that is in several logs counts once."""
    questions: list[Timing] = []
    steps: list[PhaseStep] = []
    for data in folders:
        logged, changes = read_log(data, MOST_TIMINGS, MOST_STEPS)
        here = [
            Timing(at, line.method, line.ms, line.phase, line.cached, bool(line.error) or line.phase == OFF, line.pid)
            for line in reversed(logged)
            if (at := moment_of(line.at)) is not None and 0 <= line.ms < math.inf
        ]  # fmt: skip
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


def _same(timing: Timing) -> tuple[int, str, float]:
    return timing.pid, timing.method, timing.ms


def _is_near(moment: datetime.datetime | None, other: datetime.datetime) -> bool:
    return moment is not None and abs((moment - other).total_seconds()) < _SAME_SECONDS
