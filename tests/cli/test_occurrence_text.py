"""The look of an exact search on a terminal."""

from __future__ import annotations

import pytest

from cairn import protocol
from cairn.cli.occurrence_text import print_occurrences
from cairn.protocol import DefinitionOccurrences, FileOccurrences, Mark, MatchedLine, Occurrences

FILE = FileOccurrences(
    path="src/berths.py",
    folder="file:///harbour",
    uri="file:///harbour/src/berths.py",
    count=3,
    definitions=(
        DefinitionOccurrences("Berth.moor", "method", (MatchedLine(8, "moor(ship)", (Mark(0, 4),)),)),
        DefinitionOccurrences("", "", (MatchedLine(99, "moor([red])", (Mark(0, 4),)),)),
    ),
)
FOUND = Occurrences(5, 2, (FILE,), 1, 40, True, "", {"built-in: binary file type": 2})


def answer(occurrences: Occurrences | None, reason: str = "") -> protocol.SearchAnswer:
    return protocol.SearchAnswer(
        (),
        protocol.Verdict("answer", "", (), 0.0, ()),
        protocol.QueryInfo("moor", ("moor",), "exact", 0.0),
        protocol.IndexState(1, True),
        {},
        retrieval=protocol.AnsweredIn(reason=reason),
        occurrences=occurrences,
    )


def test_lines_are_printed_below_file_and_definition(capsys: pytest.CaptureFixture[str]) -> None:
    print_occurrences(answer(FOUND))
    assert capsys.readouterr().out.splitlines() == [
        "5 lines in 2 files hold it, complete (of 40 files; not searched: 2 × binary file type).",
        "1 more in another case; ignore case to list them.",
        "",
        "src/berths.py",
        "  Berth.moor",
        "    9  moor(ship)",
        "  (top level)",
        "  100  moor([red])",
        "",
        "3 further lines: -n 5 lists them.",
    ]


def test_a_failed_search_is_not_shown_as_empty(capsys: pytest.CaptureFixture[str]) -> None:
    print_occurrences(answer(None, "The index is damaged."))
    assert capsys.readouterr().out == "The text was not searched. The index is damaged.\n"
