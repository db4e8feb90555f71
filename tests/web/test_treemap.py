"""The layout of the treemap: areas are proportional to sizes, and rectangles do not overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.web.drawings import Box, Group, Leaf, treemap

WIDTH, HEIGHT = 1_000, 400


def group(name: str, *sizes: int) -> Group:
    leaves = tuple(Leaf(f"language {size}", size, "c1", "", "") for size in sizes)
    return Group(name, name, "", leaves)


def area(box: Box) -> float:
    return box.width * box.height


def overlap(left: Box, right: Box) -> float:
    wide = min(left.x + left.width, right.x + right.width) - max(left.x, right.x)
    high = min(left.y + left.height, right.y + right.height) - max(left.y, right.y)
    return max(0.0, wide) * max(0.0, high)


def test_areas_are_proportional_to_sizes() -> None:
    found = treemap([group("a", 300), group("b", 100)], WIDTH, HEIGHT)
    large, small = (area(each.box) for each in found.groups)
    assert large / small == pytest.approx(3, rel=0.05)
    assert large + small == pytest.approx(WIDTH * HEIGHT, rel=0.02)


@given(st.lists(st.lists(st.integers(0, 100_000), min_size=1, max_size=8), max_size=60))
def test_rectangles_are_inside_their_group_and_do_not_overlap(sizes: list[list[int]]) -> None:
    groups = [group(f"group {number}", *each) for number, each in enumerate(sizes)]
    found = treemap(groups, WIDTH, HEIGHT)
    assert len(found.groups) + found.left_out == sum(each.size > 0 for each in groups)
    boxes = [each.box for each in found.groups]
    for number, box in enumerate(boxes):
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= WIDTH + 0.2
        assert box.y + box.height <= HEIGHT + 0.2
        assert all(overlap(box, other) < 0.2 * WIDTH for other in boxes[number + 1 :])
    for each in found.groups:
        assert sum(map(area, each.leaves)) <= area(each.box) + 0.2 * WIDTH
        assert all(overlap(leaf, each.box) >= 0.98 * area(leaf) - 0.2 * WIDTH for leaf in each.leaves)


def test_invisible_groups_are_counted() -> None:
    found = treemap([group("large", 100_000), group("tiny", 1), group("empty", 0)], WIDTH, HEIGHT)
    assert [each.box.title for each in found.groups] == ["large"]
    assert found.left_out == 1


def test_labels_are_shortened_to_the_room() -> None:
    found = treemap([group("a very long name of a collection", 50, 50), group("b", 2, 2)], 300, 200)
    first = found.groups[0]
    assert first.box.label
    for leaf in first.leaves:
        assert not leaf.label or len(leaf.label) * 6 <= leaf.width
    assert all(leaf.label == "" for leaf in found.groups[1].leaves if leaf.width < 20)
