"""How long the latest questions took, one by one, and when the phase changed among them: what a plot shows.

`cairn.operations.logged_timings` reads them from the workspace's log of questions; a process remembers its own. What was asked is
in neither.
"""

from __future__ import annotations

import datetime
import os
from collections import deque

from attrs import field, frozen

from cairn.operations.kill_switch import OFF, PhaseChange
from cairn.operations.percentiles import percentile
from cairn.operations.query_log import Question

MOST_TIMINGS = 500
MOST_STEPS = 100


@frozen
class Timing:
    """One question."""

    at: datetime.datetime
    method: str
    """The protocol's name without `cairn/`."""
    ms: float
    phase: int
    """That it was answered in; 0 where it was not answered by searching."""
    cached: bool
    failed: bool
    pid: int
    """The process that answered."""


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
    """The latest questions and phase changes, each the latest last."""

    questions: tuple[Timing, ...] = ()
    steps: tuple[PhaseStep, ...] = ()

    def percentile(self, share: float) -> float | None:
        """Milliseconds that `share` (0 to 1) of the questions that were really answered did not exceed; None of none."""
        return percentile((each.ms for each in self.questions if not (each.cached or each.failed)), share)

    @property
    def cached(self) -> int:
        """How many were answered from the cache."""
        return sum(each.cached for each in self.questions)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(each.failed for each in self.questions)


@frozen
class TimingMemory:
    """The latest questions of this process. Methods may be called from several threads at once."""

    _questions: deque[Timing] = field(factory=lambda: deque(maxlen=MOST_TIMINGS), init=False)
    _steps: deque[PhaseStep] = field(factory=lambda: deque(maxlen=MOST_STEPS), init=False)

    def add(self, asked: Question, phase: int) -> None:
        """Remember a question that was answered in this phase just now."""
        failed = bool(asked.error) or phase == OFF
        now = datetime.datetime.now(datetime.UTC)
        self._questions.append(
            Timing(now, asked.method, round(asked.ms, 3), phase, asked.cached, failed, os.getpid())
        )

    def add_step(self, change: PhaseChange) -> None:
        """Remember a step of the phase."""
        at = datetime.datetime.fromisoformat(change.at)
        self._steps.append(PhaseStep(at, change.before, change.after, change.reason, os.getpid()))

    def timings(self) -> Timings:
        """All that is remembered."""
        return Timings(tuple(self._questions.copy()), tuple(self._steps.copy()))
