"""Runs of letters, digits and underscores, and what is remembered of them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cairn.text.identifiers import identifier_words
from cairn.text.runs import Remembered, ascii_runs

_ASCII = st.text(st.characters(max_codepoint=127))
_NAMES = st.text("aAbBsS19_- .", max_size=40)


@given(_ASCII)
def test_runs_are_those_of_a_pattern(text: str) -> None:
    assert ascii_runs(text) == re.findall(r"\w+", text)


@given(_ASCII | _NAMES)
def test_words_of_runs_are_the_words_of_the_text(text: str) -> None:
    assert [word for run in ascii_runs(text) for word in identifier_words(run)] == identifier_words(text)


def test_remembered_works_each_run_out_once() -> None:
    asked: list[str] = []

    def work_out(run: str) -> int:
        asked.append(run)
        return len(run)

    remembered = Remembered(work_out, most=10)

    assert [remembered[run] for run in ("ship", "sail", "ship", "harbour")] == [4, 4, 4, 7]
    assert asked == ["ship", "sail", "harbour"]


def test_remembered_keeps_no_more_than_it_may() -> None:
    remembered = Remembered(len, most=3)

    for number in range(100):
        assert remembered[str(number)] == len(str(number))
        assert len(remembered) <= 3
