"""AsciiDoc, Org, LaTeX and Typst as elements: languages in which a line alone says that it is a heading."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from cairn.chunking.elements import Element, Fence, Heading, read_elements
from cairn.chunking.lines import Lines
from cairn.chunking.markdown import plain_title
from cairn.text.languages import language_of_fence


@frozen
class _Markup:
    heading: re.Pattern[str]
    """Group 1 says how deep it is, group 2 is the title."""
    opening: re.Pattern[str]
    """The first line of a code block; the group `language`, if it has one, names the language."""
    closing: str
    """Pattern of the last line; `{0}` is the opening's group 1."""
    attribute: re.Pattern[str] | None = None
    """A line before the opening that names the language."""


# Neither headings nor the first lines of blocks are longer.
_LINE_LIMIT = 300
_LATEX_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}

_MARKUPS: Mapping[str, _Markup] = {
    "asciidoc": _Markup(
        re.compile(r"(={1,6}|#{1,6})\s+(\S.*)$"),
        re.compile(r"(-{4,}|\.{4,}|`{3,})(?P<language>\w*)\s*$"),
        r"{0}\s*$",
        re.compile(r"\[(?:source|,)[\s,%\w]*?,\s*(\w[\w+#-]*)"),
    ),
    "org": _Markup(
        re.compile(r"(\*+)\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(\S.*?)(?:\s+:[\w:@]+:)?\s*$"),
        re.compile(r"\s*#\+begin_(src|example)\b[ \t]*(?P<language>[\w+#-]*)", re.IGNORECASE),
        r"\s*#\+end_{0}",
    ),
    "latex": _Markup(
        re.compile(
            r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{(.*)\}"
        ),
        re.compile(
            r"\s*\\begin\{(verbatim|lstlisting|minted)\}(?:\[[^\]]*\])?(?:\{(?P<language>[\w+#-]+)\})?"
        ),
        r"\s*\\end\{{{0}\}}",
    ),
    "typst": _Markup(
        re.compile(r"(=+)\s+(\S.*)$"), re.compile(r"\s*(`{3,})(?P<language>[\w+#-]*)\s*$"), r"\s*{0}\s*$"
    ),
}


def markup_elements(language: str, lines: Lines) -> list[Element]:
    """The elements of a text in one of these languages, covering all its lines."""
    return read_elements(lines, lambda index, _: _element_at(_MARKUPS[language], lines, index))


def _element_at(markup: _Markup, lines: Lines, index: int) -> Element | None:
    line = lines[index].rstrip()[:_LINE_LIMIT]
    if heading := markup.heading.match(line):
        depth, title = heading.group(1), plain_title(heading.group(2))
        return Heading(index, index + 1, _LATEX_LEVELS.get(depth, len(depth)), title) if title else None
    opening = markup.opening.match(line)
    if opening is None:
        return None
    start, name = index, opening.group("language") or ""
    attribute = markup.attribute.match(lines[index - 1]) if markup.attribute is not None and index else None
    if attribute:
        start, name = index - 1, name or attribute.group(1)
    closing = re.compile(markup.closing.format(re.escape(opening.group(1))), re.IGNORECASE)
    ends = (at + 1 for at in range(index + 1, len(lines)) if closing.match(lines[at]))
    return Fence(start, next(ends, len(lines)), language_of_fence(name))
