"""Edits one value in JSON with comments and trailing commas. Every other character stays as it is.

No library preserves comments: json-five has had no release for years, and writes its own whitespace.
Python's parser gets the text with blanks in place of comments and trailing commas, which keeps all positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from cairn.clients.settings_files import (
    BLANKS,
    UneditableSettingsError,
    UnreadableSettingsError,
    blanks_before,
    line_at,
    newline_of,
)

_STRING = r'"(?:\\.|[^"\\])*+"?'  # An unclosed string extends to the end.
_COMMENT = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(,)(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMENT_ON_THE_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = "  "
_DECODER = json.JSONDecoder()


def parse(text: str) -> dict[str, Any]:
    """Return the settings, none for a blank text. Raise UnreadableSettingsError."""
    return _read(text)[1] if text.strip(BLANKS) else {}


def put(text: str, keys: Sequence[str], value: object) -> str:
    """Return the text with `value` at the path `keys`. Missing objects are added.

    Raise UnreadableSettingsError, and UneditableSettingsError for a value on the path that is not an object.
    """
    if not text.strip(BLANKS):
        text = "{}" + newline_of(text)
    document, _ = _read(text)
    container, depth = document.nearest(keys[:-1])
    key, inner = keys[depth], _nested(keys[depth + 1 :], value)
    member = container.member(key)
    if member is None:
        return _with_member(document, container, key, inner)
    indent = document.indent_at(member.start) or ""
    flat = document.is_on_one_line(container)
    written = _written(inner, newline_of(text) + indent, document.unit, flat=flat)
    return text[: member.value] + written + text[member.end :]


def remove(text: str, keys: Sequence[str]) -> str:
    """Return the text without the value at the path `keys`, nor an object that contained nothing else.

    Raise UnreadableSettingsError and UneditableSettingsError.
    """
    document, _ = _read(text)
    container, depth = document.nearest(keys[:-1])
    member = container.member(keys[-1]) if depth == len(keys) - 1 else None
    if member is None:
        return text
    left = _without_member(document, container, member)
    if depth and len(container.members) == 1:
        document, _ = _read(left)
        outer = document.nearest(keys[:-2])[0].member(keys[-2])
        assert outer is not None
        if left[outer.start : outer.end] == document.bare[outer.start : outer.end]:
            return remove(left, keys[:-1])
    return left


@frozen
class _Member:
    """A key with its value, and their positions in the text."""

    key: str
    start: int
    """The position of the key."""
    value: int
    """The position of the value."""
    end: int
    """The end of the value."""


@frozen
class _Object:
    opening: int
    """The position of the opening brace."""
    closing: int
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        """Return the last member with this key, which is the one that counts; None if there is none."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@frozen
class _Document:
    text: str
    bare: str
    """The text with blanks in the place of comments."""
    plain: str
    """The text with blanks in the place of trailing commas as well."""

    def nearest(self, keys: Sequence[str]) -> tuple[_Object, int]:
        """Return the object at the path of as many keys as possible, and their number."""
        found = self._object(_after_blanks(self.plain, 0))
        for depth, key in enumerate(keys):
            member = found.member(key)
            if member is None:
                return found, depth
            if self.plain[member.value] != "{":
                line = line_at(self.text, member.start)
                raise UneditableSettingsError(f'line {line}: "{key}" is not an object')
            found = self._object(member.value)
        return found, len(keys)

    def _object(self, opening: int) -> _Object:
        members = []
        position = _after_blanks(self.plain, opening + 1)
        while self.plain[position] != "}":
            start = position
            key, end = _DECODER.raw_decode(self.plain, position)
            value = _after_blanks(self.plain, _after_blanks(self.plain, end) + 1)
            _, end = _DECODER.raw_decode(self.plain, value)
            members.append(_Member(key, start, value, end))
            position = _after_blanks(self.plain, end)
            if self.plain[position] == ",":
                position = _after_blanks(self.plain, position + 1)
        return _Object(opening, position, tuple(members))

    def comma_after(self, end: int) -> int | None:
        """Return the position of the comma after a value, if any, including a trailing one."""
        position = _after_blanks(self.bare, end)
        return position if self.bare[position : position + 1] == "," else None

    @property
    def unit(self) -> str:
        """The indentation of the document's first key."""
        top, _ = self.nearest(())
        return (self.indent_at(top.members[0].start) if top.members else None) or _INDENT

    def indent_at(self, position: int) -> str | None:
        """Return the indentation before a position; None if text other than a key precedes it on the line."""
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return indent if indent == line or line.lstrip(" \t").startswith('"') else None

    def is_on_one_line(self, container: _Object) -> bool:
        return bool(container.members) and "\n" not in self.text[container.opening : container.closing]


def _read(text: str) -> tuple[_Document, dict[str, Any]]:
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
    return _Document(text, bare, plain), settings


def _blanked(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else re.sub(r"[^\r\n]", " ", match[0])


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _with_member(document: _Document, container: _Object, key: str, value: object) -> str:
    """Return the text with a new last member. It follows comments on the line of the present last one."""
    text, unit = document.text, document.unit
    base = document.indent_at(container.opening) or ""
    newline = newline_of(text)
    if not container.members:
        # The member comes after all comments, behind the last character that is not blank.
        place = blanks_before(text, container.closing)
        indent = f"{newline}{base}{unit}"
        closing = "" if "\n" in text[place : container.closing] else f"{newline}{base}"
        member = f"{indent}{json.dumps(key)}: {_written(value, indent, unit)}"
        return text[:place] + member + closing + text[place:]
    last = container.members[-1]
    flat = document.is_on_one_line(container)
    indent = newline + (document.indent_at(last.start) or f"{base}{unit}")
    comma = document.comma_after(last.end)
    before, after = (",", "") if comma is None else ("", ",")
    member = f"{' ' if flat else indent}{json.dumps(key)}: {_written(value, indent, unit, flat=flat)}{after}"
    place = last.end if comma is None else comma + 1
    while (comment := _COMMENT_ON_THE_LINE.match(text, place, container.closing)) is not None:
        place = blanks_before(text, comment.end())
    return text[: last.end] + before + text[last.end : place] + member + text[place:]


def _without_member(document: _Document, container: _Object, member: _Member) -> str:
    """Return the text without a member, the blanks before it, and its separating comma."""
    text = document.text
    start = blanks_before(text, member.start)
    comma = document.comma_after(member.end)
    rest = text[member.end :] if comma is None else text[member.end : comma] + text[comma + 1 :]
    if _is_in_line_comment(text, start) and not rest.lstrip(" \t").startswith(("\n", "\r")):
        start = member.start  # Otherwise the rest would become part of the comment.
    before = text[:start]
    index = container.members.index(member)
    if comma is None and index:
        earlier = document.comma_after(container.members[index - 1].end)
        assert earlier is not None
        before = text[:earlier] + text[earlier + 1 : start]
    return before + rest


def _is_in_line_comment(text: str, position: int) -> bool:
    """Return whether a `//` comment ends at a position."""
    comments = (match for match in _COMMENT.finditer(text, 0, position) if match[1])
    return any(match[1].startswith("//") and match.end() == position for match in comments)


def _written(value: object, newline: str, unit: str, *, flat: bool = False) -> str:
    """Return the JSON of a value. Objects take several lines unless `flat`; other values take one."""
    if not isinstance(value, Mapping) or not value or flat:
        return json.dumps(value, ensure_ascii=False)
    inner = newline + unit
    members = (f"{json.dumps(key)}: {_written(each, inner, unit)}" for key, each in value.items())
    return "{" + inner + f",{inner}".join(members) + newline + "}"


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value
