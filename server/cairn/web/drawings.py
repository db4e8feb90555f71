"""The layout of the drawings on the page about the index: a treemap, and a plot of durations over time.

A treemap has rectangles of groups and of their leaves, with areas proportional to their sizes. The library
squarify implements the layout of Bruls, Huizing and van Wijk ("Squarified Treemaps", 2000).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence

import squarify
from attrs import evolve, frozen

from cairn.operations.kill_switch import PhaseChange
from cairn.operations.query_log import QueryLine
from cairn.operations.recent_queries import Timings
from cairn.text.counts import took

_GAP = 2.0
_HEAD = 17.0
_FOR_HEAD, _NARROWEST_HEAD = 42.0, 56.0
"""The smallest height and width of a group with such a line."""
_CHARACTER = 7.0
"""The average width of a character in a label, in a sans-serif font of 12 pixels, or 11 pixels in bold."""
_LABEL_HEIGHT = 16.0
_FEWEST_CHARACTERS = 3
_SMALLEST = 0.0008
"""The smallest visible share of the whole area that a group can have."""
_MOST_GROUPS = 48


Place = tuple[float, float, float, float]
"""A rectangle as left, top, width and height."""


@frozen
class Leaf:
    name: str
    size: int
    colour: str
    title: str
    address: str


@frozen
class Group:
    name: str
    title: str
    address: str
    leaves: tuple[Leaf, ...]

    @property
    def size(self) -> int:
        return sum(leaf.size for leaf in self.leaves)


@frozen
class Box:
    """A rectangle, rounded to a tenth of a pixel."""

    x: float
    y: float
    width: float
    height: float
    label: str
    """The name, shortened to fit into the box; "" if there is no room."""
    title: str
    address: str
    colour: str = ""


@frozen
class GroupBox:
    box: Box
    leaves: tuple[Box, ...]


@frozen
class Treemap:
    width: int
    height: int
    groups: tuple[GroupBox, ...]
    left_out: int
    """The number of groups that are too small to be visible."""


def treemap(groups: Sequence[Group], width: int, height: int) -> Treemap:
    """Return the layout of the groups, the largest first, within this size in pixels."""
    ordered = sorted((group for group in groups if group.size), key=lambda group: (-group.size, group.name))
    total = sum(group.size for group in ordered)
    shown = [group for group in ordered[:_MOST_GROUPS] if group.size >= _SMALLEST * total]
    places = _places([group.size for group in shown], 0, 0, width, height)
    boxes = [_group_box(group, place) for group, place in zip(shown, places, strict=True)]
    return Treemap(width, height, tuple(boxes), len(ordered) - len(shown))


def _group_box(group: Group, place: Place) -> GroupBox:
    x, y, width, height = *place[:2], max(0.0, place[2] - _GAP), max(0.0, place[3] - _GAP)
    box = _box((x, y, width, height), group.title, group.address)
    # A leaf of less than a pixel is invisible, and its sides would be zero.
    seen = [leaf for leaf in group.leaves if leaf.size * width * height >= group.size]
    if len(seen) == 1:  # The group's name is more informative than the leaf's.
        (leaf,) = seen
        label = _fitting(group.name, width, height)
        return GroupBox(box, (_box((x, y, width, height), leaf.title, leaf.address, label, leaf.colour),))
    head = _HEAD if height >= _FOR_HEAD and width >= _NARROWEST_HEAD else 0.0
    leaves = sorted(seen, key=lambda leaf: (-leaf.size, leaf.name))
    places = _places([leaf.size for leaf in leaves], x, y + head, width, height - head)
    return GroupBox(
        evolve(box, label=_fitting(group.name, width, head)),
        tuple(
            _box(inside, leaf.title, leaf.address, _fitting(leaf.name, inside[2], inside[3]), leaf.colour)
            for leaf, inside in zip(leaves, places, strict=True)
        ),
    )


def _places(sizes: Sequence[int], x: float, y: float, width: float, height: float) -> list[Place]:
    """Return the places of rectangles, given their sizes in descending order."""
    if not sizes or width <= 0 or height <= 0:
        return [(x, y, 0.0, 0.0)] * len(sizes)
    found = squarify.squarify(squarify.normalize_sizes(sizes, width, height), x, y, width, height)
    return [(each["x"], each["y"], each["dx"], each["dy"]) for each in found]


def _box(place: Place, title: str, address: str, label: str = "", colour: str = "") -> Box:
    x, y, width, height = (round(number, 1) for number in place)
    return Box(x, y, width, height, label, title, address, colour)


def _fitting(name: str, width: float, height: float) -> str:
    """Return the name, shortened to one line of this width; "" if there is no room."""
    room = int((width - 8) / _CHARACTER)
    if height < _LABEL_HEIGHT or room < min(_FEWEST_CHARACTERS, len(name)):
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"


# --- the plot of durations ---------------------------------------------------------------------------


_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 18, 22
"""The margins around the plot in pixels, where the labels of the axes are."""
_TITLED = 12
_TICK_PIXELS = 110
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


def latency_plot(timings: Timings, width: int, height: int) -> Plot | None:
    """Return the plot of the queries; None if there are none. The scale of the durations is logarithmic."""
    questions = timings.questions
    if not questions:
        return None
    left, right, top, bottom = _LEFT, width - _RIGHT, _TOP, height - _BOTTOM
    first, last = questions[0].moment, questions[-1].moment
    wide = (right - left) / max(1.0, (last - first).total_seconds())
    lowest = max(0.01, min(each.ms for each in questions))
    highest = max(lowest * 1.01, *(each.ms for each in questions))
    low, high = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    tall = (bottom - top) / max(1, high - low)

    def x_of(at: datetime.datetime) -> float:
        return round(left + (at - first).total_seconds() * wide, 1)

    def y_of(ms: float) -> float:
        return round(bottom - (math.log10(max(ms, 10**low)) - low) * tall, 1)

    placed = [(each, x_of(each.moment), y_of(each.ms)) for each in questions]
    slowest = sorted(placed, key=lambda each: -each[0].ms)[:_TITLED]
    failed = [each for each in placed if each[0].failed][-_TITLED:]
    titled = {id(each[0]): each for each in (*slowest, *failed)}
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
        steps=tuple(_step_lines(timings.steps, first, x_of, right)),
        down=tuple(Tick(y_of(10.0**power), took(10.0**power)) for power in range(low, high + 1)),
        across=tuple(_time_ticks(first, last, x_of, (right - left) // _TICK_PIXELS)),
        p95=None if p95 is None else y_of(p95),
    )  # fmt: skip


def _step_lines(
    steps: Sequence[PhaseChange],
    first: datetime.datetime,
    x_of: Callable[[datetime.datetime], float],
    right: int,
) -> Iterator[StepLine]:
    """Yield the phase changes since the first query; labels that would overlap are left out."""
    free = -math.inf
    for number, step in enumerate(steps, 1):
        if step.moment < first:
            continue
        x = min(float(right), x_of(step.moment))
        label = str(number) if x >= free else ""
        free = x + _NUMBER_PIXELS if label else free
        title = f"{step.moment:%Y-%m-%d %H:%M:%S}: from phase {step.before} to {step.after}. {step.reason}"
        yield StepLine(x, label, title, step.after < step.before)


def title_of(each: QueryLine) -> str:
    how = " failed" if each.failed else ", from the cache" if each.cached else ""
    return f"{each.moment:%Y-%m-%d %H:%M:%S}: {each.method}{how}, {each.ms:,.1f} ms, phase {each.phase}"


def _time_ticks(
    first: datetime.datetime, last: datetime.datetime, x_of: Callable[[datetime.datetime], float], most: int
) -> list[Tick]:
    """Return ticks at round times, about `most` of them, or those of the first and the last query."""
    span = (last - first).total_seconds()
    least = span / max(2, most)
    largest = _STEPS[-1] * math.ceil(least / _STEPS[-1])
    size = next((size for size in _STEPS if size >= least), largest)
    begin = math.ceil(first.timestamp() / size) * size
    moments = [
        datetime.datetime.fromtimestamp(at, datetime.UTC)
        for at in range(begin, int(last.timestamp()) + 1, size)
    ]
    if len(moments) < 2:
        moments = [first, last] if span else [first]
    shape = "%d %b" if size >= _DAY else "%H:%M:%S" if size < 60 else "%d %b %H:%M"
    return [Tick(x_of(each), f"{each:{shape}}") for each in moments]
