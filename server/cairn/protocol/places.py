"""Places in a document: lines and characters from 0, as LSP counts them, and how they are cited."""

from __future__ import annotations

from attrs import frozen

from cairn.errors import InvalidRequestError


@frozen
class Position:
    line: int
    character: int


@frozen
class Range:
    start: Position
    end: Position


@frozen
class TextDocument:
    uri: str


def whole_lines(start: int, end: int) -> Range:
    """The lines `[start, end)` as a range."""
    return Range(Position(start, 0), Position(end, 0))


def citation(path: str, lines: tuple[int, int] | None) -> str:
    """`path#L10-L14` of the lines `[start, end)`: 1-based and inclusive; the path alone where they are not known."""
    return path if lines is None else f"{path}#L{lines[0] + 1}-L{lines[1]}"


def check_range(name: str, given: Range) -> None:
    """Raises InvalidRequestError, naming the field, for a range that no document can have."""
    start, end = given.start, given.end
    if min(start.line, start.character, end.line, end.character) < 0:
        raise InvalidRequestError(name, "lines and characters are counted from 0")
    if (start.line, start.character) > (end.line, end.character):
        raise InvalidRequestError(name, "ends before it starts")
