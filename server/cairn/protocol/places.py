"""Positions and ranges in a document, 0-based as in LSP, and citations of lines."""

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
    """Return the lines `[start, end)` as a range."""
    return Range(Position(start, 0), Position(end, 0))


def citation(path: str, lines: tuple[int, int] | None) -> str:
    """Cite the lines `[start, end)` as `path#L10-L14`, 1-based and inclusive; without lines, return the
    path."""
    return path if lines is None else f"{path}#L{lines[0] + 1}-L{lines[1]}"


def check_range(name: str, given: Range) -> None:
    """Raise InvalidRequestError for the field `name` if no document can have the range."""
    start, end = given.start, given.end
    if min(start.line, start.character, end.line, end.character) < 0:
        raise InvalidRequestError(name, "lines and characters are counted from 0")
    if (start.line, start.character) > (end.line, end.character):
        raise InvalidRequestError(name, "ends before it starts")
