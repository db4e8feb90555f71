"""The headings of a document, whatever its markup."""

from __future__ import annotations

from cairn.chunking.elements import Heading
from cairn.chunking.lines import Lines
from cairn.chunking.markdown import markdown_elements
from cairn.chunking.markup import markup_elements
from cairn.text.languages import Category, category


def headings_of(language: str, text: str) -> list[Heading]:
    """The headings of a text in order; none for a language that is not prose, and for a text of whitespace."""
    if category(language) is not Category.PROSE or not text.strip():
        return []
    lines = Lines(text)
    elements = markdown_elements(lines) if language == "markdown" else markup_elements(language, lines)
    return [element for element in elements if isinstance(element, Heading)]
