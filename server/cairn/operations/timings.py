"""The timings of the latest queries, and the changes of the phase, for a plot.

`cairn.operations.logged_timings` reads them from the query log, and `TimingMemory` has those of this process.
Neither contains the text of queries.
"""

from __future__ import annotations

import datetime
import os
from collections import deque

from attrs import field, frozen

from cairn.operations.kill_switch import OFF, PhaseChange
from cairn.operations.query_log import LoggedQuery
from cairn.startup.figures import percentile

MOST_TIMINGS = 500
MOST_STEPS = 100


@frozen
class Timing:
    at: datetime.datetime
    method: str
    """The name of the method in the protocol, without `cairn/`."""
    ms: float
    phase: int
    """The phase that gave the answer; 0 if no search answered."""
    cached: bool
    failed: bool
    pid: int


@frozen
class PhaseStep:
    """A change of the phase in some process, by the kill switch or by hand."""

    at: datetime.datetime
    before: int
    after: int
    reason: str
    pid: int


@frozen
class Timings:
    """The latest queries and phase changes, each latest last."""

    questions: tuple[Timing, ...] = ()
    steps: tuple[PhaseStep, ...] = ()

    def percentile(self, share: float) -> float | None:
        """Return the ms that `share` (0 to 1) of the successful searches do not exceed; None without any."""
        return percentile((each.ms for each in self.questions if not (each.cached or each.failed)), share)

    @property
    def cached(self) -> int:
        return sum(each.cached for each in self.questions)

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.questions)


@frozen
class TimingMemory:
    """The latest timings of this process. Thread-safe."""

    _questions: deque[Timing] = field(factory=lambda: deque(maxlen=MOST_TIMINGS), init=False)
    _steps: deque[PhaseStep] = field(factory=lambda: deque(maxlen=MOST_STEPS), init=False)

    def add(self, query: LoggedQuery, phase: int) -> None:
        failed = bool(query.error) or phase == OFF
        now = datetime.datetime.now(datetime.UTC)
        self._questions.append(
            Timing(now, query.method, round(query.ms, 3), phase, query.cached, failed, os.getpid())
        )

    def add_step(self, change: PhaseChange) -> None:
        at = datetime.datetime.fromisoformat(change.at)
        self._steps.append(PhaseStep(at, change.before, change.after, change.reason, os.getpid()))

    def timings(self) -> Timings:
        return Timings(tuple(self._questions.copy()), tuple(self._steps.copy()))
