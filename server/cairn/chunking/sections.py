"""Cut documents into chunks by headings, then by blocks. A code fence stays whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from attrs import define, evolve, field

from cairn.chunking.classify import fence_type, file_type, names_endpoint
from cairn.chunking.elements import Element, Fence, FrontMatter, Heading, TextElement
from cairn.chunking.lines import Lines
from cairn.chunking.model import Chunk
from cairn.protocol.chunk_types import ChunkType

# The desired and the maximum length of a chunk in characters: 400 to 500 tokens of English prose, at about
# four characters per token.
TARGET = 1600
MAXIMUM = 2000
# A code fence of up to this many characters is never cut. The model all-MiniLM-L6-v2 has 512 positions.
FENCE_LIMIT = 2048
# A paragraph of up to this many characters before a fence introduces the fence, and stays with it.
_INTRODUCTION = 300
# An end of a section with fewer characters joins the part before it.
_SCRAP = 250
# A section with fewer words below its heading is almost empty, and is joined to the next section.
_EMPTY_WORDS = 6
_NO_WORDS = re.compile(r"<[^>]*>|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|\]\([^)]*\)|https?://\S+")
# A chunk is code if fences have this share of its characters.
_MOSTLY = 0.6


@define(eq=False)
class _Part:
    """Lines `[start, end)` of one section."""

    start: int
    end: int
    path: tuple[str, ...]
    elements: list[Element] = field(factory=list)


@define(eq=False)
class HeadingPath:
    """The headings around the end of a document."""

    root: str = ""
    """The document's title: the first outermost heading, or the title in its front matter."""
    root_is_heading: bool = False
    stack: list[Heading] = field(factory=list)

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.root, *(heading.title for heading in self.stack))))

    def enter(self, heading: Heading) -> None:
        if heading.level == 1 and not self.root_is_heading:
            self.root, self.root_is_heading, self.stack = heading.title, True, []
            return
        while self.stack and self.stack[-1].level >= heading.level:
            self.stack.pop()
        self.stack.append(heading)


def section_chunks(
    path: str, language: str, lines: Lines, elements: Sequence[Element], headings: HeadingPath | None = None
) -> list[Chunk]:
    """Return the chunks of a document in order. `elements` cover all its lines. For a document that continues
    another one, `headings` is the heading path at the end of the other document, and is updated."""
    sections = _join_empty(_sections(elements, headings or HeadingPath()), lines)
    parts = [part for section in sections for part in _cut(section, lines)]
    title = _document_title(elements) or PurePosixPath(path).stem
    default = file_type(path, language, "")
    return [_chunk(position, part, lines, language, title, default) for position, part in enumerate(parts)]


def _sections(elements: Sequence[Element], headings: HeadingPath) -> Iterator[_Part]:
    """Yield a part for each heading, and one part for the text before the first heading."""
    section = _Part(0, 0, headings.path)
    for element in elements:
        if isinstance(element, FrontMatter) and element.title:
            headings.root = element.title
            section.path = headings.path
        elif isinstance(element, Heading):
            yield section
            headings.enter(element)
            section = _Part(element.start, element.start, headings.path)
        section.elements.append(element)
        section.end = element.end
    yield section


def _join_empty(sections: Iterator[_Part], lines: Lines) -> list[_Part]:
    """Return the sections, with each almost empty one joined to the next: a title to its first section, and
    headings without text to each other."""
    joined: list[_Part] = []
    for section in sections:
        if section.start == section.end:
            continue
        last = joined[-1] if joined else None
        if last is None or not _is_empty(last, lines):
            joined.append(section)
        elif section.path[: len(last.path)] == last.path:
            joined[-1] = _Part(last.start, section.end, section.path, last.elements + section.elements)
        elif section.path[:-1] == last.path[:-1] and _is_empty(section, lines):
            path = (*section.path[:-1], f"{last.path[-1]}, {section.path[-1]}")
            joined[-1] = _Part(last.start, section.end, path, last.elements + section.elements)
        else:
            joined.append(section)
    return joined


def _is_empty(section: _Part, lines: Lines) -> bool:
    if lines.size(section.start, section.end) >= TARGET // 2:
        return False
    words = 0
    for element in section.elements:
        if isinstance(element, Fence):
            return False
        if isinstance(element, TextElement):
            words += len(re.findall(r"\w{2,}", _NO_WORDS.sub("", lines.text(element.start, element.end))))
    return words < _EMPTY_WORDS


def _cut(section: _Part, lines: Lines) -> list[_Part]:
    parts: list[_Part] = []
    current = _Part(section.start, section.start, section.path)
    for element in section.elements:
        limit = FENCE_LIMIT if isinstance(element, Fence) else MAXIMUM
        size = lines.size(current.start, current.end)
        if current.elements and (size >= TARGET or size + lines.size(element.start, element.end) > limit):
            introduction = _introduction(current, element, lines)
            if current.elements:
                parts.append(current)
            start = introduction[0].start if introduction else element.start
            current = _Part(start, element.start, section.path, introduction)
        current.elements.append(element)
        current.end = element.end
        if lines.size(element.start, element.end) > limit:
            parts.extend(
                _Part(start, end, section.path, _within(current.elements, start, end))
                for start, end in lines.pieces(current.start, current.end, limit)
            )
            current = _Part(element.end, element.end, section.path)
    if current.elements:
        parts.append(current)
    if len(parts) > 1 and lines.size(parts[-1].start, parts[-1].end) < _SCRAP:
        before, last = parts[-2:]
        if lines.size(before.start, last.end) <= MAXIMUM + _SCRAP:
            parts[-2:] = [_Part(before.start, last.end, before.path, before.elements + last.elements)]
    return parts


def _introduction(part: _Part, element: Element, lines: Lines) -> list[Element]:
    """Remove and return the headings and the short paragraph at the end of `part` that introduce
    `element`."""
    taken: list[Element] = []
    # A part that is too long with its introduction is cut anyway.
    left = max(MAXIMUM - lines.size(element.start, element.end), 0) + _SCRAP
    while part.elements:
        last = part.elements[-1]
        left -= lines.size(last.start, last.end)
        is_short = isinstance(last, TextElement) and lines.size(last.start, last.end) <= _INTRODUCTION
        leads = isinstance(last, Heading) or (is_short and isinstance(element, Fence) and not taken)
        if not leads or left < 0:
            break
        taken.insert(0, part.elements.pop())
        part.end = last.start
    return taken


def _within(elements: Sequence[Element], start: int, end: int) -> list[Element]:
    """Return `elements` clipped to the lines `[start, end)`."""
    return [
        evolve(element, start=max(element.start, start), end=min(element.end, end))
        for element in elements
        if element.start < end and element.end > start
    ]


def _chunk(position: int, part: _Part, lines: Lines, language: str, title: str, default: ChunkType) -> Chunk:
    chunk_type = default
    if part.path and names_endpoint(part.path[-1]):
        chunk_type = ChunkType.API
    elif default is ChunkType.PROSE:
        chunk_type, language = _type_of_fences(part, lines, language)
    text = lines.text(part.start, part.end)
    title = part.path[-1] if part.path else title
    return Chunk(position, part.start, part.end, text, chunk_type, language, title, " > ".join(part.path))


def _type_of_fences(part: _Part, lines: Lines, language: str) -> tuple[ChunkType, str]:
    """Return the type and language of most of the part's text: those of fences, or prose."""
    content = 0
    sizes: Counter[tuple[ChunkType, str]] = Counter()
    for element in part.elements:
        size = lines.size(element.start, element.end)
        if isinstance(element, Fence):
            text = lines.text(element.start, element.end)
            sizes[fence_type(element.language, text), element.language] += size
        if not isinstance(element, Heading | FrontMatter):
            content += size
    by_type: Counter[ChunkType] = Counter()
    for (fence, _), size in sizes.items():
        by_type[fence] += size
    for main, size in by_type.most_common(1):
        if main is not ChunkType.PROSE and size >= _MOSTLY * content:
            largest = max((key for key in sizes if key[0] is main), key=lambda key: sizes[key])
            return main, largest[1]
    return ChunkType.PROSE, language


def _document_title(elements: Sequence[Element]) -> str:
    front = next((element.title for element in elements if isinstance(element, FrontMatter)), "")
    headings = (element for element in elements if isinstance(element, Heading))
    return next((heading.title for heading in headings if heading.level == 1), front)
