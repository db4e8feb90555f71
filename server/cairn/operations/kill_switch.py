"""Steps retrieval down a phase when it is slow or fails, and up again when it is well (S2's kill switch).

The phases are S2's: 3 compares vectors, 2 goes by keywords alone, 1 looks up names and keywords and nothing
else, and in 0 retrieval is off. Nothing here looks at the clock by itself: what is due happens when somebody
asks for the phase.
"""

from __future__ import annotations

import bisect
import datetime
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from attrs import define, field, frozen

from cairn.operations.percentiles import rank_of
from cairn.protocol import PhaseState
from cairn.settings.tree import KillSwitchSettings, RetrievalSettings

logger = logging.getLogger(__name__)

OFF, NAMES, KEYWORDS, VECTORS = range(4)
_WATCHED_SHARE = 0.95
"""S2 watches the 95th percentile."""
_BY_HAND = "Phase {} was set by hand."
_MOST_ENTRIES = 10_000
"""Searches remembered: in S2's five minutes, 33 a second. Of more, the latest count."""
_MOST_WAITS = 16
"""The longest wait, in times of `recovery_seconds`: 80 minutes by default."""


@frozen
class PhaseChange:
    """One step of the phase."""

    at: str
    """UTC (ISO 8601)."""
    before: int
    after: int
    reason: str
    """A sentence, with the figures that decided."""
    until: float | None
    """Seconds until the next higher phase is tried; None where the phase is the one that is wanted."""


class KillSwitch:
    """The phase of one engine.

    Methods may be called from several threads at once, and cost microseconds.
    S2 counts a failing vector store as an error, of which more than 5 % switch everything off. Here searches
    that a lower phase could answer drop their own phase only: off would take away answers that there are.
    """

    def __init__(
        self,
        settings: Callable[[], RetrievalSettings],
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[PhaseChange], None] = lambda _: None,
        override: Callable[[], int | None] = lambda: None,
        most: Callable[[], int] = lambda: VECTORS,
        others: Callable[[float], float] = lambda _: 0.0,
    ) -> None:
        """`clock` tells seconds. `override` is the phase set by hand, if one is (`OverrideReader`), `most` the highest that
        there can be; they and `settings` are asked at each call. `on_change` is called on the thread that noticed. `others` tells
        the share of all cores that other programs took during the last so many seconds (`OtherPrograms.share`)."""
        self._settings = settings
        self._clock = clock
        self._on_change = on_change
        self._override = override
        self._most = most
        self._others = others
        self._lock = threading.Lock()
        self._window = _Window()
        self._by_hand = override()
        self._phase = self._wanted = wanted_phase(settings(), self._by_hand, most())
        self._lowered = False
        """Whether the phase is this switch's own decision; else it is the one that is wanted."""
        self._on_trial = False
        """Whether the phase was raised less than a window ago."""
        self._waits = 1
        """How many times `recovery_seconds` until the next try."""
        self._began = clock()
        """When this phase did."""
        self._since = _now()
        self._untold: list[PhaseChange] = []
        self._slowed = ""
        """Why searches are slow though nothing is wrong with them; "" where they are not."""
        self.reason = "" if self._by_hand is None else _BY_HAND.format(self._by_hand)
        """Of the last change; "" before the first."""

    def phase(self) -> int:
        """The phase to answer the next search in, 0 to 3; 0 is off."""
        with self._looked():
            return self._phase

    def record(
        self, ms: float, *, failed: bool, fell_back: bool, phase: int, while_indexing: bool = False
    ) -> None:
        """Take in a search that took `ms`; leave out those that were answered from the cache.

        How long it took says nothing `while_indexing`: files that are taken in slow every search for as long.

        `failed`: there was no answer, for a reason that is not the question's. `fell_back`: something of
        the phase failed and less answered; not that there is no model, or that there are no vectors yet.
        `phase` is the one that the search began in: a search of another phase than now says nothing about it.
        """
        with self._looked() as (switch, now):
            if phase == self._phase != OFF:
                self._window.add(now, ms, failed, fell_back, timed=not (failed or while_indexing))
                if switch.automatic and self._by_hand is None:
                    self._judge(switch, now)

    def state(self) -> PhaseState:
        """How the switch stands now."""
        with self._looked() as (switch, now):
            window = self._window
            return PhaseState(
                phase=self._phase,
                wanted=self._wanted,
                by_hand=self._by_hand is not None,
                automatic=switch.automatic,
                reason=self._slowed if self._is_slow(switch) else self.reason,
                since=self._since,
                next_try_seconds=self._next_try(switch, now),
                p95_ms=window.p95(),
                error_rate=_share(window.failed, window.searches),
                fallback_rate=_share(window.fell_back, window.searches),
                queries=window.searches,
            )

    @contextmanager
    def _looked(self) -> Iterator[tuple[KillSwitchSettings, float]]:
        """Under the lock, after all that is due was done; with the limits and the time. Changes are told when it is free
        again: whoever is told may ask for the state."""
        with self._lock:
            settings, now = self._settings(), self._clock()
            self._look(settings, now)
            yield settings.kill_switch, now
            changes, self._untold = self._untold, []
        for change in changes:
            # What somebody decided, they know.
            lowered = change.after < change.before and change.until is not None
            level = logging.WARNING if lowered else logging.INFO
            logger.log(
                level, "Retrieval went from phase %d to %d: %s", change.before, change.after, change.reason
            )
            self._on_change(change)

    # --- what is due; the lock is held --------------------------------------------------------------

    def _look(self, settings: RetrievalSettings, now: float) -> None:
        """Follow what people decided, and try a higher phase where its time has come."""
        switch = settings.kill_switch
        self._window.forget_before(now - switch.window_seconds)
        self._follow(settings, now)
        if self._on_trial and now - self._began >= switch.window_seconds:
            self._on_trial, self._waits = False, 1
        if self._lowered and now - self._began >= self._wait(switch) and self._is_calm(switch):
            self._raise(switch, now)

    def _follow(self, settings: RetrievalSettings, now: float) -> None:
        """Whoever changes what is wanted, or sets a phase by hand, is obeyed at once."""
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
        """S2's triggers, over the window."""
        window, enough, p95 = self._window, max(1, switch.min_queries), self._window.p95() or 0.0
        most, is_last = _percent(switch.error_rate), self._phase == 1
        over = f"the {window.searches} searches of the last {switch.window_seconds:g} s"
        too_many = switch.error_rate * window.searches if window.searches >= enough else math.inf
        if window.failed > too_many:
            after = OFF
            reason = f"{_percent(window.failed / window.searches)} of {over} failed, more than {most}."
        elif (
            window.answered >= enough
            and p95 > switch.p95_ms
            and window.later_p95() > switch.p95_ms
            # The last phase is given up only when a whole window brought nothing better (S2).
            and (not is_last or now - self._began >= switch.window_seconds)
            and not self._is_slowed(switch, p95)
        ):
            after = self._phase - 1
            reason = f"The 95th percentile of {over} was {p95:.6g} ms, above {switch.p95_ms:g} ms."
        elif not is_last and window.fell_back > too_many:
            after, share = self._phase - 1, _percent(window.fell_back / window.searches)
            reason = f"{share} of {over} were answered by less than phase {self._phase}, more than {most}."
        else:
            return
        if self._on_trial:
            self._waits = min(_MOST_WAITS, 2 * self._waits)
        self._lowered, self._on_trial = True, False
        self._change(after, reason, switch, now)

    def _is_slowed(self, switch: KillSwitchSettings, p95: float) -> bool:
        """Whether other programs are why searches are slow: less would be answered, and no sooner."""
        share = self._others(switch.window_seconds)
        busy = share > switch.busy_share
        self._slowed = (
            f"Searches are slow, 95th percentile {p95:.6g} ms, while other programs take {_percent(share)} of the processor."
            if busy
            else ""
        )
        return busy

    def _is_calm(self, switch: KillSwitchSettings) -> bool:
        """Whether nothing speaks against the next higher phase; without any searches, only a try can tell."""
        p95 = self._window.p95()
        return not self._window.failed and (p95 is None or p95 < switch.recovery_share * switch.p95_ms)

    def _is_slow(self, switch: KillSwitchSettings) -> bool:
        return bool(self._slowed) and (self._window.p95() or 0.0) > switch.p95_ms

    def _raise(self, switch: KillSwitchSettings, now: float) -> None:
        window, after = self._window, self._phase + 1
        if window.answered:
            reason = (
                f"Phase {after} is tried: the 95th percentile of the {window.answered} searches of the last "
                f"{switch.window_seconds:g} s was {window.p95():.6g} ms."
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
        self._untold.append(PhaseChange(self._since, before, after, reason, self._next_try(switch, now)))

    def _wait(self, switch: KillSwitchSettings) -> float:
        return switch.recovery_seconds * self._waits

    def _next_try(self, switch: KillSwitchSettings, now: float) -> float | None:
        return max(0.0, self._began + self._wait(switch) - now) if self._lowered else None


@define
class _Window:
    """The latest searches. The durations of those that were answered are kept in order: nothing is sorted to decide."""

    _entries: deque[tuple[float, float, bool, bool, bool]] = field(factory=deque)
    """When, ms, failed, without vectors, timed; the oldest first."""
    _durations: list[float] = field(factory=list)
    """Of those that are timed. How soon a search failed says nothing."""
    failed: int = 0
    fell_back: int = 0

    @property
    def searches(self) -> int:
        return len(self._entries)

    @property
    def answered(self) -> int:
        """Searches that count for the percentile."""
        return len(self._durations)

    def add(self, at: float, ms: float, failed: bool, fell_back: bool, *, timed: bool) -> None:
        if self.searches == _MOST_ENTRIES:
            self._forget_oldest()
        self._entries.append((at, ms, failed, fell_back, timed))
        self.failed += failed
        self.fell_back += fell_back
        if timed:
            bisect.insort(self._durations, ms)

    def forget_before(self, moment: float) -> None:
        while self._entries and self._entries[0][0] <= moment:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, ms, failed, fell_back, timed = self._entries.popleft()
        self.failed -= failed
        self.fell_back -= fell_back
        if timed:
            del self._durations[bisect.bisect_left(self._durations, ms)]

    def p95(self) -> float | None:
        """In ms; None of no answers."""
        return _p95(self._durations) if self._durations else None

    def later_p95(self) -> float:
        """In ms, of the later half of the answers, without the slowest one, where there are several.

        The first ones of an index wait for what is read into memory once, and one question that takes long, such as for a text
        in a million chunks, does not make searches slow.
        """
        timed = (ms for _, ms, _, _, is_timed in reversed(self._entries) if is_timed)
        later = sorted(islice(timed, (self.answered + 1) // 2))
        return min(_p95(later), later[-2:][0])


def wanted_phase(settings: RetrievalSettings, by_hand: int | None, most: int) -> int:
    """What people ask for. By hand beats the phase of the settings; what is not enabled stays off."""
    if not settings.enabled:
        return OFF
    return min(most, settings.phase if by_hand is None else by_hand)


def _p95(durations: Sequence[float]) -> float:
    """Of durations in ascending order."""
    return durations[rank_of(_WATCHED_SHARE, len(durations)) - 1]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
