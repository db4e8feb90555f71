"""Retrieval steps down when it is slow or fails, comes back when well, and obeys a phase set by hand."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
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
    """A switch with S2's defaults, whose clock, settings and phase by hand are set from outside."""

    def __init__(self, phase: int = 3, **switch: Any) -> None:
        self.now = 1_000.0
        self.settings = RetrievalSettings(phase=phase, kill_switch=KillSwitchSettings(**switch))
        self.by_hand: int | None = None
        self.changes: list[PhaseChange] = []
        self.others = 0.0
        self.switch = KillSwitch(
            lambda: self.settings,
            lambda: self.now,
            self.changes.append,
            lambda: self.by_hand,
            others=lambda seconds: self.others if seconds == WINDOW else 0.0,
        )

    def searches(self, count: int, ms: float = FAST, *, failed: bool = False, fell_back: bool = False) -> int:
        """So many searches at this moment; the phase after them."""
        for _ in range(count):
            self.switch.record(ms, failed=failed, fell_back=fell_back, phase=self.switch.phase())
        return self.switch.phase()

    def after(self, seconds: float) -> int:
        """The phase so much later."""
        self.now += seconds
        return self.switch.phase()

    def slow(self) -> int:
        return self.searches(ENOUGH, SLOW)


def test_how_long_searches_take_while_files_are_taken_in_decides_nothing() -> None:
    rig = Rig()
    for _ in range(2 * ENOUGH):
        rig.switch.record(SLOW, failed=False, fell_back=False, phase=3, while_indexing=True)
    state = rig.switch.state()
    assert (state.phase, state.queries, state.p95_ms) == (3, 2 * ENOUGH, None)
    assert rig.slow() == 2
    for _ in range(ENOUGH):
        rig.switch.record(FAST, failed=False, fell_back=True, phase=2, while_indexing=True)
    assert rig.switch.phase() == 1  # faults count whenever they happen


def test_a_machine_that_others_keep_busy_is_no_reason_to_answer_less() -> None:
    rig = Rig()
    rig.others = 0.5
    assert rig.slow() == 3
    assert "while other programs take 50 %" in rig.switch.state().reason
    assert rig.after(WINDOW + 1) == 3
    assert rig.searches(ENOUGH, FAST) == 3
    assert rig.switch.state().reason == ""
    rig.others = 0.2
    assert rig.slow() == 2
    assert "other programs" not in rig.switch.state().reason


def test_failures_count_on_a_busy_machine_too() -> None:
    rig = Rig()
    rig.others = 1.0
    assert rig.searches(ENOUGH, failed=True) == 0


def test_it_starts_in_the_phase_that_the_settings_ask_for_and_stays_there_while_all_is_well() -> None:
    rig = Rig()
    assert rig.searches(1_000, FAST) == 3
    assert rig.after(WINDOW * 3) == 3
    assert rig.changes == []
    assert Rig(phase=2).switch.phase() == 2
    assert Rig(phase=9).switch.phase() == 3


# S2's table of triggers, row by row.


def test_a_slow_percentile_drops_one_phase_and_no_more_before_the_window_holds_enough_again() -> None:
    rig = Rig()
    assert rig.searches(ENOUGH - 1, SLOW) == 3
    assert rig.searches(1, SLOW) == 2
    assert rig.searches(ENOUGH - 1, SLOW) == 2
    assert rig.searches(1, SLOW) == 1
    (first, second) = rig.changes
    assert (first.before, first.after, second.before, second.after) == (3, 2, 2, 1)
    assert first.next_try_seconds == RECOVERY
    assert "900 ms, above 500 ms" in first.reason
    assert "20 searches" in first.reason


def test_what_is_still_slow_in_the_last_phase_for_a_whole_window_is_switched_off() -> None:
    rig = Rig()
    assert [rig.slow(), rig.slow(), rig.slow()] == [2, 1, 1]
    rig.after(WINDOW - 1)
    assert rig.slow() == 1
    rig.after(1)
    assert rig.searches(1, SLOW) == 0
    assert rig.changes[-1].next_try_seconds == RECOVERY


@pytest.mark.parametrize(
    ("failed", "of", "phase"), [(1, 20, 3), (2, 20, 0), (5, 100, 3), (6, 100, 0), (19, 19, 3), (20, 20, 0)]
)
def test_more_than_five_in_a_hundred_that_fail_switch_retrieval_off(failed: int, of: int, phase: int) -> None:
    rig = Rig()
    rig.searches(of - failed)
    assert rig.searches(failed, failed=True) == phase


def test_searches_that_fail_slowly_count_as_failed_and_not_as_slow() -> None:
    rig = Rig(error_rate=1.0)
    assert rig.searches(100, 30_000.0, failed=True) == 3
    assert rig.switch.state().p95_ms is None


def test_a_phase_set_by_hand_counts_at_once_whatever_was_measured() -> None:
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
    assert [change.after for change in rig.changes] == [0, 3, 1, 3]
    assert [change.next_try_seconds for change in rig.changes] == [None] * 4


def test_a_phase_set_by_hand_undoes_a_drop_and_its_waits() -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    rig.slow()
    assert rig.switch.state().next_try_seconds == 2 * RECOVERY
    rig.by_hand = 3
    state = rig.switch.state()
    assert (state.phase, state.next_try_seconds) == (3, None)
    assert rig.slow() == 3
    rig.by_hand = None
    assert rig.switch.phase() == 3
    rig.slow()
    assert rig.switch.state().next_try_seconds == RECOVERY


def test_taking_back_a_phase_set_by_hand_tries_the_wanted_one_with_a_new_window() -> None:
    rig = Rig()
    rig.by_hand = 1
    rig.searches(ENOUGH - 1, SLOW)
    rig.by_hand = None
    assert rig.searches(1, SLOW) == 3


def test_searches_that_a_lower_phase_answered_drop_their_own_and_never_the_last() -> None:
    rig = Rig()
    assert rig.searches(ENOUGH, fell_back=True) == 2
    assert rig.searches(ENOUGH, fell_back=True) == 1
    assert rig.searches(1_000, fell_back=True) == 1
    assert "answered by less than phase 3" in rig.changes[0].reason


def test_what_was_slow_at_first_alone_decides_nothing() -> None:
    rig = Rig()
    rig.searches(ENOUGH // 2, SLOW)
    assert rig.searches(ENOUGH, FAST) == 3
    assert rig.switch.state().p95_ms == SLOW
    assert rig.searches(1, SLOW) == 3, "of the later half, one: that may be the question"
    assert rig.searches(1, SLOW) == 2, "two: it is slow still"


# The window.


def test_the_percentile_is_that_of_95_in_100() -> None:
    rig = Rig()
    rig.searches(95, FAST)
    assert rig.searches(5, SLOW) == 3
    assert rig.searches(1, SLOW) == 2


def test_exactly_the_limit_is_not_above_it() -> None:
    assert Rig().searches(100, 500.0) == 3
    assert Rig().searches(ENOUGH, 500.001) == 2


def test_searches_older_than_the_window_count_no_more() -> None:
    rig = Rig()
    rig.searches(ENOUGH - 1, SLOW)
    rig.after(WINDOW)
    assert rig.switch.state().queries == 0
    assert rig.searches(ENOUGH - 1, SLOW) == 3
    rig.after(WINDOW - 1)
    assert rig.searches(1, SLOW) == 2


def test_a_search_that_began_in_another_phase_says_nothing_about_this_one() -> None:
    rig = Rig()
    rig.slow()
    for _ in range(ENOUGH):
        rig.switch.record(SLOW, failed=False, fell_back=False, phase=3)
    assert rig.switch.phase() == 2
    assert rig.switch.state().queries == 0


# Coming back.


def test_after_the_wait_the_next_phase_is_tried_and_then_the_next() -> None:
    rig = Rig()
    rig.slow()
    rig.slow()
    assert rig.after(RECOVERY - 1) == 1
    assert rig.searches(ENOUGH) == 1
    assert rig.after(1) == 2
    assert rig.searches(ENOUGH) == 2
    assert rig.after(RECOVERY) == 3
    assert [change.next_try_seconds for change in rig.changes[-2:]] == [RECOVERY, None]
    assert rig.after(RECOVERY * 10) == 3


def test_without_any_searches_only_a_try_can_tell() -> None:
    rig = Rig()
    rig.slow()
    assert rig.after(RECOVERY) == 3


@pytest.mark.parametrize("ms", [400.0, 499.0])
def test_searches_that_are_nearly_slow_keep_the_phase_down(ms: float) -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY - 1)
    rig.searches(1, ms)
    assert rig.after(1) == 2
    assert rig.switch.state().next_try_seconds == 0
    assert rig.after(WINDOW) == 3, "the slow search has left the window"


def test_a_single_failure_keeps_the_phase_down_until_it_leaves_the_window() -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY - 1)
    rig.searches(50)
    rig.searches(1, failed=True)
    assert rig.after(1) == 2
    assert rig.after(WINDOW) == 3


def test_from_off_it_comes_back_to_the_first_phase_and_then_up() -> None:
    rig = Rig()
    rig.searches(ENOUGH, failed=True)
    assert rig.after(RECOVERY - 1) == 0
    assert [rig.after(1), rig.after(RECOVERY), rig.after(RECOVERY)] == [1, 2, 3]


def test_each_failed_try_doubles_the_wait_up_to_sixteen_times() -> None:
    rig = Rig()
    rig.slow()
    waits = []
    for _ in range(6):
        waited = rig.switch.state().next_try_seconds
        assert waited is not None
        assert rig.after(waited - 1) == 2
        assert rig.after(1) == 3
        rig.now += 1
        assert rig.slow() == 2
        waits.append(waited / RECOVERY)
    assert waits == [1, 2, 4, 8, 16, 16]


def test_a_phase_that_holds_for_a_window_makes_the_next_wait_short_again() -> None:
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    rig.slow()
    assert rig.switch.state().next_try_seconds == 2 * RECOVERY
    assert rig.after(2 * RECOVERY) == 3
    rig.after(WINDOW)
    assert rig.slow() == 2
    assert rig.switch.state().next_try_seconds == RECOVERY


# What people decide.


def test_where_it_is_not_automatic_it_counts_and_changes_nothing() -> None:
    rig = Rig(automatic=False)
    assert rig.slow() == 3
    assert rig.searches(ENOUGH, failed=True) == 3
    state = rig.switch.state()
    assert (state.queries, state.error_rate, state.automatic) == (2 * ENOUGH, 0.5, False)
    assert rig.changes == []


def test_switching_the_automatic_off_gives_back_what_it_took() -> None:
    rig = Rig()
    rig.slow()
    rig.settings = evolve(rig.settings, kill_switch=KillSwitchSettings(automatic=False))
    assert rig.switch.phase() == 3
    assert rig.switch.state().next_try_seconds is None


def test_settings_that_change_are_followed_at_once() -> None:
    rig = Rig()
    rig.settings = evolve(rig.settings, phase=1)
    assert rig.switch.phase() == 1
    rig.settings = evolve(rig.settings, phase=2)
    assert rig.switch.phase() == 2
    rig.settings = evolve(rig.settings, enabled=False)
    assert rig.switch.phase() == 0
    assert rig.after(RECOVERY * 2) == 0
    rig.settings = evolve(rig.settings, enabled=True)
    assert rig.switch.phase() == 2
    assert [change.next_try_seconds for change in rig.changes] == [None] * 4


def test_a_higher_phase_in_the_settings_does_not_undo_a_drop() -> None:
    rig = Rig(phase=2)
    rig.slow()
    rig.settings = evolve(rig.settings, phase=3)
    assert rig.switch.phase() == 1
    assert rig.after(RECOVERY) == 2


def test_limits_that_change_are_those_of_the_next_decision() -> None:
    rig = Rig()
    rig.searches(ENOUGH, 300.0)
    rig.settings = evolve(rig.settings, kill_switch=KillSwitchSettings(p95_ms=200.0))
    assert rig.switch.phase() == 3
    assert rig.searches(1, 300.0) == 2


def test_by_hand_beats_the_phase_of_the_settings_but_switches_nothing_on() -> None:
    rig = Rig(phase=1)
    rig.by_hand = 3
    assert rig.switch.phase() == 3
    rig.settings = evolve(rig.settings, enabled=False)
    assert rig.switch.phase() == 0


# What it tells.


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
    assert state.reason == rig.changes[-1].reason
    assert state.since == rig.changes[-1].at


def test_steps_down_are_warnings_and_steps_up_are_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig()
    rig.slow()
    rig.after(RECOVERY)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "from phase 3 to 2" in caplog.records[0].getMessage()


def test_whoever_is_told_of_a_change_may_ask_for_the_state() -> None:
    phases = []
    switch = KillSwitch(RetrievalSettings, on_change=lambda _: phases.append(switch.state().phase))
    for _ in range(ENOUGH):
        switch.record(SLOW, failed=False, fell_back=False, phase=3)
    assert phases == [2]


def test_threads_lose_no_search() -> None:
    rig = Rig(automatic=False)
    threads = [threading.Thread(target=rig.searches, args=(500, FAST)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rig.switch.state().queries == 4_000


def test_of_very_many_searches_the_latest_count() -> None:
    rig = Rig(automatic=False)
    rig.searches(10_000, SLOW)
    rig.searches(9_501, FAST)
    state = rig.switch.state()
    assert (state.queries, state.p95_ms) == (10_000, FAST)


# Anything that may happen.

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(1, 30), st.sampled_from([FAST, 399.0, 450.0, SLOW]), st.booleans(), st.booleans()
        ),
        st.floats(0.1, 700.0),
    ),
    max_size=40,
)


@given(STEPS, st.integers(0, 3), st.sampled_from([1, 5, 20]))
def test_whatever_happens_the_phase_stays_in_bounds_and_moves_by_single_steps_unless_to_off(
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


@given(st.lists(st.tuples(st.floats(0.0, 60.0), st.floats(0.0, 2_000.0), st.booleans()), max_size=80))
def test_the_figures_are_those_of_the_searches_in_the_window(
    searches: Sequence[tuple[float, float, bool]],
) -> None:
    rig = Rig(automatic=False)
    every: list[tuple[float, float, bool]] = []
    for pause, ms, failed in searches:
        rig.now += pause
        rig.switch.record(ms, failed=failed, fell_back=False, phase=3)
        every.append((rig.now, ms, failed))
        recent = [entry for entry in every if entry[0] > rig.now - WINDOW]
        answered = sorted(ms for _, ms, failed in recent if not failed)
        state = rig.switch.state()
        assert state.queries == len(recent)
        assert state.p95_ms == (answered[math.ceil(95 * len(answered) / 100) - 1] if answered else None)
        assert state.error_rate == pytest.approx(sum(failed for *_, failed in recent) / len(recent))


@given(
    st.lists(st.sampled_from([100.0, 399.9, 400.0, 500.0, 500.1, SLOW]), min_size=1, max_size=60), st.data()
)
def test_what_is_decided_is_what_the_percentile_says(durations: Sequence[float], data: st.DataObject) -> None:
    rig = Rig(min_queries=len(durations))
    for ms in durations:
        rig.searches(1, ms)
    later = sorted(durations[len(durations) // 2 :])
    is_slow = all(sorted(some)[math.ceil(95 * len(some) / 100) - 1] > 500 for some in (durations, later))
    is_slow = is_slow and later[max(0, len(later) - 2)] > 500
    assert rig.switch.phase() == (2 if is_slow else 3)
    if is_slow:
        calm = data.draw(st.lists(st.sampled_from([100.0, 399.9, 400.0]), min_size=1, max_size=60))
        rig.settings = evolve(rig.settings, kill_switch=KillSwitchSettings(min_queries=1_000))
        rig.now += RECOVERY - 1
        for ms in calm:
            rig.searches(1, ms)
        p95 = sorted(calm)[math.ceil(95 * len(calm) / 100) - 1]
        assert rig.after(1) == (3 if p95 < 400 else 2)


def test_no_phase_is_wanted_that_there_cannot_be() -> None:
    most = 2
    switch = KillSwitch(RetrievalSettings, most=lambda: most)
    assert (switch.phase(), switch.state().wanted) == (2, 2)
    most = 3  # a model was installed
    assert (switch.phase(), switch.state().wanted) == (3, 3)


def test_what_was_set_by_hand_before_the_start_is_no_change() -> None:
    changes: list[PhaseChange] = []
    switch = KillSwitch(RetrievalSettings, on_change=changes.append, override=lambda: 1)
    assert switch.phase() == 1
    assert (changes, switch.reason) == ([], "Phase 1 was set by hand.")
