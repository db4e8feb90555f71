"""Texts are cut into runs, and a value for each run is cached."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cairn.text.identifiers import RunCache, ascii_runs, identifier_words

_ASCII = st.text(st.characters(max_codepoint=127))
_NAMES = st.text("aAbBsS19_- .", max_size=40)


@given(_ASCII)
def test_runs_match_a_pattern(text: str) -> None:
    assert ascii_runs(text) == re.findall(r"\w+", text)


@given(_ASCII | _NAMES)
def test_words_of_runs_are_words_of_the_text(text: str) -> None:
    assert [word for run in ascii_runs(text) for word in identifier_words(run)] == identifier_words(text)


def test_cache_computes_each_run_once() -> None:
    computed: list[str] = []

    def compute(run: str) -> int:
        computed.append(run)
        return len(run)

    remembered = RunCache(compute, most=10)

    assert [remembered[run] for run in ("ship", "sail", "ship", "harbour")] == [4, 4, 4, 7]
    assert computed == ["ship", "sail", "harbour"]


def test_cache_is_bounded() -> None:
    remembered = RunCache(len, most=3)

    for number in range(100):
        assert remembered[str(number)] == len(str(number))
        assert len(remembered) <= 3
