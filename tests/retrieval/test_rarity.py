"""Rarer terms have a larger share of a query."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from attrs import frozen

from cairn.retrieval.matching import term_shares
from cairn.retrieval.query import Query, understand


@frozen
class Counted:
    found: Mapping[str, int]
    size: int = 100

    def documents(self, words: Collection[str]) -> Mapping[str, int]:
        return {word: self.found.get(word, 0) for word in words}

    def chunks(self) -> int:
        return self.size


def question(text: str, **alternatives: tuple[str, ...]) -> Query:
    understood = understand(text)
    return Query(text, text, understood.terms, (), (), understood.type, 0.5, alternatives=alternatives)


def test_a_term_in_fewer_chunks_has_a_larger_share() -> None:
    common, rare, absent = term_shares(
        question("workspace kraken calendar"), Counted({"workspace": 90, "kraken": 2})
    )
    assert common < rare < absent
    assert common + rare + absent == pytest.approx(1)


def test_an_alternative_counts_as_the_term() -> None:
    counted = Counted({"workspace": 90, "quick": 40, "links": 3})
    repaired, other = term_shares(question("wrkspace kraken", wrkspace=("workspace",)), counted)
    assert repaired < other
    phrase, absent = term_shares(question("shortcut kraken", shortcut=("quick links",)), counted)
    assert phrase < absent


def test_a_query_without_terms_has_no_shares() -> None:
    assert term_shares(question("the"), Counted({})) == (1.0,)
    assert term_shares(understand("how do I do it"), Counted({})) == ()
