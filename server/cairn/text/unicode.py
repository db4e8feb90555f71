"""Make text valid UTF-8, for storage and embedding, and remove accents."""

from __future__ import annotations

import unicodedata


def well_formed(text: str) -> str:
    """Join surrogate pairs in `text`, and replace lone surrogates, which JSON can contain, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 code units, in which LSP counts characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
