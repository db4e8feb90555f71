"""The layout of a treemap: rectangles of groups and of their leaves, with areas proportional to their sizes.

The library squarify implements the layout of Bruls, Huizing and van Wijk ("Squarified Treemaps", 2000).
"""

from __future__ import annotations

from collections.abc import Sequence

import squarify
from attrs import evolve, frozen

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
