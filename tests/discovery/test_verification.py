"""Citations are checked against the current files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.discovery.discovery_builders import bullet

from cairn.discovery.excerpts import verified
from cairn.text.verbatim import stands_in

TEXT = "Cairn indexes a workspace."
OTHER = "Nothing of the kind is said here."


def checked(lines, text=TEXT, cited=(2, 3)):
    """Return the lines in the citation of a checked bullet, or None if it is gone."""
    kept = verified([bullet(text, lines=cited)], lambda uri: lines)
    return kept[0].lines if kept else None


@pytest.mark.parametrize(
    ("lines", "now"),
    [
        ([OTHER, "", TEXT, ""], (2, 3)),
        ([OTHER, "", f"# {TEXT} And more.", ""], (2, 3)),
        ([TEXT, OTHER, OTHER], (0, 1)),
        ([*[OTHER] * 7, TEXT], (7, 8)),
        ([TEXT], (0, 1)),
        ([OTHER, "", OTHER, ""], None),
        ([OTHER, "", "Cairn indexes", "a workspace."], None),
        ([OTHER, "", "Cairn indexes a workspace of yours.", ""], None),
        ([], None),
        (None, None),
    ],
    ids=[
        "as it was", "under a mark", "moved up", "moved down", "in a shorter file", "gone", "on two lines",
        "changed", "an empty file", "no file",
    ],
)  # fmt: skip
def test_bullet_cites_its_current_lines(lines, now):
    assert checked(lines) == now


@pytest.mark.parametrize(
    ("places", "nearest"),
    [((0, 7), 7), ((0, 9), 9), ((6, 9), 9), ((3, 12), 12), ((5, 12), 5), ((0, 1), 1), ((7, 9), 7)],
)
def test_nearest_place_is_cited_and_the_first_of_two(places, nearest):
    lines = [TEXT if place in places else OTHER for place in range(14)]
    assert checked(lines, cited=(8, 9)) == (nearest, nearest + 1)


def test_text_on_several_lines_moves_with_all_of_them():
    lines = ["def moor(ship):", "    # Later.", "    return ship"]
    text = "def moor(ship): Later. return ship"
    assert checked(["", "", *lines], text, (0, 3)) == (2, 5)
    assert checked(["", *lines[:2], "", "    return None"], text, (0, 3)) is None


def test_bullet_without_lines_needs_the_text_alone():
    assert verified([bullet(lines=None)], lambda _: [OTHER, TEXT])[0].lines is None
    assert verified([bullet(lines=None)], lambda _: [OTHER]) == []


def test_files_are_read_once_and_identified_by_uri():
    files = {"file:///a/x.md": [TEXT], "file:///b/x.md": [OTHER], "file:///a/y.md": None}
    read = []

    def lines_now(uri):
        read.append(uri)
        return files[uri]

    bullets = [bullet(uri=uri, lines=(0, 1), score=score) for score in (0.9, 0.5) for uri in files]
    kept = verified(bullets, lines_now)
    assert [(each.uri, each.score) for each in kept] == [("file:///a/x.md", 0.9), ("file:///a/x.md", 0.5)]
    assert read == list(files)


@given(
    st.lists(st.sampled_from([TEXT, OTHER, "", "- Cairn indexes", "a workspace."]), max_size=12),
    st.integers(0, 14),
    st.integers(1, 3),
)
def test_cited_lines_contain_the_text(lines, first, height):
    now = checked(lines, cited=(first, first + height))
    if now is None:
        # Nothing is lost: no lines of that height contain it.
        assert not any(stands_in(TEXT, lines[n : n + height]) for n in range(len(lines) - height + 1))
    else:
        assert stands_in(TEXT, lines[now[0] : now[1]])
        assert now == (first, first + height) or now[1] - now[0] == height
