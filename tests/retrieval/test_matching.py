"""Terms are matched in a text, and rarer ones have a larger share of a query."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.matching import matcher, term_shares
from cairn.retrieval.query import Query, understand
from cairn.text.words import stem, text_stems


@pytest.mark.parametrize(
    ("groups", "text", "found"),
    [
        ((("category",), ("serialize",)), "Categories that serializers know", {0, 1}),
        ((("rule",),), "def addUrlRules(self): ...", {0}),
        ((("wrkspace", "workspace"),), "my_workspaces", {0}),
        ((("database", "banco de dados"),), "O banco de dados", {0}),
        ((("database", "banco de dados"),), "dados de um banco", set()),
        ((("shortcut", "quick link"),), "class QuickLinks {}", {0}),
        ((("oauth2",),), "OAuth2 tokens", {0}),
        ((("log",),), "a catalogue", set()),
        ((("über",),), "Über uns", {0}),
        ((), "anything", set()),
    ],
)
def test_terms_match_in_any_inflection_or_by_an_alternative(
    groups: tuple[tuple[str, ...], ...], text: str, found: set[int]
) -> None:
    assert matcher(groups).terms_in(text) == found


@pytest.mark.parametrize(
    ("groups", "title", "phrase", "beside"),
    [
        ((("quick",), ("links", "link")), "Quick links", True, 0),
        ((("quick",), ("links",)), "The quick links widget", True, 2),
        ((("quick",), ("links",)), "Links, quick", False, 0),
        ((("wrkspace", "workspace"),), "Workspaces", True, 0),
        ((), "Workspaces", False, 1),
    ],
)
def test_a_phrase_matches_word_by_word(
    groups: tuple[tuple[str, ...], ...], title: str, phrase: bool, beside: int
) -> None:
    wanted = matcher(groups)
    assert wanted.is_phrase_of(title) == phrase
    assert wanted.words_beside(title) == beside


_LETTERS = st.text("abcdeinrstyXYZ_é 1İß", min_size=1, max_size=12)


@given(words=st.lists(st.text("abcdeinrsty", min_size=4, max_size=9), min_size=1, max_size=4), text=_LETTERS)
def test_single_words_match_by_their_stems(words: list[str], text: str) -> None:
    found = matcher(tuple((word,) for word in words)).terms_in(f"{text} {words[0].upper()}ed")
    stems = text_stems(f"{text} {words[0].upper()}ed")
    assert found == {place for place, word in enumerate(words) if stem(word) in stems}


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
