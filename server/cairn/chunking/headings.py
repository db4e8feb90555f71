"""The headings of a document in any markup."""

from __future__ import annotations

from cairn.chunking.elements import Heading
from cairn.chunking.lines import Lines
from cairn.chunking.markup import markup_elements
from cairn.languages.language import Category
from cairn.languages.registry import category


def headings_of(language: str, text: str) -> list[Heading]:
    """Return the headings of a text in order; none for blank text or a language that is not prose."""
    if category(language) is not Category.PROSE or not text.strip():
        return []
    return [each for each in markup_elements(language, Lines(text)) if isinstance(each, Heading)]
