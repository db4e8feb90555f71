"""Where the rectangles of a treemap lie: groups, and in each its leaves, with areas as their sizes are.

The layout is that of Bruls, Huizing and van Wijk ("Squarified Treemaps", 2000), by the library squarify.
"""

from __future__ import annotations

from collections.abc import Sequence

import squarify
from attrs import evolve, frozen

_GAP = 2.0
"""Around a group."""
_HEAD = 17.0
"""The line with a group's name."""
_FOR_HEAD = 42.0
"""A group has a line with its name from this height on…"""
_NARROWEST_HEAD = 56.0
"""…and from this width on."""
_CHARACTER = 7.0
"""Width of a character of a label, on average: 12 pixels of a font without serifs, or 11 in bold."""
_LABEL_HEIGHT = 16.0
_FEWEST_CHARACTERS = 3
_SMALLEST = 0.0008
"""Of the whole area: a smaller group could neither be seen nor touched."""
_MOST_GROUPS = 48


Place = tuple[float, float, float, float]
"""Left, top, width and height."""


@frozen
class Leaf:
    """A part of a group."""

    name: str
    size: int
    colour: str
    """The class of its rectangle."""
    title: str
    address: str


@frozen
class Group:
    """What has leaves."""

    name: str
    title: str
    address: str
    leaves: tuple[Leaf, ...]

    @property
    def size(self) -> int:
        return sum(leaf.size for leaf in self.leaves)


@frozen
class Box:
    """A rectangle. Numbers are rounded to a tenth of a pixel."""

    x: float
    y: float
    width: float
    height: float
    label: str
    """What is written in it: the name, as far as there is room; "" without."""
    title: str
    address: str
    colour: str = ""


@frozen
class GroupBox:
    """A group's rectangle with those of its leaves."""

    box: Box
    leaves: tuple[Box, ...]


@frozen
class Treemap:
    """All of it."""

    width: int
    height: int
    groups: tuple[GroupBox, ...]
    left_out: int
    """Groups that are too small to be seen."""


def treemap(groups: Sequence[Group], width: int, height: int) -> Treemap:
    """The layout of the groups, the largest first, within so many pixels. Those too small to be seen are counted alone."""
    ordered = sorted((group for group in groups if group.size), key=lambda group: (-group.size, group.name))
    total = sum(group.size for group in ordered)
    shown = [group for group in ordered[:_MOST_GROUPS] if group.size >= _SMALLEST * total]
    places = _places([group.size for group in shown], 0, 0, width, height)
    boxes = [_group_box(group, place) for group, place in zip(shown, places, strict=True)]
    return Treemap(width, height, tuple(boxes), len(ordered) - len(shown))


def _group_box(group: Group, place: Place) -> GroupBox:
    x, y, width, height = *place[:2], max(0.0, place[2] - _GAP), max(0.0, place[3] - _GAP)
    box = _box((x, y, width, height), group.title, group.address)
    # What is smaller than a pixel could not be seen, and its sides would be zero.
    seen = [leaf for leaf in group.leaves if leaf.size * width * height >= group.size]
    if len(seen) == 1:  # whose name would say less than that of the group
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
    """Where rectangles of these sizes lie, which fall from one to the next."""
    if not sizes or width <= 0 or height <= 0:
        return [(x, y, 0.0, 0.0)] * len(sizes)
    found = squarify.squarify(squarify.normalize_sizes(sizes, width, height), x, y, width, height)
    return [(each["x"], each["y"], each["dx"], each["dy"]) for each in found]


def _box(place: Place, title: str, address: str, label: str = "", colour: str = "") -> Box:
    x, y, width, height = (round(number, 1) for number in place)
    return Box(x, y, width, height, label, title, address, colour)


def _fitting(name: str, width: float, height: float) -> str:
    """The name as far as there is room for it in one line; "" where there is none."""
    room = int((width - 8) / _CHARACTER)
    if height < _LABEL_HEIGHT or room < min(_FEWEST_CHARACTERS, len(name)):
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"
