"""The script that learns word lists from translated texts aligns words with their meanings."""

from __future__ import annotations

import pytest
from aligned_words import Words, align, divider, english_words

from cairn.retrieval.natural_languages.lexicon import BY_HAND, read_lexicon

TEXTS = [
    ("close the file", "cerrar el archivo"),
    ("close the connection", "cerrar la conexión"),
    ("open the file", "abrir el archivo"),
    ("open the connection", "abrir la conexión"),
    ("the file", "el archivo"),
]


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("cerrar", "close"), ("archivo", "file"), ("conexión", "connection"), ("abrir", "open")],
)
def test_alignment_finds_the_meaning_of_a_word(word: str, meaning: str) -> None:
    lexicon = read_lexicon("es", (BY_HAND,))
    english, foreign, divide = Words(), Words(), divider("es", lexicon)
    found = align([(english.read(english_words(one)), foreign.read(divide(other))) for one, other in TEXTS])
    own = found.words == foreign.ids[lexicon.stem(word)]
    assert english.word(int(found.meanings[own][found.means[own].argmax()])) == meaning
