"""Places in a document: lines and characters from 0, as LSP counts them, and how they are cited."""

from __future__ import annotations

from attrs import frozen


@frozen
class Position:
    line: int
    character: int


@frozen
class Range:
    start: Position
    end: Position


def whole_lines(start: int, end: int) -> Range:
    """The lines `[start, end)` as a range."""
    return Range(Position(start, 0), Position(end, 0))


def citation(path: str, lines: tuple[int, int] | None) -> str:
    """`path#L10-L14` of the lines `[start, end)`: 1-based and inclusive; the path alone where they are not known."""
    return path if lines is None else f"{path}#L{lines[0] + 1}-L{lines[1]}"
