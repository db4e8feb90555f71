"""What is written into the keyword index beside a text, of texts of ASCII and of others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cairn.index.store.keyword_columns import compound_parts, operator_words

_ASCII = st.text(st.characters(max_codepoint=127))
_CODE = st.text("aAbB1_ =!<>()\n\x01\x1c", max_size=60)


@given(_ASCII | _CODE)
def test_operators_are_the_same_beside_a_letter_outside_of_ascii(text: str) -> None:
    assert operator_words(text) == operator_words(f"{text}\né")


@given(_ASCII | _CODE)
def test_parts_are_the_same_beside_a_letter_outside_of_ascii(text: str) -> None:
    assert list(compound_parts(text)) == list(compound_parts(f"{text}\né"))
