"""Places as all tools print and accept them: `path:first-last`, with 1-based lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from cairn.errors import InvalidRequestError
from cairn.text.uris import repository_name

if TYPE_CHECKING:
    from cairn.engine.request import Request
    from cairn.protocol import Range

_LINES = re.compile(
    r"(?P<path>.+?)(?::|\#L?)(?P<first>[0-9]{1,9})(?:(?:-L?|:)(?P<last>[0-9]{1,9}))?\Z",
    re.DOTALL | re.IGNORECASE,
)
_QUOTES = (("`", "`"), ("'", "'"), ('"', '"'), ("[", "]"), ("(", ")"), ("<", ">"))
"""Pairs of quotation marks or brackets that people put around a place."""


@frozen
class Place:
    """A file, or a range of its lines."""

    path: str
    first: int = 0
    """The 1-based first line; 0 if the place has no lines."""
    last: int = 0
    """The 1-based last line, inclusive; 0 if the place has no lines."""
    column: int = 0
    """The 1-based column in the only line; 0 if the place has none."""


def place_named(given: str, field: str = "path") -> Place:
    """Parse a path with or without lines: `path:10-40`, `path:12`, `path:12:5`, `path#L10-L40`.

    Raise InvalidRequestError for impossible line numbers.
    """
    text = given.strip()
    for opening, closing in _QUOTES:
        if len(text) > 1 and text[0] == opening and text[-1] == closing:
            text = text[1:-1].strip()
    found = _LINES.fullmatch(text)
    if found is None:
        return Place(text)
    first = int(found["first"])
    is_column = found["last"] is not None and text[found.start("last") - 1] == ":"
    last = int(found["last"] or first)
    if first < 1 or last < (1 if is_column else first):
        problem = "columns count from 1" if is_column and first else "lines count from 1, the first one first"
        raise InvalidRequestError(field, f"{given[:100]!r}: {problem}")
    return Place(found["path"], first, first, last) if is_column else Place(found["path"], first, last)


def lines_text(lines: Range) -> str:
    """Return `10-40`, or `12` for a single line; 1-based, inclusive."""
    return numbers_text(lines.start.line + 1, lines.end.line)


def numbers_text(first: int, last: int) -> str:
    """Return `10-40`, or `12` if both numbers are the same."""
    return f"{first}-{last}" if last > first else str(first)


@frozen
class Paths:
    """How an answer writes paths: relative to the folder, and after the folder's name if several are open."""

    names: dict[str, str]
    """The name that precedes the paths of a folder. The key is the folder's URI."""
    is_alone: bool

    @classmethod
    def of(cls, request: Request) -> Paths:
        names = [folder.shown.name for folder in request.folders]
        return cls(
            {
                folder.uri: folder.shown.name if names.count(folder.shown.name) == 1 else str(folder.shown)
                for folder in request.folders
            },
            len(request.folders) == 1,
        )

    def shown(self, folder: str, path: str) -> str:
        """Return the file at `path` in the folder with the URI `folder`, as the answer writes it."""
        if not folder or (self.is_alone and folder in (self.names or (folder,))):
            return path
        return f"{self.names.get(folder) or repository_name(folder)}/{path}"


def numbered(first: int, lines: Sequence[str]) -> list[str]:
    return [f"{number}:{line}" for number, line in enumerate(lines, first)]
