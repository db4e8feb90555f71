"""Edits JSON with comments and trailing commas as text.

No library preserves every character: json-five has had no release for years and writes its own whitespace.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cairn.clients.editing import (
    BLANKS,
    UneditableSettingsError,
    UnreadableSettingsError,
    blanks_before,
    newline_of,
)
from cairn.clients.jsonc_document import Document, Member, Object, is_in_line_comment, read

_COMMENT_ON_THE_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = "  "


class JsoncEditor:
    def parse(self, text: str) -> dict[str, Any]:
        return {} if _is_blank(text) else read(text)[1]

    def set(
        self, text: str, keys: Sequence[str], value: Mapping[str, Any], preamble: Mapping[str, Any]
    ) -> str:
        if _is_blank(text):
            newline = newline_of(text)
            return _written({**preamble, **_nested(keys, value)}, newline, _INDENT) + newline
        document, expected = read(text)
        unit = _indent_unit(document)
        for depth in range(len(keys) - 1, -1, -1):
            container = document.object_at(keys[:depth])
            if container is not None:
                break
        assert container is not None  # The whole text is an object.
        member = container.member(keys[depth])
        if member is not None:
            indent = _indent_at(text, member.start) or ""
            flat = _is_on_one_line(text, container)
            written = _written(value, newline_of(text) + indent, unit, flat=flat)
            new = text[: member.value] + written + text[member.end :]
        else:
            new = _with_member(document, container, keys[depth], _nested(keys[depth + 1 :], value), unit)
        _put(expected, keys, dict(value))
        return _checked(new, expected, keys)

    def put(self, text: str, keys: Sequence[str], key: str, value: object) -> str:
        document, expected = read(text)
        entry = document.object_at(keys)
        assert entry is not None
        member = entry.member(key)
        if member is None:
            new = _with_member(document, entry, key, value, _indent_unit(document))
        else:
            new = text[: member.value] + json.dumps(value, ensure_ascii=False) + text[member.end :]
        _at(expected, keys)[key] = value
        return _checked(new, expected, keys)

    def remove(self, text: str, keys: Sequence[str]) -> str:
        document, expected = read(text)
        container = document.object_at(keys[:-1])
        member = container.member(keys[-1]) if container else None
        assert container is not None
        assert member is not None
        new = _without_member(document, container, member)
        del _at(expected, keys[:-1])[keys[-1]]
        return _checked(new, expected, keys)

    def hollows(self, text: str, keys: Sequence[str]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        if _is_blank(text):
            return {"": text, **dict.fromkeys(keys[:-1])}
        document, _ = read(text)
        for depth in range(len(keys)):
            container = document.object_at(keys[:depth])
            name = keys[depth - 1] if depth else ""
            if container is None:
                found[name] = None
            elif not container.members:
                found[name] = text[container.opening : container.closing + 1]
        return found

    def restore(
        self, text: str, hollows: Mapping[str, str | None], preamble: Mapping[str, Any]
    ) -> str | None:
        for name in sorted(hollows, reverse=True):  # The key "" comes last.
            document, settings = read(text)
            was = hollows[name]
            keys = [name] if name else []
            if not name and (was is None or _is_blank(was)):
                is_empty = settings in ({}, dict(preamble)) and document.bare == text
                return was if is_empty else text
            container = document.object_at(keys)
            if container is None:
                continue
            now = text[container.opening : container.closing + 1]
            if _squeezed(now) != _squeezed(was or "{}"):
                continue
            if was is not None:
                text = text[: container.opening] + was + text[container.closing + 1 :]
                continue
            parent = document.object_at([])
            assert parent is not None
            member = parent.member(name)
            assert member is not None
            text = _without_member(document, parent, member)
        return text


def _with_member(document: Document, container: Object, key: str, value: object, unit: str) -> str:
    """Return the text with a new last member. It follows comments on the line of the present last one."""
    text = document.text
    base = _indent_at(text, container.opening) or ""
    newline = newline_of(text)
    if container.members:
        last = container.members[-1]
        flat = _is_on_one_line(text, container)
        indent = newline + (_indent_at(text, last.start) or f"{base}{unit}")
        comma = document.comma_after(last.end)
        place = last.end if comma is None else comma + 1
        before, after = (",", "") if comma is None else ("", ",")
        member = (
            f"{' ' if flat else indent}{json.dumps(key)}: {_written(value, indent, unit, flat=flat)}{after}"
        )
        above = _after_comments(text, place, container.closing)
        return text[: last.end] + before + text[last.end : above] + member + text[above:]
    # The member comes after all comments, behind the last character that is not blank.
    place = blanks_before(text, container.closing)
    indent = f"{newline}{base}{unit}"
    member = f"{indent}{json.dumps(key)}: {_written(value, indent, unit)}"
    closing = "" if "\n" in text[place : container.closing] else f"{newline}{base}"
    return text[:place] + member + closing + text[place:]


def _without_member(document: Document, container: Object, member: Member) -> str:
    """Return the text without a member, the blanks before it, and its separating comma."""
    text = document.text
    start = blanks_before(text, member.start)
    comma = document.comma_after(member.end)
    rest = text[member.end :] if comma is None else text[member.end : comma] + text[comma + 1 :]
    if is_in_line_comment(text, start) and not rest.lstrip(" \t").startswith(("\n", "\r")):
        start = member.start  # Otherwise the rest would become part of the comment.
    before = text[:start]
    index = container.members.index(member)
    if comma is None and index:
        earlier = document.comma_after(container.members[index - 1].end)
        assert earlier is not None
        before = text[:earlier] + text[earlier + 1 : start]
    return before + rest


def _checked(new: str, expected: dict[str, Any], keys: Sequence[str]) -> str:
    """Return the new text. Raise UneditableSettingsError if it does not have the expected settings."""
    try:
        _, found = read(new)
    except UnreadableSettingsError:
        found = {}
    if found != expected:
        raise UneditableSettingsError(f'"{".".join(keys)}" cannot be changed without changing the rest')
    return new


def _written(value: object, newline: str, unit: str, *, flat: bool = False) -> str:
    """Return the JSON of a value. Objects take several lines unless `flat`; other values take one."""
    if not isinstance(value, Mapping) or not value or flat:
        return json.dumps(value, ensure_ascii=False)
    inner = newline + unit
    members = (f"{json.dumps(key)}: {_written(each, inner, unit)}" for key, each in value.items())
    return "{" + inner + f",{inner}".join(members) + newline + "}"


def _nested(keys: Sequence[str], value: Mapping[str, Any]) -> dict[str, Any]:
    nested = dict(value)
    for key in reversed(keys):
        nested = {key: nested}
    return nested


def _at(settings: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    for key in keys:
        settings = settings[key]
    return settings


def _put(settings: dict[str, Any], keys: Sequence[str], value: dict[str, Any]) -> None:
    for key in keys[:-1]:
        settings = settings.setdefault(key, {})
    settings[keys[-1]] = copy.deepcopy(value)


def _indent_unit(document: Document) -> str:
    """Return the indentation of the document's first key."""
    top = document.object_at([])
    indent = _indent_at(document.text, top.members[0].start) if top and top.members else None
    return indent or _INDENT


def _indent_at(text: str, position: int) -> str | None:
    """Return the indentation before a position; None if text other than a key precedes it on the line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return indent if indent == line or line.lstrip(" \t").startswith('"') else None


def _after_comments(text: str, position: int, end: int) -> int:
    """Return the position after the comments that follow on the same line."""
    while (match := _COMMENT_ON_THE_LINE.match(text, position, end)) is not None:
        position = blanks_before(text, match.end())
    return position


def _is_on_one_line(text: str, container: Object) -> bool:
    return "\n" not in text[container.opening : container.closing]


def _is_blank(text: str) -> bool:
    return not text.strip(BLANKS)


def _squeezed(text: str) -> str:
    return "".join(text.split())
