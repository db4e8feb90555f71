"""The text of a result: its head, and which of its lines are shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cairn import protocol
from cairn.agents.place_text import Paths
from cairn.agents.result_text import ResultText, result_text, search_texts
from cairn.protocol import whole_lines
from tests.search_results import search_result

ALONE = Paths({"file:///harbour": "harbour"}, True)
BODY = "".join(f"    step_{number}()\n" for number in range(29))
LONG = {
    "snippet": f"def moor_ship():\n{BODY}",
    "range": whole_lines(11, 41),
    "best_lines": whole_lines(31, 34),
}


def result(**fields: Any) -> ResultText:
    options = {name: fields.pop(name) for name in ("by_name", "related", "best_score") if name in fields}
    return result_text(search_result(**fields), ALONE, **options)


def lines(text: str) -> list[str]:
    """Return the lines of a text below its head, each after its number, of which the text has each fifth."""
    found, number = list[str](), 0
    for line in text.split("\n")[1:]:
        if re.match(r"also|…", line):
            found.append(line)
        else:
            number = int(line[:4].strip() or number + 1)
            found.append(f"{number}:{line[5:]}")
    return [line for line in found if not line.startswith("also")]


def test_result_has_place_name_reasons_and_lines() -> None:
    assert result().written(5).split("\n") == [
        "src/berths.py:12-20  Berth.moor_ship (method) — defines it; has moor",
        "  12 def moor_ship(self):",
        "         pass",
    ]


def test_headings_replace_the_name_of_a_text() -> None:
    text = result(symbol="", header_path="Guide > Berths > Mooring", reasons=(), matched_terms=())
    assert text.head == "src/berths.py:12-20  Berths > Mooring"


LEAVE = protocol.FilePassage(whole_lines(39, 41), "def leave():\n    go()\n", "leave", "Berth > leave", 0.6)
FREE = protocol.FilePassage(whole_lines(59, 60), "free = True\n", "", "", 0.5)


def test_further_passages_without_room_are_named_on_one_line() -> None:
    assert result(passages=(LEAVE, FREE)).written(5).split("\n")[-1] == "also 40-41 Berth.leave, 60"


def test_further_passages_with_room_have_lines() -> None:
    assert result(passages=(LEAVE, FREE)).written(5, 1).split("\n")[-4:] == [
        "also 40-41 Berth.leave",
        "  40 def leave():",
        "also 60",
        "  60 free = True",
    ]


def test_results_in_several_folders_begin_with_the_folders_name() -> None:
    assert ALONE.shown("cairn-team:///port/pilots", "guide.py") == "port/pilots/guide.py"
    paths = Paths({"file:///harbour": "harbour", "file:///tide": "tide"}, False)
    assert result_text(search_result(), paths).head.startswith("harbour/src/berths.py:12-20 ")


def test_long_result_shows_its_head_and_best_lines() -> None:
    assert lines(result(**LONG).written(4)) == [
        "12:def moor_ship():",
        "…",
        "32:    step_19()",
        "33:    step_20()",
        "34:    step_21()",
    ]


INSIDE = {
    "snippet": BODY,
    "range": whole_lines(41, 70),
    "selection_range": whole_lines(11, 12),
    "best_lines": whole_lines(41, 44),
    "head": "def moor_ship():",
}


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (1, ["12:def moor_ship():"]),
        (3, ["12:def moor_ship():", "…", "42:    step_0()", "43:    step_1()"]),
    ],
)
def test_lines_inside_a_function_are_below_its_head(most: int, shown: list[str]) -> None:
    assert lines(result(**INSIDE).written(most)) == shown


def test_nothing_is_left_out_between_a_head_and_the_next_line() -> None:
    text = result(**{**INSIDE, "selection_range": whole_lines(40, 41)}).written(2)
    assert lines(text) == ["41:def moor_ship():", "42:    step_0()"]


def test_only_copies_are_called_the_same_text() -> None:
    rows = (search_result(), search_result(snippet="    pass\n"), search_result(path="copy/berths.py"))
    verdict, query = protocol.Verdict("answer", "", (), 1.0, ()), protocol.QueryInfo("q", (), "name", 0.5)
    texts = search_texts(protocol.SearchAnswer(rows, verdict, query, protocol.IndexState(1, True), {}), ALONE)
    assert [text.name == "the same text" for text in texts] == [False, False, True]


def test_result_without_best_lines_shows_lines_with_most_terms() -> None:
    snippet = f"def go():\n{BODY}    moor(ship)\n"
    long = result(snippet=snippet, range=whole_lines(11, 42), matched_terms=("mooring", "ship"))
    assert "42:    moor(ship)" in lines(long.written(4))
    assert len(long.written(4).split("\n")) <= 6


def test_definition_found_by_name_is_shown_from_its_head() -> None:
    long = result(
        snippet=f"# before\ndef moor_ship():\n{BODY}",
        range=whole_lines(10, 41),
        best_lines=whole_lines(31, 34),
        by_name=True,
    )
    assert lines(long.written(3)) == ["12:def moor_ship():", "13:    step_0()", "14:    step_1()"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"reasons": ("file name",), "by_name": True}, id="not the named definition"),
        pytest.param({"score": 0.2, "best_score": 0.9}, id="a far weaker result"),
    ],
)
def test_aside_has_few_lines(fields: dict[str, Any]) -> None:
    assert len(lines(result(**LONG, **fields).written(16))) <= 4


def test_very_long_line_is_replaced_by_its_length() -> None:
    text = result(snippet="x" * 5_000).written(3)
    assert "  12 (a line of 5,000 characters)" in text


def test_related_result_is_shown_from_the_related_line() -> None:
    call = result(
        snippet=f"def go():\n{BODY}",
        range=whole_lines(11, 41),
        selection_range=whole_lines(20, 21),
        reasons=("calls `moor`", "file that imports it"),
        related=True,
    )
    assert call.head.endswith("— calls `moor`; file that imports it")
    assert lines(call.written(2)) == ["21:    step_8()", "22:    step_9()"]


def test_head_below_its_comment_is_shown_in_one_part_with_it() -> None:
    comment = "".join(f" * line {number}\n" for number in range(8))
    long = result(
        snippet=f"{comment}def moor_ship():\n{BODY}",
        range=whole_lines(0, 38),
        selection_range=whole_lines(8, 9),
        best_lines=whole_lines(0, 9),
    )
    text = lines(long.written(8))
    assert "9:def moor_ship():" in text
    assert "…" not in text
    assert len(text) == len(set(text)) == 8


def test_blank_lines_count_in_the_numbers() -> None:
    text = result(snippet="a = 1\n\n\nb = 2\n\nc = 3\n", range=whole_lines(11, 17)).written(9)
    assert text.split("\n")[1:] == ["  12 a = 1", "", "", "  15 b = 2", "", "     c = 3"]
