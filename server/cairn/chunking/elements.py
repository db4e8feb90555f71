"""The parts of documents in any markup: headings, code blocks, and blocks of prose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import evolve, frozen

from cairn.chunking.lines import Lines


@frozen
class Heading:
    """A heading on the lines `[start, end)`."""

    start: int
    end: int
    level: int
    """The depth; 1 is outermost."""
    title: str
    """The text without markup."""


@frozen
class Fence:
    """A whole code block: `[start, end)` includes its opening and closing lines."""

    start: int
    end: int
    language: str = ""


@frozen
class TextElement:
    """A paragraph, a list item, a table or the like, with the blank lines after it."""

    start: int
    end: int


@frozen
class FrontMatter:
    start: int
    end: int
    title: str = ""


Element: TypeAlias = Heading | Fence | TextElement | FrontMatter


def read_elements(
    lines: Lines,
    element_at: Callable[[int, int], Element | None],
    first: Element | None = None,
    after: Callable[[int], int] = lambda line: line + 1,
) -> list[Element]:
    """Return the elements of a text, covering all its lines.

    `element_at` gets a line and the end of the previous element, and returns the element that starts there,
    or None. If it returns None, `after` returns the next line to look at.
    """
    special = [first] if first is not None else []
    line = first.end if first is not None else 0
    while line < len(lines):
        element = element_at(line, special[-1].end if special else 0)
        if element is not None:
            special.append(element)
        line = element.end if element is not None else after(line)
    return _with_paragraphs(lines, special)


def _with_paragraphs(lines: Lines, special: list[Element]) -> list[Element]:
    """Return `special` in order, with a `TextElement` for each paragraph between them. Blank lines next to a
    special element belong to it, so that no element is blank unless the whole text is."""
    elements: list[Element] = []
    at = 0
    for element in special:
        if not lines.is_blank(at, element.start):
            elements.extend(_paragraphs(lines, at, element.start))
        elif elements:
            elements[-1] = evolve(elements[-1], end=element.start)
        else:
            element = evolve(element, start=at)
        elements.append(element)
        at = element.end
    if elements and lines.is_blank(at, len(lines)):
        elements[-1] = evolve(elements[-1], end=len(lines))
    else:
        elements.extend(_paragraphs(lines, at, len(lines)))
    return elements


def _paragraphs(lines: Lines, start: int, end: int) -> Iterator[TextElement]:
    """Yield the paragraphs of the lines `[start, end)`. A paragraph ends before an unindented line that
    follows a blank line. Blank lines at the start belong to the first paragraph."""
    block = start
    for index in range(start + 1, end):
        line, before = lines[index], lines[index - 1]
        # An indented line after a blank line continues a list item or an indented code block.
        starts = line.strip() and not before.strip() and not line.startswith((" ", "\t"))
        if starts and not lines.is_blank(block, index):
            yield TextElement(block, index)
            block = index
    if block < end:
        yield TextElement(block, end)
