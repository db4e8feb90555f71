"""Positions and ranges in a document, 0-based as in LSP, citations, kinds of chunks; `cairn/fetchPage`."""

from __future__ import annotations

import enum

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


class ChunkType(enum.StrEnum):
    """The kind of content of a chunk; requests can filter by it."""

    PROSE = "prose"
    CODE = "code"
    API = "api"
    CMD = "cmd"
    CONFIG = "config"


@frozen
class FetchPageParams:
    path: str
    folder: str = ""
    """The URI of the workspace folder. It is needed only if two folders have the path."""
    now: bool = False
    """Whether to return the current text, from an open editor or from disk, instead of the indexed text. The
    path may then also be absolute, begin with the folder's name, or be the end of a path."""


@frozen
class PageChunk:
    range: Range
    title: str
    type: ChunkType
    symbol: str


@frozen
class PageAnswer:
    text: str
    language: str
    chunks: tuple[PageChunk, ...]
    path: str = ""
    """The path relative to the workspace folder, with `/`."""
    folder: str = ""
    """The URI of the workspace folder."""
    version: str = "indexed"
    """`disk` if the request had `now` and the file could be read, otherwise `indexed`. `chunks` always
    describes the indexed text."""
    changed: bool = False
    """Whether the current text differs from the indexed text. Without `now` it is always false."""
