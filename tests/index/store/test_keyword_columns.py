"""The fast path for ASCII text finds the same operators and parts of names as the general one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cairn.index.store.keyword_columns import compound_parts, operator_words

_ASCII = st.text(st.characters(max_codepoint=127))
_CODE = st.text("aAbB1_ =!<>()\n\x01\x1c", max_size=60)


@given(_ASCII | _CODE)
def test_ascii_text_has_the_same_words_beside_another_letter(text: str) -> None:
    assert operator_words(text) == operator_words(f"{text}\né")
    assert list(compound_parts(text)) == list(compound_parts(f"{text}\né"))
