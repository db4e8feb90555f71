"""Read paragraphs and list items of Markdown, reStructuredText and documentation comments, with their lines.

Markdown parsers keep line numbers but read only one syntax, while docstrings, comments, `.txt` and `.rst`
files mix several. A citation needs only the lines of running text and the ends of paragraphs and items, which
look the same in all of them. Everything else (fences, tables, directives with code, literal blocks, headings,
HTML, doctests) is skipped: a sentence from it would be incomplete.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import attrs
from attrs import define, field, frozen

from cairn.text.inline_markup import Stripped, strip_inline
from cairn.text.verbatim import stands_in, starts_with_mark

TAB_WIDTH = 4
INDENTED_CODE = 4
"""The number of spaces from which Markdown reads an indented line as code (CommonMark 4.4)."""
TERM_WORDS = 3
"""A line of at most this many words is a term if the line below, its definition, is indented more."""

_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)\Z")
_QUOTE = re.compile(r"(?:>(?!>)\s?)+")
_ITEM = re.compile(r"(?:[-+*•]|(?P<number>\d{1,3})[.)]|#\.|\([a-z0-9]\))(?:\s+|\Z)(?:\[[ xX]\]\s+)?")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+._])\1{2,}\Z")
_ATX_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_ADOC_HEADING = re.compile(r"={1,5}\s")
_TABLE = re.compile(r"\||\+[-=]|=+(?:\s+=+)+\Z|-+(?:\s+-+)+\Z|:?-+:?(?:\s*\|\s*:?-+:?)+\s*\Z")
_HTML = re.compile(
    r"</?(?:address|article|aside|a|br|blockquote|center|details|dialog|div|dl|dd|dt|figure|footer|form"
    r"|h[1-6]|header|hr|iframe|img|li|link|main|menu|nav|ol|p|picture|pre|script|section|source|style"
    r"|summary|svg|table|tbody|td|tfoot|th|thead|tr|ul|video)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
_PARAGRAPH_TAG = re.compile(r"<p(?:\s[^<>]*)?>\s*", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"</p>", re.IGNORECASE)
_XML_DOC_TAG = re.compile(
    r"</?(?:summary|remarks|param|typeparam|returns|value|exception|example|para|seealso|permission)\b"
    r"[^>]*>\s*"
)
_DIRECTIVE = re.compile(r"\.\.\s+(?P<name>[\w:+-]+?)::(?:\s+(?P<argument>.*))?\Z")
_FIELD = re.compile(
    r":[A-Za-z][^:`]*:(?:\s|\Z)"
    r"|@(?:arg|author|brief|default|deprecated|example|exception|fires|internal|link|memberof|note|param"
    r"|private|public|returns?|see|since|template|throws|todo|type|typedef|version|warning|yields)(?:\s|\Z)"
)
_ENDS_FRONT_MATTER = re.compile(r"(?:---|\.\.\.)\Z|[^:#-][^:]*\Z")
_LINK_DEFINITION = re.compile(r"\[[^\]]+\]:\s")
_FURNITURE = re.compile(
    r"\[![A-Z]+\]\s*\Z"  # the mark of a GitHub alert
    r"|(?:!!!|\?\?\?\+?|:{3,})(?:\s|\w|\Z)"  # MkDocs and Docusaurus admonitions
    r"|(?:import|export)\s.*\sfrom\s+['\"]|export\s+(?:const|default|function)\s"  # MDX
    r"|\$\s\S"  # shell prompts
)
_TERM = re.compile(rf".*:\Z|\*{{0,2}}[\w.]+\s:\s|(?:\S+\s+){{0,{TERM_WORDS - 1}}}\S+\Z")
_PARAMETER = re.compile(r"\*{0,2}[\w.]+(?:\s\([^)]*\))?:\s")

_ADMONITIONS = frozenset(
    "admonition attention caution danger error hint important note seealso tip todo warning".split()
)
"""Directives whose first line may already contain text."""
_VERSION_NOTES = frozenset({"deprecated", "versionadded", "versionchanged", "versionremoved"})
"""Directives whose first line may contain text after a version number."""
_CODE_DIRECTIVE_NAMES = """
    autoclass autoexception autofunction automethod automodule bibliography click code code-block contents
    csv-table currentmodule date default-domain default-role digraph doctest figure graphviz highlight image
    include index ipython list-table literalinclude math mermaid meta module parsed-literal plantuml
    productionlist program prompt py:currentmodule py:module raw replace sectnum sourcecode table testcode
    testoutput testsetup toctree unicode
"""
_CODE_DIRECTIVES = frozenset(_CODE_DIRECTIVE_NAMES.split())
"""Directives without running text, whose indented body is skipped. Others contain paragraphs."""


@frozen
class Paragraph:
    """A paragraph or list item: its lines without markers and inline markup, joined by single spaces."""

    text: str
    numbers: tuple[int, ...]
    offsets: tuple[int, ...]
    """The offsets in `text` at which the rest of each line starts."""
    joinable: tuple[bool, ...]
    """For each line, whether text that spans it and the previous line is verbatim."""
    item: bool = False
    """Whether the block has a marker of its own, as a list item, a field or an admonition has."""
    leads_in: bool = False
    """Whether a list, a table or code follows, which ends a sentence without a full stop."""
    sources: tuple[str, ...] = ()
    """The lines with inline markup, if they have any."""
    constructs: tuple[tuple[int, int, int, int], ...] = ()
    """The constructs of several lines: `text[start:end]` comes from the block's lines `first` to `last`."""

    def lines(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the lines `[first, last)` that contain `text[start:end]`; None if joining lost something."""
        first = bisect_right(self.offsets, start) - 1
        last = bisect_right(self.offsets, end - 1) - 1
        for left, right, above, below in self.constructs:
            if left < end and start < right:
                first, last = min(first, above), max(last, below)
        if not self._contains(first, last, self.text[start:end]):
            first, last = self._unbroken(first, last)
            if not self._contains(first, last, self.text[start:end]):
                return None
        if not all(self.joinable[first + 1 : last + 1]):
            return None
        return self.numbers[first], self.numbers[last] + 1

    def _contains(self, first: int, last: int, text: str) -> bool:
        return not self.sources or stands_in(text, self.sources[first : last + 1])

    def _unbroken(self, first: int, last: int) -> tuple[int, int]:
        """Widen the range `first` to `last` until it cuts no construct: a cut may hide another's marks."""
        touching = [(a, b) for _, _, a, b in self.constructs if a <= last and first <= b]
        wider = min([first, *(a for a, _ in touching)]), max([last, *(b for _, b in touching)])
        return wider if wider == (first, last) else self._unbroken(*wider)


_Lines = Sequence[tuple[int, str, bool]]
"""Numbered lines. The boolean of a line says whether it may be joined to the previous one."""


def join_lines(lines: _Lines) -> Paragraph:
    """Join lines of code, which contains no markup."""
    text = " ".join(text for _, text, _ in lines)
    return _paragraph(lines, Stripped(text, range(len(text))))


def _paragraph(lines: _Lines, stripped: Stripped, item: bool = False) -> Paragraph:
    texts = tuple(text for _, text, _ in lines)
    starts = list(accumulate((len(text) + 1 for text in texts[:-1]), initial=0))
    return Paragraph(
        stripped.text,
        tuple(number for number, _, _ in lines),
        tuple(stripped.position(start) for start in starts),
        tuple(joinable for _, _, joinable in lines),
        item,
        sources=() if stripped.text == " ".join(texts) else texts,
        constructs=tuple(
            (
                stripped.position(start),
                stripped.position(end),
                bisect_right(starts, start) - 1,
                bisect_right(starts, end - 1) - 1,
            )
            for start, end in stripped.constructs
        ),
    )


def read_paragraphs(lines: Iterable[tuple[int, str]], markdown: bool = False) -> list[Paragraph]:
    """Return the blocks of numbered lines. `markdown` decides where syntaxes differ, as for indented code."""
    reader = _ParagraphReader(markdown)
    numbered = list(lines)
    for number, line in numbered[_front_matter_end(numbered) if markdown else 0 :]:
        reader.feed(number, line)
    reader.close()
    return reader.blocks


def _front_matter_end(lines: Sequence[tuple[int, str]]) -> int:
    """Return the number of lines of YAML between two `---` at the top. An unclosed block takes all lines."""
    if not lines or lines[0][1].strip() != "---":
        return 0
    ends = (count for count, (_, line) in enumerate(lines[1:], 2) if _ENDS_FRONT_MATTER.match(line.strip()))
    return next(ends, len(lines))


@define
class _Open:
    indent: int
    item: bool
    lines: list[tuple[int, str, bool]] = field(factory=list)


class _ParagraphReader:
    """A reader of lines that tracks the open block and the kind of region that is skipped."""

    def __init__(self, markdown: bool) -> None:
        self.markdown = markdown
        self.blocks: list[Paragraph] = []
        self._open: _Open | None = None
        self._fence = ""
        self._comment = False
        self._skips_to_blank = False
        self._in_paragraph_tag = False
        self._body_of: int | None = None
        self._in_list = False

    def feed(self, number: int, line: str) -> None:
        line = line.expandtabs(TAB_WIDTH).rstrip()
        text = line.lstrip()
        indent = len(line) - len(text)
        if self._is_skipped(indent, text):
            return
        if not text:
            self._in_paragraph_tag = False
            self.close()
            return
        quote = None if text.startswith(">>>") else _QUOTE.match(text)
        text = text[quote.end() :] if quote else text
        if not text:
            self.close()
        elif not self._starts_skipping(number, indent, text) and not self._is_furniture(indent, text):
            self._add(number, indent, text, joinable=not starts_with_mark(text))

    def close(self) -> None:
        current, self._open = self._open, None
        if current is None:
            return
        if not self.markdown and current.lines[-1][1].endswith("::"):
            self._body_of = current.indent  # A literal block follows.
        stripped = strip_inline("\n".join(text for _, text, _ in current.lines))
        if stripped.text:
            self.blocks.append(_paragraph(current.lines, stripped, current.item))

    def _end_lead_in(self) -> None:
        """End the open block before something that its last paragraph may introduce."""
        self.close()
        if self.blocks and not self.blocks[-1].item:
            self.blocks[-1] = attrs.evolve(self.blocks[-1], leads_in=True)

    def _is_skipped(self, indent: int, text: str) -> bool:
        """Return whether the line belongs to a skipped region that is open."""
        if self._fence:
            text = text.lstrip("> ")  # The fence may be inside a quotation.
            if text.startswith(self._fence) and not text.strip(self._fence[0]):
                self._fence = ""
            return True
        if self._comment:
            self._comment = "-->" not in text
            return True
        if self._body_of is not None:
            if not text or indent > self._body_of:
                return True
            self._body_of = None
        if self._skips_to_blank and not _PARAGRAPH_TAG.match(text):
            self._skips_to_blank = bool(text)
            return True
        self._skips_to_blank = False
        return False

    def _starts_skipping(self, number: int, indent: int, text: str) -> bool:
        """Return whether the line opens a region without running text."""
        fence = _FENCE.match(text)
        if fence and not self._underlines_a_title(text):
            self._end_lead_in()
            self._fence = fence["mark"]
        elif text.startswith("<!--"):
            self.close()
            self._comment = "-->" not in text
        elif text.startswith(">>>") or _TABLE.match(text):
            self._drop_table_header(text)
            self._skips_to_blank = True
        elif _HTML.match(text) and not self._paragraph_tag(text):
            self.close()
            self._skips_to_blank = not self._in_paragraph_tag
            self._in_paragraph_tag &= not _PARAGRAPH_END.match(text)
        elif text == ".." or text.startswith(".. "):
            self.close()
            self._read_directive(number, indent, text)
        elif self.markdown and indent >= INDENTED_CODE and self._open is None and not self._in_list:
            pass
        else:
            return False
        return True

    def _read_directive(self, number: int, indent: int, text: str) -> None:
        """Read the text of a directive with paragraphs. Skip any other directive, target or comment."""
        directive = _DIRECTIVE.match(text)
        if directive is None or directive["name"] in _CODE_DIRECTIVES:
            self._body_of = indent
            return
        argument = directive["argument"] or ""
        if directive["name"] in _VERSION_NOTES:
            argument = argument.partition(" ")[2].strip()
        elif directive["name"] not in _ADMONITIONS:
            argument = ""
        if argument:
            self._open = _Open(indent, item=True, lines=[(number, " ".join(argument.split()), True)])

    def _drop_table_header(self, text: str) -> None:
        """Drop the first line of a Markdown table, which only its second line (`--- | ---`) reveals."""
        if self._open and "|" in text and not text.startswith("|"):
            self._open.lines.pop()
            if not self._open.lines:
                self._open = None
        self._end_lead_in()

    def _underlines_a_title(self, text: str) -> bool:
        """Return whether `~~~` or backticks are a reStructuredText underline rather than a fence."""
        if self.markdown or self._open is None or len(self._open.lines) != 1:
            return False
        return bool(_UNDERLINE.match(text)) and len(text) >= len(self._open.lines[0][1])

    def _is_furniture(self, indent: int, text: str) -> bool:
        """Return whether the line is a heading, an underline or another line without a sentence."""
        if _UNDERLINE.match(text):
            if self._open and len(self._open.lines) == 1 and not self._open.item:
                self._open = None
            self.close()
        elif _ATX_HEADING.match(text) or _ADOC_HEADING.match(text) or _LINK_DEFINITION.match(text):
            self.close()
        elif _FURNITURE.match(text):
            self.close()
            self._in_list = True  # The indented body of an admonition is text.
        else:
            return False
        return True

    def _add(self, number: int, indent: int, text: str, joinable: bool) -> None:
        item = self._item(text)
        marker = item or self._paragraph_tag(text)
        if marker or _FIELD.match(text):
            if item:
                self._end_lead_in()
            self._in_list |= marker is not None  # The indented lines that follow are text.
            self._in_paragraph_tag = bool(_PARAGRAPH_TAG.match(text))
            self.close()
            text = text[marker.end() :] if marker else text
            if text:
                self._open = _Open(indent, item=True, lines=[(number, " ".join(text.split()), True)])
            return
        if self._open and self._starts_block(self._open, indent, text):
            self.close()
        if self._open is None:
            self._in_list = self._in_list and indent > 0
            self._open = _Open(indent, item=False)
        self._open.lines.append((number, " ".join(text.split()), joinable))

    def _paragraph_tag(self, text: str) -> re.Match[str] | None:
        return _PARAGRAPH_TAG.match(text) or (None if self.markdown else _XML_DOC_TAG.match(text))

    def _item(self, text: str) -> re.Match[str] | None:
        item = _ITEM.match(text)
        if item and self._open and not self._open.item and item["number"] not in (None, "1"):
            return None  # Only a list from 1 interrupts a paragraph: "as of version\n3. Later".
        return item

    def _starts_block(self, current: _Open, indent: int, text: str) -> bool:
        """Return whether indentation separates the line from the open block. In Markdown it never does."""
        if self.markdown:
            return False
        first = current.lines[0][1]
        if indent < current.indent:
            return True
        if indent > current.indent:
            alone = len(current.lines) == 1 and not current.item
            return alone and bool(_TERM.match(first)) and not _PARAMETER.match(first)
        return bool(_PARAMETER.match(first) and _PARAMETER.match(text))
