"""Terms are matched in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.matching import matcher
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
