"""The kill switch lowers the phase if searches are slow or fail, raises it again, and obeys the user."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from cairn.operations.kill_switch import KillSwitch, PhaseChange
from cairn.settings.tree import KillSwitchSettings, RetrievalSettings

SLOW, FAST = 900.0, 20.0
WINDOW = KillSwitchSettings().window_seconds
RECOVERY = KillSwitchSettings().recovery_seconds
ENOUGH = KillSwitchSettings().min_queries


class Rig:
    """A switch with the default limits, whose clock, settings and phase by hand the test sets."""

    def __init__(self, phase: int = 3, **switch: Any) -> None:
        self.now = 1_000.0
        self.settings = RetrievalSettings(phase=phase, kill_switch=KillSwitchSettings(**switch))
        self.by_hand: int | None = None
        self.changes: list[PhaseChange] = []
        self.switch = KillSwitch(
            lambda: self.settings,
            lambda: self.now,
            self.changes.append,
            lambda: self.by_hand,
        )

    def searches(self, count: int, ms: float = FAST, *, failed: bool = False, fell_back: bool = False) -> int:
        """Record searches at this moment, and return the phase after them."""
        for _ in range(count):
            self.switch.record(ms, failed=failed, fell_back=fell_back, phase=self.switch.phase())
        return self.switch.phase()

    def after(self, seconds: float) -> int:
        """Advance the clock, and return the phase then."""
        self.now += seconds
        return self.switch.phase()

    def slow(self) -> int:
        return self.searches(ENOUGH, SLOW)

    def next_try(self) -> float | None:
        return self.switch.state().next_try_seconds


Step = Callable[[Rig], int]


def searches(count: int, ms: float = FAST, **how: bool) -> Step:
    return lambda rig: rig.searches(count, ms, **how)


def after(seconds: float) -> Step:
    return lambda rig: rig.after(seconds)


def slow(count: int = ENOUGH) -> Step:
    return searches(count, SLOW)


def fail(count: int) -> Step:
    return searches(count, failed=True)


def fall_back(count: int) -> Step:
    return searches(count, fell_back=True)


# fmt: off
SEQUENCES: dict[str, list[tuple[Step, int]]] = {
    "fast searches keep it": [(searches(1_000), 3), (after(WINDOW * 3), 3)],
    "slow ones lower it by one": [(slow(19), 3), (slow(1), 2), (slow(19), 2), (slow(1), 1)],
    "a slow window in phase 1 switches off": [
        (slow(), 2), (slow(), 1), (after(WINDOW - 1), 1), (slow(), 1), (after(1), 1), (slow(), 0),
    ],
    "more than 5 % are slow": [(searches(95), 3), (slow(5), 3), (slow(1), 2)],
    "exactly the limit is not slow": [(searches(100, 500.0), 3)],
    "just above the limit is slow": [(searches(20, 500.001), 2)],
    "the window forgets": [
        (slow(19), 3), (after(WINDOW), 3), (slow(19), 3), (after(WINDOW - 1), 3), (slow(1), 2),
    ],
    "fallbacks lower it to 1": [(fall_back(20), 2), (fall_back(20), 1), (fall_back(1_000), 1)],
    "it rises without searches": [(slow(), 2), (after(RECOVERY), 3)],
    "it rises by one after each wait": [
        (slow(), 2), (slow(), 1), (after(RECOVERY - 1), 1), (searches(20), 1), (after(1), 2),
        (searches(20), 2), (after(RECOVERY), 3), (after(RECOVERY * 10), 3),
    ],
    "399.9 ms are calm": [(slow(), 2), (after(RECOVERY - 1), 2), (searches(1, 399.9), 2), (after(1), 3)],
    "400 ms delay the rise": [
        (slow(), 2), (after(RECOVERY - 1), 2), (searches(1, 400.0), 2), (after(1), 2), (after(WINDOW), 3),
    ],
    "a failure delays the rise": [
        (slow(), 2), (after(RECOVERY - 1), 2), (searches(50), 2), (fail(1), 2), (after(1), 2),
        (after(WINDOW), 3),
    ],
    "it rises from off": [
        (fail(20), 0), (after(RECOVERY - 1), 0), (after(1), 1), (after(RECOVERY), 2), (after(RECOVERY), 3),
    ],
    "1 of 20 fails": [(searches(19), 3), (fail(1), 3)],
    "2 of 20 fail": [(searches(18), 3), (fail(2), 0)],
    "5 of 100 fail": [(searches(95), 3), (fail(5), 3)],
    "6 of 100 fail": [(searches(94), 3), (fail(6), 0)],
    "19 of 20 needed fail": [(fail(19), 3), (fail(1), 0)],
}
# fmt: on


@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES)
def test_phase_follows_searches_and_time(steps: Sequence[tuple[Step, int]]) -> None:
    rig = Rig()
    assert [step(rig) for step, _ in steps] == [phase for _, phase in steps]


def test_first_phase_is_the_settings() -> None:
    assert [Rig(phase=phase).switch.phase() for phase in (2, 9)] == [2, 3]


def test_a_change_has_the_figures_and_the_next_try() -> None:
    rig = Rig()
    rig.slow()
    rig.searches(ENOUGH, fell_back=True)
    first, second = rig.changes
    assert (first.before, first.after, second.before, second.after) == (3, 2, 2, 1)
    assert first.next_try_seconds == RECOVERY
    assert "900 ms of processor time, above 500 ms" in first.reason
    assert "20 searches" in first.reason
    assert "answered by less than phase 2" in second.reason
    rig.searches(ENOUGH, failed=True)
    assert (rig.changes[-1].after, rig.changes[-1].next_try_seconds) == (0, RECOVERY)


def test_slow_failures_count_as_failed_and_not_as_slow() -> None:
    rig = Rig(error_rate=1.0)
    assert rig.searches(100, 30_000.0, failed=True) == 3
    assert rig.switch.state().p95_ms is None


def test_slow_first_searches_alone_keep_the_phase() -> None:
    rig = Rig()
    rig.searches(ENOUGH // 2, SLOW)
    assert rig.searches(ENOUGH, FAST) == 3
    assert rig.switch.state().p95_ms == SLOW
    assert rig.searches(1, SLOW) == 3, "one of the later half, which may be a single slow query"
    assert rig.searches(1, SLOW) == 2, "two of the later half"


def test_searches_that_began_in_another_phase_do_not_count() -> None:
    rig = Rig()
    rig.slow()
    for _ in range(ENOUGH):
        rig.switch.record(SLOW, failed=False, fell_back=False, phase=3)
    assert rig.switch.phase() == 2
    assert rig.switch.state().queries == 0


def test_each_failed_try_doubles_the_wait_up_to_sixteen_times() -> None:
    rig = Rig()
    rig.slow()
    waits = []
    for _ in range(6):
        wait = rig.next_try()
        assert wait is not None
        assert rig.after(wait - 1) == 2
        assert rig.after(1) == 3
        rig.now += 1
        assert rig.slow() == 2
        waits.append(wait / RECOVERY)
    assert waits == [1, 2, 4, 8, 16, 16]


def test_a_good_window_makes_the_next_wait_short_again() -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    rig.slow()
    assert rig.next_try() == 2 * RECOVERY
    assert rig.after(2 * RECOVERY) == 3
    rig.after(WINDOW)
    assert rig.slow() == 2
    assert rig.next_try() == RECOVERY


# --- settings and the phase set by hand ----------------------------------------------------------------


def test_a_phase_set_by_hand_counts_at_once_whatever_is_measured() -> None:
    rig = Rig()
    rig.by_hand = 0
    assert rig.switch.phase() == 0
    rig.by_hand = 3
    assert rig.slow() == 3
    assert rig.searches(100, failed=True) == 3
    rig.by_hand = 1
    assert rig.switch.phase() == 1
    assert rig.after(RECOVERY * 100) == 1
    rig.by_hand = None
    assert rig.switch.phase() == 3
    assert [(change.after, change.next_try_seconds) for change in rig.changes] == [
        (0, None), (3, None), (1, None), (3, None),
    ]  # fmt: skip


def test_a_phase_set_by_hand_undoes_a_lower_phase_and_its_wait() -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    rig.slow()
    rig.by_hand = 3
    assert (rig.switch.phase(), rig.next_try()) == (3, None)
    assert rig.slow() == 3
    rig.by_hand = None
    assert rig.switch.phase() == 3
    rig.slow()
    assert rig.next_try() == RECOVERY


def test_the_window_starts_anew_when_the_phase_by_hand_is_taken_back() -> None:
    rig = Rig()
    rig.by_hand = 1
    rig.searches(ENOUGH - 1, SLOW)
    rig.by_hand = None
    assert rig.searches(1, SLOW) == 3


def test_a_phase_set_before_the_start_is_not_a_change() -> None:
    changes: list[PhaseChange] = []
    switch = KillSwitch(RetrievalSettings, on_change=changes.append, override=lambda: 1)
    assert switch.phase() == 1
    assert (changes, switch.reason) == ([], "Phase 1 was set by hand.")


def test_a_switch_that_is_not_automatic_counts_and_changes_nothing() -> None:
    rig = Rig(automatic=False)
    assert rig.slow() == 3
    assert rig.searches(ENOUGH, failed=True) == 3
    state = rig.switch.state()
    assert (state.queries, state.error_rate, state.automatic) == (2 * ENOUGH, 0.5, False)
    assert rig.changes == []


def test_switching_the_automatic_off_restores_the_phase() -> None:
    rig = Rig()
    rig.slow()
    rig.settings = evolve(rig.settings, kill_switch=KillSwitchSettings(automatic=False))
    assert (rig.switch.phase(), rig.next_try()) == (3, None)


def test_changed_settings_count_at_once() -> None:
    rig = Rig()
    phases = []
    for change in ({"phase": 1}, {"phase": 2}, {"enabled": False}, {}, {"enabled": True}):
        rig.settings = evolve(rig.settings, **change)
        phases.append(rig.after(RECOVERY * 2))
    assert phases == [1, 2, 0, 0, 2]
    assert [change.next_try_seconds for change in rig.changes] == [None] * 4


def test_a_higher_phase_in_the_settings_does_not_undo_a_lower_one() -> None:
    rig = Rig(phase=2)
    rig.slow()
    rig.settings = evolve(rig.settings, phase=3)
    assert rig.switch.phase() == 1
    assert rig.after(RECOVERY) == 2


def test_changed_limits_apply_to_the_next_decision() -> None:
    rig = Rig()
    rig.searches(ENOUGH, 300.0)
    rig.settings = evolve(rig.settings, kill_switch=KillSwitchSettings(p95_ms=200.0))
    assert rig.switch.phase() == 3
    assert rig.searches(1, 300.0) == 2


def test_by_hand_beats_the_settings_phase_but_not_enabled() -> None:
    rig = Rig(phase=1)
    rig.by_hand = 3
    assert rig.switch.phase() == 3
    rig.settings = evolve(rig.settings, enabled=False)
    assert rig.switch.phase() == 0


def test_an_impossible_phase_is_not_wanted() -> None:
    most = 2
    switch = KillSwitch(RetrievalSettings, most=lambda: most)
    assert (switch.phase(), switch.state().wanted) == (2, 2)
    most = 3  # a model was installed
    assert (switch.phase(), switch.state().wanted) == (3, 3)


# --- the state -----------------------------------------------------------------------------------------


def test_the_state_has_the_figures_of_the_window() -> None:
    rig = Rig()
    rig.searches(16, FAST)
    rig.searches(2, 700.0, fell_back=True)
    rig.searches(1, failed=True)
    state = rig.switch.state()
    assert (state.queries, state.p95_ms) == (19, 700.0)
    assert (state.error_rate, state.fallback_rate) == (1 / 19, 2 / 19)
    assert (state.phase, state.wanted, state.reason, state.next_try_seconds) == (3, 3, "", None)
    rig.slow()
    state = rig.switch.state()
    assert (state.phase, state.wanted, state.next_try_seconds) == (2, 3, RECOVERY)
    assert (state.reason, state.since) == (rig.changes[-1].reason, rig.changes[-1].at)


def test_a_lower_phase_is_a_warning_and_a_higher_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "from phase 3 to 2" in caplog.records[0].getMessage()


def test_a_listener_may_read_the_state() -> None:
    phases = []
    switch = KillSwitch(RetrievalSettings, on_change=lambda _: phases.append(switch.state().phase))
    for _ in range(ENOUGH):
        switch.record(SLOW, failed=False, fell_back=False, phase=3)
    assert phases == [2]


def test_threads_lose_no_search() -> None:
    rig = Rig(automatic=False)
    threads = [threading.Thread(target=rig.searches, args=(200, FAST)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rig.switch.state().queries == 1_600


def test_of_very_many_searches_the_latest_count() -> None:
    rig = Rig(automatic=False)
    for count, ms in ((2_000, SLOW), (1_901, FAST)):
        for _ in range(count):
            rig.switch.record(ms, failed=False, fell_back=False, phase=3)
    state = rig.switch.state()
    assert (state.queries, state.p95_ms) == (2_000, FAST)


# --- properties ----------------------------------------------------------------------------------------

DURATIONS = st.sampled_from([FAST, 399.0, 450.0, SLOW])
STEPS = st.lists(
    st.one_of(st.tuples(st.integers(1, 30), DURATIONS, st.booleans(), st.booleans()), st.floats(0.1, 700.0)),
    max_size=40,
)


@given(STEPS, st.integers(0, 3), st.sampled_from([1, 5, 20]))
def test_the_phase_stays_in_bounds_and_moves_by_one_or_to_off(
    steps: Sequence[tuple[int, float, bool, bool] | float], wanted: int, min_queries: int
) -> None:
    rig = Rig(phase=wanted, min_queries=min_queries)
    before = rig.switch.phase()
    for step in steps:
        if isinstance(step, float):
            rig.after(step)
        else:
            count, ms, failed, fell_back = step
            rig.searches(count, ms, failed=failed, fell_back=fell_back)
        for change in rig.changes:
            assert change.before == before
            assert abs(change.after - change.before) == 1 or change.after == 0
            assert 0 <= change.after <= wanted
            assert (change.next_try_seconds is None) == (change.after == wanted)
            before = change.after
        rig.changes.clear()
        assert rig.switch.phase() == before


def p95(durations: Sequence[float]) -> float:
    return sorted(durations)[math.ceil(95 * len(durations) / 100) - 1]


@given(st.lists(st.tuples(st.floats(0.0, 60.0), st.floats(0.0, 2_000.0), st.booleans()), max_size=80))
def test_the_figures_are_those_of_the_window(searches: Sequence[tuple[float, float, bool]]) -> None:
    rig = Rig(automatic=False)
    every: list[tuple[float, float, bool]] = []
    for pause, ms, failed in searches:
        rig.now += pause
        rig.switch.record(ms, failed=failed, fell_back=False, phase=3)
        every.append((rig.now, ms, failed))
        recent = [entry for entry in every if entry[0] > rig.now - WINDOW]
        answered = [ms for _, ms, failed in recent if not failed]
        state = rig.switch.state()
        assert state.queries == len(recent)
        assert state.p95_ms == (p95(answered) if answered else None)
        assert state.error_rate == pytest.approx(sum(failed for *_, failed in recent) / len(recent))
