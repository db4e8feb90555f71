"""Lines are split as editors split them, and long runs are cut in good places."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.chunking.lines import Lines

_LINE = st.sampled_from(
    ["\n", "\r\n", "   \n", "}\n", "  x = 1\n", "a long line of words\n", "\tdeep\r", "y"]
)


def test_lines_end_as_in_lsp_and_nowhere_else() -> None:
    lines = Lines("a\rb\r\nc\n\x0bd\x0ce\u2028f\x85g")
    assert list(lines.lines) == ["a\r", "b\r\n", "c\n", "\x0bd\x0ce\u2028f\x85g"]


@settings(max_examples=200)
@given(st.lists(_LINE, max_size=80).map("".join), st.integers(5, 120))
def test_pieces_are_short_and_never_blank(text: str, maximum: int) -> None:
    lines = Lines(text)
    cuts = lines.cuts(0, len(lines), maximum)
    assert cuts == sorted(set(cuts))
    edges = [0, *cuts, len(lines)]
    for start, end in pairwise(edges):
        piece = lines.text(start, end)
        assert not cuts or piece.strip()
        assert len(piece.strip()) <= maximum or len(Lines(piece.strip())) == 1


def test_cuts_prefer_blank_lines() -> None:
    paragraph = "word word word\n" * 4
    lines = Lines(f"{paragraph}\n{paragraph}\n{paragraph}")
    (cut,) = lines.cuts(0, len(lines), len(paragraph) * 2 + 10)
    assert not lines[cut - 1].strip()


def test_no_piece_begins_with_a_closing_bracket() -> None:
    block = "f({\n    a: 1,\n    b: 2,\n})\n"
    lines = Lines(block * 8)
    for cut in lines.cuts(0, len(lines), 70):
        assert lines[cut].startswith("f(")
