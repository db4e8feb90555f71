"""The lines of a change: context around hunks, numbers on both sides, colours, and marks of what differs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from html import unescape

import hypothesis
import pytest
from hypothesis import strategies as st
from markupsafe import Markup

from cairn.protocol import ChangedFile, ChangedLines, FileStatus, whole_lines
from cairn.web.code_markup import with_code, with_marks
from cairn.web.diff_lines import DiffBlock, DiffLine, diff_blocks, size_of

BEFORE = [f"berth_{n} = {n}" for n in range(40)]
AFTER = [*BEFORE[:10], "berth_10 = 'taken'", *BEFORE[11:14], "pier = 1", *BEFORE[14:30], *BEFORE[32:]]


def changed(before: Sequence[str], after: Sequence[str], path: str = "berths.py") -> ChangedFile:
    """Return the file with the hunks that lead from one text to the other."""
    operations = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    hunks = [
        ChangedLines(whole_lines(b, c), whole_lines(d, e), tuple(before[b:c]), tuple(after[d:e]))
        for kind, b, c, d, e in operations
        if kind != "equal"
    ]
    return ChangedFile(path, f"file:///{path}", FileStatus.MODIFIED, None, tuple(hunks))


def text_of(line: DiffLine) -> str:
    return unescape(re.sub("<[^>]*>", "", line.markup))


def shown(block: DiffBlock) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.sign, line.before, line.after, text_of(line)) for line in block.lines]


@pytest.mark.parametrize("text", [AFTER, BEFORE], ids=["after", "before"])
def test_context_and_numbers_are_those_of_both_states(text: Sequence[str]) -> None:
    first, second = diff_blocks(changed(BEFORE, AFTER), text, 100, may_be_before=True)
    assert first.hunks == (0, 1)
    assert shown(first)[2:5] == [
        (" ", 10, 10, BEFORE[9]),
        ("−", 11, None, BEFORE[10]),
        ("+", None, 11, AFTER[10]),
    ]
    assert [line[0] for line in shown(first)] == [*"   −+   +   "]
    assert shown(first)[-1] == (" ", 17, 18, BEFORE[16])
    assert [line[:3] for line in shown(second)] == [
        (" ", 28, 29),
        (" ", 29, 30),
        (" ", 30, 31),
        ("−", 31, None),
        ("−", 32, None),
        (" ", 33, 32),
        (" ", 34, 33),
        (" ", 35, 34),
    ]


@pytest.mark.parametrize("text", [None, BEFORE[:12], ["another", "file"]])
def test_without_a_matching_text_there_is_no_context(text: Sequence[str] | None) -> None:
    blocks = list(diff_blocks(changed(BEFORE, AFTER), text, 100))
    assert [block.hunks for block in blocks] == [(0,), (1,), (2,)]
    assert shown(blocks[0]) == [("−", 11, None, BEFORE[10]), ("+", None, 11, AFTER[10])]
    assert all(line.sign != " " for block in blocks for line in block.lines)


def test_string_over_several_lines_has_its_colours() -> None:
    before = ['"""Berths.', "for ships", "and boats", "in ports", "and harbours", '"""', "import tides"]
    after = [*before[:4], "and for rafts", *before[5:]]
    (block,) = diff_blocks(changed(before, after), after, 100)
    assert block.lines[0].before == 2
    assert all(line.markup.startswith('<span class="sd">') for line in block.lines[:5])


def test_words_that_differ_in_a_line_are_marked() -> None:
    (block,) = diff_blocks(changed(["def moor(ship):"], ["def tie_up(ship, rope):"]), None, 100)
    marks = [re.findall("<mark>(.*?)</mark>", line.markup) for line in block.lines]
    assert marks == [["moor"], ["tie_up", ", rope"]]
    (block,) = diff_blocks(changed(["moor(ship)"], ["return tides"]), None, 100)
    assert not any("<mark>" in line.markup for line in block.lines)


def test_mark_stays_within_the_elements_of_a_line() -> None:
    line = Markup('<span class="k">if</span> a &lt; <span class="n">b</span>')
    assert with_marks(line, [(1, 7)]) == Markup(
        '<span class="k">i<mark>f</mark></span><mark> a &lt; </mark><span class="n">b</span>'
    )
    assert with_marks(line, []) == line


def test_names_in_backticks_are_code() -> None:
    assert with_code("calls `moor<T>` and `a`") == "calls <code>moor&lt;T&gt;</code> and <code>a</code>"
    assert with_code("a ` <b>") == "a ` &lt;b&gt;"


def test_lines_that_are_left_out_are_counted() -> None:
    after = [f"pier_{n} = {n}" for n in range(50)]
    (block,) = diff_blocks(changed([], after), after, 20)
    assert (len(block.lines), block.left_out) == (20, 30)
    file = changed(BEFORE, AFTER)
    bare = ChangedLines(file.hunks[2].before, file.hunks[2].after)
    large = ChangedFile(file.path, file.uri, file.status, None, (*file.hunks[:2], bare))
    blocks = list(diff_blocks(large, AFTER, 100))
    assert [block.left_out for block in blocks] == [0, 0, 2]
    assert size_of(large) == size_of(file) == (2, 3)


def test_very_long_line_is_cut() -> None:
    (block,) = diff_blocks(changed(["a = 1"], ["a = " + "1" * 100_000]), None, 100)
    assert len(block.lines[1].markup) < 3_000
    assert text_of(block.lines[1]).endswith("1…")


_LINES = st.lists(st.sampled_from(["", "a", "b <i>", "'''", "\rc", "x = 1", "}"]), max_size=12)


@hypothesis.given(_LINES, _LINES, st.sampled_from(["after", "before", "none"]))
@hypothesis.settings(deadline=None, max_examples=60)
def test_every_changed_line_is_shown_once_at_its_number(
    before: list[str], after: list[str], known: str
) -> None:
    file = changed(before, after)
    text = {"after": after, "before": before, "none": None}[known]
    blocks = diff_blocks(file, text, 1_000, may_be_before=known == "before")
    lines = [line for block in blocks for line in block.lines]
    for sign, texts, hunk_lines in (
        ("+", after, [(h.after, h.added) for h in file.hunks]),
        ("−", before, [(h.before, h.removed) for h in file.hunks]),
    ):
        expected = [
            (place.start.line + n + 1, line) for place, wanted in hunk_lines for n, line in enumerate(wanted)
        ]
        found = [
            (line.after if sign == "+" else line.before, text_of(line).replace("␍", "\r"))
            for line in lines
            if line.sign == sign
        ]
        assert found == expected
        for line in lines if known == "after" else ():
            number = line.after if texts is after else line.before
            assert number is None or text_of(line).replace("␍", "\r") == texts[number - 1]
