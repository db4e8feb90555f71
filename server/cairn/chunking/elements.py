"""What documents are made of, whatever their markup: headings, code blocks, and blocks of prose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import evolve, frozen

from cairn.chunking.lines import Lines


@frozen
class Heading:
    """A heading on the lines `[start, end)`."""

    start: int
    end: int
    level: int
    """1 is outermost."""
    title: str
    """Without markup."""


@frozen
class Fence:
    """A block of code, whole: `[start, end)` includes its opening and closing lines."""

    start: int
    end: int
    language: str = ""


@frozen
class Paragraph:
    """A paragraph, a list item, a table or the like, with the blank lines after it."""

    start: int
    end: int


@frozen
class FrontMatter:
    """Metadata at the top of a file."""

    start: int
    end: int
    title: str = ""


Element: TypeAlias = Heading | Fence | Paragraph | FrontMatter


def with_blocks(lines: Lines, special: list[Element]) -> list[Element]:
    """`special` in order, and a `Paragraph` for each run of other lines between blank ones.

    Blank lines next to a special element belong to it: no element is blank, unless all of the text is.
    """
    elements: list[Element] = []
    at = 0
    for element in special:
        if not lines.is_blank(at, element.start):
            elements.extend(blocks(lines, at, element.start))
        elif elements:
            elements[-1] = evolve(elements[-1], end=element.start)
        else:
            element = evolve(element, start=at)
        elements.append(element)
        at = element.end
    if elements and lines.is_blank(at, len(lines)):
        elements[-1] = evolve(elements[-1], end=len(lines))
    else:
        elements.extend(blocks(lines, at, len(lines)))
    return elements


def blocks(lines: Lines, start: int, end: int) -> Iterator[Paragraph]:
    """The lines `[start, end)` as blocks: each ends before a line that follows a blank one and is not indented.

    Blank lines at the start belong to the first block.
    """
    block = start
    for index in range(start + 1, end):
        line, before = lines[index], lines[index - 1]
        # What is indented after a blank line continues a list item or an indented code block.
        starts = line.strip() and not before.strip() and not line.startswith((" ", "\t"))
        if starts and not lines.is_blank(block, index):
            yield Paragraph(block, index)
            block = index
    if block < end:
        yield Paragraph(block, end)
