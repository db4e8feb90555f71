"""Split documents into elements, whatever their markup.

reStructuredText and plain text underline titles; in other markup each line shows whether it is a heading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from cairn.chunking.elements import Element, Fence, Heading, read_elements
from cairn.chunking.lines import Lines
from cairn.chunking.markdown import TITLE_LIMIT, markdown_elements, plain_title
from cairn.languages.registry import language_of_fence


@frozen
class _Markup:
    heading: re.Pattern[str]
    """Group 1 gives the depth, group 2 the title."""
    opening: re.Pattern[str]
    """The first line of a code block; its group `language`, if present, names the language."""
    closing: str
    """The pattern of the last line, in which `{0}` stands for the opening's group 1."""
    attribute: re.Pattern[str] | None = None
    """An optional line before the opening that names the language."""


# The maximum length in characters of a heading and of the first line of a block.
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

_ADORNMENT = re.compile(r"([^\w\s])\1{2,}\s*$")
_CODE_DIRECTIVE = re.compile(
    r"(\s*)\.\. (?:code-block|code|sourcecode|parsed-literal|literalinclude|prompt|ipython)::[ \t]*(\S*)"
)
_LABEL = re.compile(r"\.\. _[^:]+:\s*$")
_ROLE = re.compile(r":[\w:+.-]+:`([^`]*)`")
_TARGET = re.compile(r"\s*<[^>]*>$")


def markup_elements(language: str, lines: Lines) -> list[Element]:
    """Return the elements of a text in any prose language, covering all its lines."""
    if language == "markdown":
        return markdown_elements(lines)
    if language in _MARKUPS:
        return read_elements(lines, lambda index, _: _element_at(_MARKUPS[language], lines, index))
    styles: list[tuple[str, bool]] = []
    return read_elements(
        lines, lambda index, floor: _heading_at(lines, index, floor, styles) or _code_at(lines, index)
    )


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


def _heading_at(lines: Lines, index: int, floor: int, styles: list[tuple[str, bool]]) -> Heading | None:
    """Return the title that starts at a line, together with the labels above it. Labels before line `floor`
    are left out. The title's level is the position of its style in `styles`, the document's styles of
    titles in the order of first use."""
    has_overline = _ADORNMENT.match(lines[index]) is not None
    at = index + 1 if has_overline else index
    if at + 1 >= len(lines) or (index and lines[index - 1].strip()):
        return None
    title, underline = lines[at].rstrip(), lines[at + 1].strip()
    match = _ADORNMENT.match(lines[at + 1])
    if match is None or not title.strip() or _ADORNMENT.match(title):
        return None
    if has_overline and lines[index].strip() != underline:
        return None
    # A title may be slightly longer than its underline; a rule below a paragraph is much shorter or longer.
    if len(underline) < len(title.strip()) - 2 or (not has_overline and title[0].isspace()):
        return None
    style = (match.group(1), has_overline)
    if style not in styles:
        styles.append(style)
    start = index
    while start - 2 >= floor and not lines[start - 1].strip() and _LABEL.match(lines[start - 2]):
        start -= 2
    return Heading(start, at + 2, styles.index(style) + 1, _plain_title(title))


def _plain_title(title: str) -> str:
    text = _ROLE.sub(lambda match: _TARGET.sub("", match.group(1)).lstrip("~!"), title[:TITLE_LIMIT])
    text = re.sub(r"`([^`<]*?)\s*(?:<[^`]*>)?`_{0,2}", r"\1", text)
    return " ".join(re.sub(r"`|\*\*|\\(?=\W)", "", text).split())


def _code_at(lines: Lines, index: int) -> Fence | None:
    line = lines[index]
    if directive := _CODE_DIRECTIVE.match(line):
        end = _indented_end(lines, index + 1, len(directive.group(1).expandtabs()))
        return Fence(index, end, language_of_fence(directive.group(2)))
    # A literal block is an indented block after a blank line and a paragraph that ends with two colons.
    before = lines[index - 1] if index else ""
    if index > 1 and line[:1].isspace() and line.strip() and not before.strip():
        paragraph = next((lines[above] for above in range(index - 1, -1, -1) if lines[above].strip()), "")
        indent = len(paragraph) - len(paragraph.lstrip())
        if paragraph.rstrip().endswith("::") and not paragraph.lstrip().startswith(".. "):
            end = _indented_end(lines, index, indent)
            return Fence(index, end) if end > index else None
    return None


def _indented_end(lines: Lines, index: int, indent: int) -> int:
    """Return the line after the last one, from `index` on, that is indented by more than `indent`."""
    end = index
    for at in range(index, len(lines)):
        line = lines[at].expandtabs()
        if line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                break
            end = at + 1
    return end
