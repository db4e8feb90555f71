"""Split documents into elements, whatever their markup.

reStructuredText and plain text underline titles. In other markup each line shows whether it is a heading.
Markdown has ATX, setext and HTML headings, fences of any length, and front matter.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from attrs import evolve, frozen

from cairn.chunking.elements import Element, Fence, FrontMatter, Heading, read_elements
from cairn.chunking.lines import Lines
from cairn.languages.language import Category
from cairn.languages.registry import category, language_of_fence

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING_MARKS = re.compile(r"(?:\A|(?<=[ \t]))#+\Z")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-{2,})[ \t]*$")
_HTML_HEADING = re.compile(r"[ \t]*<h([1-6])\b[^>]*>(.*?)</h\1>", re.IGNORECASE | re.DOTALL)
# The maximum number of lines of an HTML heading. Logos and badges make a README's title a block of markup,
# but a longer block is not a title.
_HTML_HEADING_LINES = 15
# A fence may follow the marks of lists and quotes, at any indentation, because lists nest. Possessive
# quantifiers prevent slow backtracking in a long line.
_CONTAINERS = r"[ \t]*+(?:>[ \t]?+)*+[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+"
_FENCE = re.compile(_CONTAINERS + r"(?:(`{3,})(?=[^`]*$)|(~{3,}))(.*)$")
_COMMENTS = (("<!--", "-->"), ("{/*", "*/}"))
# HTML elements whose text is not Markdown if they are at the start of a line.
_VERBATIM = re.compile(r"[ \t]*<(pre|script|style|textarea)\b", re.IGNORECASE)
_ANCHOR = re.compile(r"\s*<a\s+(?:name|id)=[^>]*>\s*+(?:</a>)?\s*+$")
# A line that cannot be a setext heading, because another element starts on it.
_NOT_A_TITLE = re.compile(r"[ \t]*+(?:[#>|<]|[-*+][ \t]|\d{1,9}[.)][ \t]|[-=*_ \t]+$)| {4}|\t")

# The maximum length of a title in characters. A longer title is a mistake, and takes too long to clean.
TITLE_LIMIT = 300
# The lines between two `---` are metadata if they match this pattern, and otherwise text between two rules.
_METADATA = re.compile(r"^[\"']?[\w.-]+[\"']?[ \t]*[:=]", re.MULTILINE)
_TITLE_KEY = re.compile(
    r"""^title\s*+[:=]\s*+(?:"([^"]*)"[^\S\n]*+$|'([^']*)'[^\S\n]*+$|(.*)$)""", re.MULTILINE
)


def markdown_elements(lines: Lines) -> list[Element]:

    def element_at(index: int, floor: int) -> Element | None:
        element = _markdown_element_at(lines, index, floor)
        if isinstance(element, Heading) and index > floor and _ANCHOR.match(lines[index - 1]):
            return evolve(element, start=index - 1)
        return element

    return read_elements(
        lines, element_at, _front_matter(lines), after=lambda index: _after_comment(lines, index)
    )


def plain_title(markup: str) -> str:
    markup = markup[:TITLE_LIMIT]
    # Remove explicit anchors: {#id}, {: .class}, [#id].
    text = re.sub(r"\s*(?:\{[:#.][^}]*\}|\[#[^\]]*\])\s*$", "", markup)
    images = re.findall(r"!\[([^\]]*)\]", text)
    text = re.sub(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"</?[A-Za-z][^>]*>|`", "", text)
    text = re.sub(r"(\*\*|__)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)([*_])(\S(?:.*?\S)?)\1(?!\w)", r"\2", text)
    text = " ".join(html.unescape(re.sub(r"\\([^\w\s])", r"\1", text)).split())
    # A heading that is only a logo is named by the logo's text.
    return text or " ".join(images).strip()


def _markdown_element_at(lines: Lines, index: int, floor: int) -> Heading | Fence | None:
    """Return the heading or fence that starts at a line. The lines before `floor` belong to earlier
    elements."""
    line = lines[index].rstrip("\r\n")
    first = line.lstrip()[:1]
    if not first:
        return None
    if fence := _FENCE.match(line) if "```" in line or "~~~" in line else None:
        marks = fence.group(1) or fence.group(2)
        start = fence.start(1 if fence.group(1) else 2)
        return Fence(index, _fence_end(lines, index, line[:start], marks), language_of_fence(fence.group(3)))
    if first == "#" and (atx := _ATX.match(line)):
        return _heading(
            index, index + 1, len(atx.group(1)), _CLOSING_MARKS.sub("", line[atx.end() :].strip())
        )
    if first == "<" and line.lstrip()[1:2] in ("h", "H"):
        return _html_heading(lines, index)
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if below.lstrip(" ")[:1] in ("=", "-") and (underline := _UNDERLINE.match(below.rstrip("\r\n"))):
        # Dashes below a paragraph of several lines are usually a rule.
        starts_paragraph = index == floor or not lines[index - 1].strip()
        if starts_paragraph and not _NOT_A_TITLE.match(line):
            return _heading(index, index + 2, 1 if underline.group(1) else 2, line)
    return None


def _heading(start: int, end: int, level: int, markup: str) -> Heading | None:
    title = plain_title(markup)
    return Heading(start, end, level, title) if title else None


def _html_heading(lines: Lines, index: int) -> Heading | None:
    """Return a heading written as an HTML element that starts on line `index`, over one or several lines."""
    end = min(index + _HTML_HEADING_LINES, len(lines))
    tag = _HTML_HEADING.match(lines.text(index, end)[: _HTML_HEADING_LINES * TITLE_LIMIT])
    if tag is None:
        return None
    rows = len(Lines(tag.group()))
    return _heading(index, index + rows, int(tag.group(1)), " ".join(tag.group(2).split()))


def _fence_end(lines: Lines, index: int, before: str, marks: str) -> int:
    """Return the line after the fence that line `index` opens. `before` is the text before its marks. An
    unclosed fence ends with the quote around it, or before the next heading outside its list."""
    closing = re.compile(rf"[ \t>]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$")
    is_quoted = before.lstrip().startswith(">")
    heading = len(lines)
    for at in range(index + 1, len(lines)):
        line = lines[at]
        if is_quoted and not line.strip():
            return at
        if marks in line and closing.match(line.rstrip("\r\n")):
            return at + 1
        if before and at < heading and line.startswith("#") and _ATX.match(line):
            heading = at
    # A heading only ends an unclosed fence, because comments in code may look like headings.
    return heading


def _after_comment(lines: Lines, index: int) -> int:
    """Return the line after the comment that line `index` opens, or the next line if there is no comment."""
    line = lines[index]
    if "<" not in line and "{" not in line:
        return index + 1
    for opening, closing in _COMMENTS:
        if opening in line and closing not in line.rpartition(opening)[2]:
            return _closed_at(lines, index, closing, is_block=line.lstrip().startswith(opening))
    element = _VERBATIM.match(line)
    if element is not None and (closing := f"</{element.group(1).lower()}") not in line.lower():
        return _closed_at(lines, index, closing, is_block=True)
    return index + 1


def _closed_at(lines: Lines, index: int, closing: str, *, is_block: bool) -> int:
    """Return the line after the one with `closing`, or the next line if there is none. A comment that opens
    in the middle of a line may be an example, so it ends with its paragraph."""
    for end in range(index + 1, len(lines)):
        if closing in lines[end].lower():
            return end + 1
        if not is_block and not lines[end].strip():
            break
    # An unclosed comment is a mistake that must not hide the headings after it.
    return index + 1


def _front_matter(lines: Lines) -> FrontMatter | None:
    marks = lines[0].strip().lstrip("\ufeff") if len(lines) else ""
    if marks not in ("---", "+++"):
        return None
    for index in range(1, len(lines)):
        line = lines[index].strip()
        if line == marks or (marks == "---" and line == "..."):
            if not lines[1].strip() or not _METADATA.search(lines.text(1, index)):
                return None
            found = _TITLE_KEY.search(lines.text(1, index))
            title = next(filter(None, found.groups()), "").rstrip() if found else ""
            return FrontMatter(0, index + 1, plain_title(title))
    return None


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


def headings_of(language: str, text: str) -> list[Heading]:
    """Return the headings of a text in order; none for blank text or a language that is not prose."""
    if category(language) is not Category.PROSE or not text.strip():
        return []
    return [each for each in markup_elements(language, Lines(text)) if isinstance(each, Heading)]
