"""Lowers the phase of retrieval when searches are slow or fail, and raises it again when they recover.

A search is slow if it takes much processor time, which other programs do not change.
Phase 3 compares vectors, 2 uses keywords without vectors, 1 only looks up names and keywords, and 0 is off.
There is no timer: a change that is due is made by the next call.
"""

from __future__ import annotations

import datetime
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

from attrs import field, frozen

from cairn.protocol import PhaseState
from cairn.settings.tree import KillSwitchSettings, RetrievalSettings
from cairn.startup.figures import percentile

logger = logging.getLogger(__name__)

OFF, NAMES, KEYWORDS, VECTORS = range(4)
PHASES = ("off", "names and keywords", "keywords", "keywords and vectors")
"""What answers in each phase, in words."""
_WATCHED_SHARE = 0.95
_BY_HAND = "Phase {} was set by hand."
_MOST_SEARCHES = 2_000
"""The maximum number of searches in the window, enough for seven a second during five minutes. If there are
more, only the latest count."""
_MOST_WAITS = 16
"""The longest wait before the next try, as a multiple of `recovery_seconds`: 80 minutes by default."""


@frozen
class PhaseChange:
    at: str
    """The UTC time (ISO 8601)."""
    before: int
    after: int
    reason: str
    next_try_seconds: float | None = field(metadata={"json": "until"})
    """The number of seconds until a higher phase is tried; None if this switch did not lower the phase."""
    pid: int = field(factory=os.getpid)
    """The process whose phase has changed."""

    @cached_property
    def moment(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.at)


class KillSwitch:
    """The phase of one engine. Thread-safe; a call takes less than a millisecond.

    Many searches without an answer switch retrieval off. Slow searches, and those that only a lower phase
    answered, lower the phase by one, because answers are still possible.
    """

    def __init__(
        self,
        settings: Callable[[], RetrievalSettings],
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[PhaseChange], None] = lambda _: None,
        override: Callable[[], int | None] = lambda: None,
        most: Callable[[], int] = lambda: VECTORS,
    ) -> None:
        """Make a switch. Each call of a method calls `settings`, `override` and `most` again.

        `clock` returns seconds. `override` returns the phase set by hand or None (`OverrideReader`), and
        `most` returns the highest possible phase. `on_change` is called on the thread that notices a change.
        """
        self._settings = settings
        self._clock = clock
        self._on_change = on_change
        self._override = override
        self._most = most
        self._lock = threading.Lock()
        self._window = _Window()
        self._by_hand = override()
        self._phase = self._wanted = wanted_phase(settings(), self._by_hand, most())
        self._lowered = False
        """Whether this switch lowered the phase. Otherwise the phase is the wanted one."""
        self._on_trial = False
        """Whether the phase was raised within the last `window_seconds`."""
        self._waits = 1
        """The wait until the next try as a multiple of `recovery_seconds`."""
        self._began = clock()
        """The time of the latest change."""
        self._since = _now()
        self._unreported: list[PhaseChange] = []
        self.reason = "" if self._by_hand is None else _BY_HAND.format(self._by_hand)
        """The reason of the latest change; "" before the first."""

    def phase(self) -> int:
        """Return the phase for the next search, 0 to 3; 0 is off."""
        with self._updated():
            return self._phase

    def record(self, ms: float, *, failed: bool, fell_back: bool, phase: int) -> None:
        """Record a search that took `ms` of processor time and was not answered from the cache.

        `failed` means that there was no answer, for a reason other than the query. `fell_back` means that a
        part of the phase failed and the rest answered; a missing model or missing vectors do not count.
        `phase` is the phase in which the search started; only searches of the current phase count.
        """
        with self._updated() as (switch, now):
            if phase == self._phase != OFF:
                self._window.searches.append(_Search(now, ms, failed, fell_back))
                if switch.automatic and self._by_hand is None:
                    self._judge(switch, now)

    def state(self) -> PhaseState:
        with self._updated() as (switch, now):
            window = self._window
            return PhaseState(
                phase=self._phase,
                wanted=self._wanted,
                by_hand=self._by_hand is not None,
                automatic=switch.automatic,
                reason=self.reason,
                since=self._since,
                next_try_seconds=self._next_try(switch, now),
                p95_ms=window.p95,
                error_rate=window.failed / max(1, len(window)),
                fallback_rate=window.fell_back / max(1, len(window)),
                queries=len(window),
            )

    @contextmanager
    def _updated(self) -> Iterator[tuple[KillSwitchSettings, float]]:
        """Make due changes, and yield the settings and the time under the lock.

        Changes are reported after the lock is released, because a listener may read the state.
        """
        with self._lock:
            settings, now = self._settings(), self._clock()
            self._update(settings, now)
            yield settings.kill_switch, now
            changes, self._unreported = self._unreported, []
        for change in changes:
            # A change that the user asked for needs no warning.
            lowered = change.after < change.before and change.next_try_seconds is not None
            level = logging.WARNING if lowered else logging.INFO
            logger.log(
                level, "Retrieval went from phase %d to %d: %s", change.before, change.after, change.reason
            )
            self._on_change(change)

    # --- Callers of these have the lock -------------------------------------------------------------

    def _update(self, settings: RetrievalSettings, now: float) -> None:
        switch = settings.kill_switch
        self._window.forget_before(now - switch.window_seconds)
        self._follow(settings, now)
        if self._on_trial and now - self._began >= switch.window_seconds:
            self._on_trial, self._waits = False, 1
        if self._lowered and now - self._began >= self._wait(switch) and self._is_calm(switch):
            self._raise(switch, now)

    def _follow(self, settings: RetrievalSettings, now: float) -> None:
        before, by_hand = self._by_hand, self._override()
        self._by_hand, self._wanted = by_hand, wanted_phase(settings, by_hand, self._most())
        is_own = self._lowered and settings.kill_switch.automatic and by_hand == before
        if is_own and self._phase < self._wanted:
            return
        self._lowered = False
        if self._phase == self._wanted:
            return
        if by_hand is not None:
            reason = _BY_HAND.format(by_hand)
        elif before is not None:
            reason = "The phase is no longer set by hand."
        elif not settings.enabled:
            reason = "`retrieval.enabled` is off."
        else:
            reason = f"The settings ask for phase {self._wanted}."
        self._on_trial, self._waits = False, 1
        self._change(self._wanted, reason, settings.kill_switch, now)

    def _judge(self, switch: KillSwitchSettings, now: float) -> None:
        window, count, p95 = self._window, len(self._window), self._window.p95 or 0.0
        most, is_last = _percent(switch.error_rate), self._phase == 1
        over = f"the {count} searches of the last {switch.window_seconds:g} s"
        too_many = switch.error_rate * count if count >= switch.min_queries else math.inf
        if window.failed > too_many:
            after = OFF
            reason = f"{_percent(window.failed / count)} of {over} failed, more than {most}."
        elif (
            len(window.durations) >= switch.min_queries
            and p95 > switch.p95_ms
            and window.later_p95 > switch.p95_ms
            # Phase 1 must stay slow for a whole window before retrieval is switched off.
            and (not is_last or now - self._began >= switch.window_seconds)
        ):
            after = self._phase - 1
            took = f"{p95:.6g} ms of processor time"
            reason = f"The 95th percentile of {over} was {took}, above {switch.p95_ms:g} ms."
        elif not is_last and window.fell_back > too_many:
            after, share = self._phase - 1, _percent(window.fell_back / count)
            reason = f"{share} of {over} were answered by less than phase {self._phase}, more than {most}."
        else:
            return
        if self._on_trial:
            self._waits = min(_MOST_WAITS, 2 * self._waits)
        self._lowered, self._on_trial = True, False
        self._change(after, reason, switch, now)

    def _is_calm(self, switch: KillSwitchSettings) -> bool:
        """Return whether the latest searches, if any, allow trying the next higher phase."""
        p95 = self._window.p95
        return not self._window.failed and (p95 is None or p95 < switch.recovery_share * switch.p95_ms)

    def _raise(self, switch: KillSwitchSettings, now: float) -> None:
        answered, after = len(self._window.durations), self._phase + 1
        if answered:
            reason = (
                f"Phase {after} is tried: the 95th percentile of the {answered} searches of the last "
                f"{switch.window_seconds:g} s was {self._window.p95:.6g} ms."
            )
        else:
            in_phase = f"{self._wait(switch):g} s in phase {self._phase}"
            reason = f"Phase {after} is tried after {in_phase}, without any searches."
        self._lowered, self._on_trial = after < self._wanted, True
        self._change(after, reason, switch, now)

    def _change(self, after: int, reason: str, switch: KillSwitchSettings, now: float) -> None:
        before, self._phase, self._began = self._phase, after, now
        self._since, self.reason = _now(), reason
        self._window = _Window()
        self._unreported.append(PhaseChange(self._since, before, after, reason, self._next_try(switch, now)))

    def _wait(self, switch: KillSwitchSettings) -> float:
        return switch.recovery_seconds * self._waits

    def _next_try(self, switch: KillSwitchSettings, now: float) -> float | None:
        return max(0.0, self._began + self._wait(switch) - now) if self._lowered else None


@frozen
class _Search:
    at: float
    ms: float
    failed: bool
    fell_back: bool


@frozen
class _Window:
    """The latest searches, oldest first."""

    searches: deque[_Search] = field(factory=lambda: deque(maxlen=_MOST_SEARCHES), init=False)

    def __len__(self) -> int:
        return len(self.searches)

    def forget_before(self, moment: float) -> None:
        while self.searches and self.searches[0].at <= moment:
            self.searches.popleft()

    @property
    def failed(self) -> int:
        return sum(search.failed for search in self.searches)

    @property
    def fell_back(self) -> int:
        return sum(search.fell_back for search in self.searches)

    @property
    def durations(self) -> list[float]:
        """The durations (ms) of the searches with an answer."""
        return [search.ms for search in self.searches if not search.failed]

    @property
    def p95(self) -> float | None:
        return percentile(self.durations, _WATCHED_SHARE)

    @property
    def later_p95(self) -> float:
        """The 95th percentile (ms) of the later half of the durations, but not the longest of several.

        This ignores the first searches, which load modules, models and the index (0.7 s of processor time for
        the very first one), and a single slow query, such as one for a text in a million chunks.
        """
        later = sorted(self.durations[len(self.durations) // 2 :])
        return min(percentile(later, _WATCHED_SHARE) or 0.0, later[-2:][0])


def wanted_phase(settings: RetrievalSettings, by_hand: int | None, most: int) -> int:
    """Return 0 if retrieval is disabled, else the phase set by hand or by the settings, at most `most`."""
    if not settings.enabled:
        return OFF
    return min(most, settings.phase if by_hand is None else by_hand)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
