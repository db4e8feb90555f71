"""The layout of a plot of the durations of recent queries, with the changes of the retrieval phase."""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from cairn.operations.timings import PhaseStep, Timing, Timings

Along = Callable[[datetime.datetime, int], float]
"""Returns the x coordinate of a query, given its time and its number."""

LOG, LINEAR = "log", "linear"
TIME, ORDER = "time", "order"
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 18, 22
"""The margins around the plot in pixels, where the labels of the axes are."""
_TITLED = 12
_TICK_PIXELS = 110
_FEWEST_TICKS = 2
_NUMBER_PIXELS = 16
_DAY = 24 * 3_600
_STEPS = (1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, _DAY, 7 * _DAY, 30 * _DAY)
"""The possible intervals between ticks of the time axis, in seconds."""


@frozen
class Tick:
    at: float
    label: str


@frozen
class Point:
    x: float
    y: float
    title: str


@frozen
class StepLine:
    x: float
    label: str
    """The number of the change; "" if there is no room for it."""
    title: str
    is_down: bool


@frozen
class Plot:
    """The whole plot; all sizes are in pixels."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    """The edges of the area inside the margins are `left`, `right`, `top` and `bottom`."""
    answered: str
    cached: str
    failed: str
    titled: tuple[Point, ...]
    steps: tuple[StepLine, ...]
    down: tuple[Tick, ...]
    across: tuple[Tick, ...]
    p95: float | None


def latency_plot(
    timings: Timings, width: int, height: int, scale: str = LOG, axis: str = TIME
) -> Plot | None:
    """Return the plot of the queries; None if there are none. `axis` selects their time or their order."""
    questions = timings.questions
    if not questions:
        return None
    left, right, top, bottom = _LEFT, width - _RIGHT, _TOP, height - _BOTTOM
    x_of, across = _along(questions, axis, left, right)
    lowest = max(0.01, min(each.ms for each in questions))
    highest = max(lowest, *(each.ms for each in questions))
    y_of, down = (_logarithmic if scale == LOG else _linear)(lowest, highest, top, bottom)

    def place(each: Timing, number: int) -> tuple[float, float]:
        return round(x_of(each.at, number), 1), round(y_of(each.ms), 1)

    placed = [(each, *place(each, number)) for number, each in enumerate(questions)]
    slowest = sorted(placed, key=lambda each: -each[0].ms)[:_TITLED]
    failed = [each for each in placed if each[0].failed][-_TITLED:]
    titled = {id(each[0]): each for each in (*slowest, *failed)}
    moments = [each.at for each in questions]
    p95 = timings.percentile(0.95)
    return Plot(
        width, height, left, right, top, bottom,
        answered="".join(f"M{x} {y}h0" for each, x, y in placed if not (each.cached or each.failed)),
        cached="".join(
            f"M{x - 2.5:.1f} {y - 2.5:.1f}h5v5h-5z"
            for each, x, y in placed
            if each.cached and not each.failed
        ),
        failed="".join(f"M{x - 3:.1f} {y - 3:.1f}l6 6m0-6l-6 6" for each, x, y in placed if each.failed),
        titled=tuple(Point(x, y, title_of(each)) for each, x, y in titled.values()),
        steps=tuple(_step_lines(timings.steps, moments, x_of, right)),
        down=tuple(down),
        across=tuple(across),
        p95=None if p95 is None else round(y_of(max(p95, lowest)), 1),
    )  # fmt: skip


def _step_lines(
    steps: Sequence[PhaseStep], moments: Sequence[datetime.datetime], x_of: Along, right: int
) -> Iterator[StepLine]:
    """Yield the phase changes since the first query; labels that would overlap are left out."""
    free = -math.inf
    for number, step in enumerate(steps, 1):
        if step.at < moments[0]:
            continue
        x = round(min(float(right), x_of(step.at, bisect_left(moments, step.at))), 1)
        label = str(number) if x >= free else ""
        free = x + _NUMBER_PIXELS if label else free
        yield StepLine(x, label, step_title(step), step.after < step.before)


def title_of(each: Timing) -> str:
    how = " failed" if each.failed else ", from the cache" if each.cached else ""
    return f"{each.at:%Y-%m-%d %H:%M:%S}: {each.method}{how}, {each.ms:,.1f} ms, phase {each.phase}"


def step_title(step: PhaseStep) -> str:
    return f"{step.at:%Y-%m-%d %H:%M:%S}: from phase {step.before} to {step.after}. {step.reason}"


def _along(questions: Sequence[Timing], axis: str, left: int, right: int) -> tuple[Along, list[Tick]]:
    """Return the function that computes x coordinates, and the ticks of the time axis."""
    first, last = questions[0].at, questions[-1].at
    most = max(2, (right - left) // _TICK_PIXELS)
    span = (last - first).total_seconds()
    if axis == ORDER or span <= 0:
        step = (right - left) / max(1, len(questions) - 1)
        every = max(1, math.ceil(len(questions) / most))
        ticks = [
            Tick(round(left + number * step, 1), _moment(questions[number].at, span / most))
            for number in range(0, len(questions), every)
        ]
        return lambda _, number: left + number * step, ticks
    wide = (right - left) / span
    most_seconds = _STEPS[-1] * math.ceil(span / most / _STEPS[-1])
    size = next((size for size in _STEPS if size >= span / most), most_seconds)
    begin = math.ceil(first.timestamp() / size) * size
    ticks = [
        Tick(
            round(left + (at - first.timestamp()) * wide, 1),
            _moment(datetime.datetime.fromtimestamp(at, datetime.UTC), size),
        )
        for at in range(int(begin), int(last.timestamp()) + 1, int(size))
    ]
    if len(ticks) < _FEWEST_TICKS:
        ticks = [Tick(left, _moment(first, 0)), Tick(right, _moment(last, 0))]
    return lambda at, _: left + (at - first).total_seconds() * wide, ticks


def _moment(at: datetime.datetime, size: float) -> str:
    """Return the label of a tick; `size` is the interval of the ticks in seconds."""
    return f"{at:%d %b}" if size >= _DAY else f"{at:%H:%M:%S}" if size < 60 else f"{at:%d %b %H:%M}"


Down = tuple[Callable[[float], float], list[Tick]]


def _logarithmic(lowest: float, highest: float, top: int, bottom: int) -> Down:
    low, high = math.floor(math.log10(lowest)), math.ceil(math.log10(max(highest, lowest * 1.01)))
    tall = (bottom - top) / max(1, high - low)

    def y_of(ms: float) -> float:
        return bottom - (math.log10(max(ms, 10**low)) - low) * tall

    return y_of, [Tick(round(y_of(10.0**power), 1), _ms(10.0**power)) for power in range(low, high + 1)]


def _linear(_: float, highest: float, top: int, bottom: int) -> Down:
    size: float = 10.0 ** math.floor(math.log10(max(highest, 0.01)))
    step = next(size * part for part in (0.2, 0.5, 1, 2, 5) if highest / (size * part) <= 6)
    end = step * math.ceil(highest / step)

    def y_of(ms: float) -> float:
        return bottom - ms / end * (bottom - top)

    return y_of, [
        Tick(round(y_of(step * number), 1), _ms(step * number)) for number in range(round(end / step) + 1)
    ]


def _ms(ms: float) -> str:
    return f"{ms / 1_000:g} s" if ms >= 1_000 else f"{ms:g} ms"
