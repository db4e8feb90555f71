"""Text that can be stored and embedded, since UTF-8 can hold it; and text without accents."""

from __future__ import annotations

import unicodedata


def well_formed(text: str) -> str:
    """`text` with pairs of surrogates joined and lone ones as U+FFFD: JSON can hold halves of pairs, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_accents(text: str) -> str:
    """`text` as FTS5's tokenizer takes accents away."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
