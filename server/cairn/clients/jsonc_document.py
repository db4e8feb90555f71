"""Parses JSON with comments and trailing commas, and records all positions.

Python's parser gets the text with blanks in place of comments and trailing commas, which keeps all positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from cairn.clients.editing import UneditableSettingsError, UnreadableSettingsError, line_at

_STRING = r'"(?:\\.|[^"\\])*+"?'  # An unclosed string extends to the end.
_COMMENT = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(,)(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")


@frozen
class Member:
    """A key with its value, and their positions in the text."""

    key: str
    start: int
    """The position of the key."""
    value: int
    """The position of the value."""
    end: int
    """The end of the value."""


@frozen
class Object:
    opening: int
    """The position of the opening brace."""
    closing: int
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        """Return the last member with this key, which is the one that counts; None if there is none."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@frozen
class Document:
    text: str
    bare: str
    """The text with blanks in the place of comments."""
    plain: str
    """The text with blanks in the place of trailing commas as well."""

    def object_at(self, keys: Sequence[str]) -> Object | None:
        """Return the object at a path of keys, or None. Raise UneditableSettingsError for another value."""
        found = self._object(_after_blanks(self.plain, 0))
        for key in keys:
            member = found.member(key)
            if member is None:
                return None
            if self.plain[member.value] != "{":
                raise UneditableSettingsError(
                    f'line {line_at(self.text, member.start)}: "{key}" is not an object'
                )
            found = self._object(member.value)
        return found

    def _object(self, opening: int) -> Object:
        members = []
        position = _after_blanks(self.plain, opening + 1)
        while self.plain[position] != "}":
            start = position
            key, end = _DECODER.raw_decode(self.plain, position)
            value = _after_blanks(self.plain, _after_blanks(self.plain, end) + 1)
            _, end = _DECODER.raw_decode(self.plain, value)
            members.append(Member(key, start, value, end))
            position = _after_blanks(self.plain, end)
            if self.plain[position] == ",":
                position = _after_blanks(self.plain, position + 1)
        return Object(opening, position, tuple(members))

    def comma_after(self, end: int) -> int | None:
        """Return the position of the comma after a value, if any, including a trailing one."""
        position = _after_blanks(self.bare, end)
        return position if self.bare[position : position + 1] == "," else None


_DECODER = json.JSONDecoder()


def read(text: str) -> tuple[Document, dict[str, Any]]:
    """Return the document and its settings. Raise UnreadableSettingsError for an invalid text."""
    bare = _COMMENT.sub(_blanked, text)
    plain = _TRAILING_COMMA.sub(_blanked, bare)
    try:
        settings = json.loads(plain)
    except json.JSONDecodeError as problem:
        raise UnreadableSettingsError(f"line {problem.lineno}: {problem.msg}") from None
    except RecursionError:
        raise UnreadableSettingsError("its objects are nested too deep") from None
    if not isinstance(settings, dict):
        raise UnreadableSettingsError(f"line {line_at(text, _after_blanks(plain, 0))}: it is not an object")
    return Document(text, bare, plain), settings


def _blanked(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    return re.sub(r"[^\r\n]", " ", match[0])


def is_in_line_comment(text: str, position: int) -> bool:
    """Return whether a `//` comment ends at a position."""
    comments = (match for match in _COMMENT.finditer(text, 0, position) if match[1])
    return any(match[1].startswith("//") and match.end() == position for match in comments)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()
