"""Find the paragraphs of running text in a document of any markup, with their lines.

Headings, code blocks and front matter are those of `markup_elements`. The text between them is divided where
all markups divide it: at blank lines, list items, tables, and tags that begin a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from cairn.chunking.elements import TextElement
from cairn.chunking.lines import Lines
from cairn.chunking.markup import markup_elements

_TAB_WIDTH = 4
_INDENTED_CODE = 4
"""The number of spaces from which Markdown reads an indented line as code (CommonMark 4.4)."""
_QUOTE = re.compile(r"\A\s*(?:>(?!>)\s?)+")
_WORD = re.compile(r"\w")
_MARK = re.compile(
    r"(?:[-+*•]|\d{1,3}[.)]|#\.)\s+(?:\[[ xX]\]\s+)?"
    r"|(?:</?(?:address|article|aside|blockquote|br|center|dd|details|div|dl|dt|figure|footer|header|hr|li|main|nav"
    r"|ol|p|picture|section|source|summary|table|tbody|td|th|thead|tr|ul)(?:[\s/][^<>]*)?>\s*)+"
    r"|\[![A-Z]+\]\s*\Z|(?:!!!|\?\?\?\+?|:{3,}).*|(?=:[A-Z][^:`]*:\s)",
    re.IGNORECASE,
)
"""Matches the mark that begins an item of a list, a block of HTML, an admonition or a field."""
_NO_TEXT = re.compile(r"\||\.\. |>>> |\$ |\[[^\]]+\]:\s")
"""Matches the first line of a table, a directive, a doctest, a command or the address of a link. What follows
up to the next blank line belongs to it."""


@frozen
class Paragraph:
    """A paragraph or a list item on the lines `[first, last)` of the document."""

    source: str
    """The lines with inline markup and without the marks before them, joined by `\\n`."""
    first: int
    last: int
    is_item: bool
    """Whether a mark begins the paragraph, as it begins a list item."""


def read_paragraphs(language: str, text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a document in a prose language, in order."""
    lines = Lines(text)
    is_markdown, is_comment = language == "markdown", False
    for element in markup_elements(language, lines):
        if not isinstance(element, TextElement):
            continue
        rows: list[str] = []
        start = indent = 0
        is_item = was_item = is_skipped = False
        for number in range(element.start, element.end + 1):
            line = lines[number].expandtabs(_TAB_WIDTH).rstrip() if number < element.end else ""
            line = _QUOTE.sub("", line)
            row = line.lstrip() if _WORD.search(line) else ""
            if is_comment or ("<!--" in row and "-->" not in row.rpartition("<!--")[2]):
                is_comment, row = "-->" not in line, ""
            depth, mark = len(line) - len(row), _MARK.match(row)
            # In Markdown the lines of a paragraph may have any indentation.
            is_apart = rows and not is_markdown and (depth <= indent if is_item else depth != indent)
            no_text = bool(_NO_TEXT.match(row))
            if not row or (not is_skipped and (mark or is_apart or no_text)):
                if rows:
                    yield Paragraph("\n".join(rows), start, number, is_item)
                rows, is_item, is_skipped = [], False, no_text
            if is_skipped:
                continue
            if mark:
                is_item = was_item = True
                row = row[mark.end() :]
            elif not rows and is_markdown and depth >= _INDENTED_CODE and not was_item:
                continue
            if row:
                start, indent = (start, indent) if rows else (number, depth)
                rows.append(row)
