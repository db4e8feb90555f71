"""The layout of the latency plot."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.operations.kill_switch import PhaseChange
from cairn.operations.query_log import QueryLine
from cairn.operations.recent_queries import Timings
from cairn.web.drawings import Plot, latency_plot

BEGAN = datetime.datetime(2026, 3, 1, 10, tzinfo=datetime.UTC)


def timing(seconds: float, ms: float, *, cached: bool = False, failed: bool = False) -> QueryLine:
    at, error = (BEGAN + datetime.timedelta(seconds=seconds)).isoformat(), "ModelError" if failed else ""
    return QueryLine(at, 7, "search", ms, 3, 3, "", cached, error, "", keyword_match=False)


def plotted(*questions: QueryLine, steps: tuple[PhaseChange, ...] = ()) -> Plot:
    found = latency_plot(Timings(questions, steps), 1_000, 250)
    assert found is not None
    return found


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", path)]


def test_no_queries_make_no_plot() -> None:
    assert latency_plot(Timings(), 1_000, 250) is None


def test_answered_cached_and_failed_queries_have_own_shapes() -> None:
    plot = plotted(timing(0, 10), timing(1, 0.2, cached=True), timing(2, 30, failed=True), timing(3, 40))
    assert [len(places(each)) for each in (plot.answered, plot.cached, plot.failed)] == [2, 1, 1]


def test_slower_queries_are_higher_and_later_ones_further_right() -> None:
    plot = plotted(timing(0, 10), timing(10, 20), timing(100, 400))
    (first, second, third) = places(plot.answered)
    assert first[0] == plot.left
    assert third[0] == plot.right
    assert second[0] - first[0] == pytest.approx((third[0] - first[0]) / 10, abs=0.2)
    assert first[1] > second[1] > third[1] >= plot.top


@given(
    st.lists(
        st.tuples(st.floats(0, 1e7), st.floats(0, 1e6), st.booleans(), st.booleans()), min_size=1, max_size=40
    ),
)
def test_all_points_and_ticks_are_inside_the_plot(
    given: list[tuple[float, float, bool, bool]],
) -> None:
    queries = [timing(at, ms, cached=cached, failed=failed) for at, ms, cached, failed in sorted(given)]
    plot = plotted(*queries)
    for x, y in [*places(plot.answered), *places(plot.cached), *places(plot.failed)]:
        assert plot.left - 4 <= x <= plot.right + 4
        assert plot.top - 4 <= y <= plot.bottom + 4
    assert all(plot.left - 1 <= tick.at <= plot.right + 1 for tick in plot.across)
    assert all(plot.top - 1 <= tick.at <= plot.bottom + 1 for tick in plot.down)
    assert 2 <= len(plot.down) <= 14
    assert len(plot.across) <= 12


def test_phase_changes_are_lines_with_their_reasons() -> None:
    def step(seconds: float, before: int, after: int) -> PhaseChange:
        at = (BEGAN + datetime.timedelta(seconds=seconds)).isoformat()
        return PhaseChange(at, before, after, f"Reason {after}.", None, 7)

    plot = plotted(timing(0, 10), timing(100, 10), steps=(step(-50, 3, 1), step(50, 3, 2), step(51, 2, 3)))
    # There is no room for the label 3.
    assert [(each.is_down, each.label) for each in plot.steps] == [(True, "2"), (False, "")]
    assert plot.steps[0].x == pytest.approx((plot.left + plot.right) / 2, abs=0.2)
    assert "from phase 3 to 2. Reason 2." in plot.steps[0].title


def test_slowest_and_failed_queries_have_titles() -> None:
    usual = [timing(number, 10) for number in range(50)]
    plot = plotted(*usual, timing(51, 900), timing(52, 1, failed=True))
    titles = [each.title for each in plot.titled]
    assert "2026-03-01 10:00:51: search, 900.0 ms, phase 3" in titles
    assert any("search failed, 1.0 ms" in each for each in titles)
    assert len(titles) < 30
