"""Edits settings in the format of their file, and checks that nothing else has changed.

TOML is edited here, of which every character outside of the entry stays as it is, and JSON in `jsonc`.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cairn.clients import jsonc
from cairn.clients.settings_files import (
    BLANKS,
    UneditableSettingsError,
    UnreadableSettingsError,
    blanks_before,
    newline_of,
)

Keys = tuple[str, ...]
"""The path of a value in settings."""


@frozen
class Format:
    """A format of settings. All methods raise UnreadableSettingsError for a text that is not in it."""

    parse: Callable[[str], dict[str, Any]]
    """Returns the settings in a text."""
    _put: Callable[[str, Sequence[str], object], str]
    _remove: Callable[[str, Sequence[str]], str]
    _blanks: str
    """The characters of a text without settings and comments."""

    def edited(self, text: str, edits: dict[Keys, object]) -> str:
        """Return the text with these values. Raise UneditableSettingsError if other settings would change."""
        expected, new = copy.deepcopy(self.parse(text)), text
        for keys, value in edits.items():
            new = self._put(new, keys, value)
            inner = expected
            for key in keys[:-1]:
                inner = inner.setdefault(key, {})
            inner[keys[-1]] = value
        return self._checked(new, expected, next(reversed(edits)))

    def without(self, text: str, keys: Keys) -> str:
        """Return the text without a value, nor the object around it if that is then empty.

        Raise UneditableSettingsError if other settings would change.
        """
        expected = inner = copy.deepcopy(self.parse(text))
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]
        return self._checked(self._remove(text, keys), expected, keys)

    def is_blank(self, text: str) -> bool:
        """Return whether a valid text has neither settings nor comments."""
        return not text.strip(self._blanks)

    def _checked(self, new: str, expected: dict[str, Any], keys: Keys) -> str:
        try:
            found = self.parse(new)
        except UnreadableSettingsError:
            found = {}
        top = keys[0]  # An object may disappear with its last value.
        for settings in (found, expected):
            if settings.get(top) == {}:
                del settings[top]
        if found != expected:
            place = ".".join(keys)
            raise UneditableSettingsError(f'"{place}" cannot be changed without the rest; change it by hand')
        return new


# --- TOML ------------------------------------------------------------------------------------------------

# Python's own parser decides whether a text is TOML, and where a table begins: at a line with a header, if
# the text above is complete. tomlkit 0.15 was tried: it removes the comments between the entry and the next
# table, and it loses tables of servers that are not adjacent, as Codex writes them.

_HEADER = re.compile(r"^[ \t]*\[[^\r\n]*", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STRING = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _parse(text: str) -> dict[str, Any]:
    """Return the settings. Raise UnreadableSettingsError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UnreadableSettingsError(str(problem)) from None
    except RecursionError:
        raise UnreadableSettingsError("its values are nested too deep") from None


def _put(text: str, keys: Sequence[str], value: object) -> str:
    """Return the text with `value` at the path `keys`: a table of strings and lists of strings, or a string.

    A string is replaced only if it is on one line of a table.
    """
    if not isinstance(value, Mapping):
        line = re.compile(rf"^([ \t]*{re.escape(keys[-1])}[ \t]*=[ \t]*){_STRING}", re.MULTILINE)
        found = next((line.search(text, *span) for span in _tables(text, keys[:-1])), None)
        return text if found is None else text[: found.end(1)] + _value(value) + text[found.end() :]
    newline = newline_of(text)
    lines = [f"[{'.'.join(key if _BARE_KEY.fullmatch(key) else _string(key) for key in keys)}]"]
    lines += [f"{key} = {_value(each)}" for key, each in value.items()]
    table = newline.join(lines)
    spans = list(_tables(text, keys))
    if spans:
        for span in reversed(spans[1:]):
            text = _without(text, *span)
        return text[: spans[0][0]] + table + text[spans[0][1] :]
    end = blanks_before(text, len(text))
    return text[:end] + 2 * newline + table + text[end:] if end else table + newline


def _remove(text: str, keys: Sequence[str]) -> str:
    """Return the text without the table at the path `keys` and those inside it."""
    for span in reversed(list(_tables(text, keys))):
        text = _without(text, *span)
    return text


def _tables(text: str, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the range of each table at `keys` or inside it, from the header to the end of the last value.

    Blanks and comments below belong to the next table.
    """
    headers: list[re.Match[str]] = []
    for match in _HEADER.finditer(text):
        # The text from a header on can be parsed separately.
        if _is_complete(text[headers[-1].start() if headers else 0 : match.start()]):
            headers.append(match)
    ends = [match.start() for match in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=False):  # Without a header, no table ends here.
        if _path(header[0])[: len(keys)] == [*keys]:
            yield header.start(), _end_of_values(text, header.end(), end)


def _is_complete(text: str) -> bool:
    """Return whether no string and no list is still open at the end of the text."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _path(header: str) -> list[str]:
    """Return the keys of a header, `[a."b.c"]`."""
    try:
        found: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return []
    path = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        path.append(key)
    return path


def _end_of_values(text: str, start: int, end: int) -> int:
    lines = _LINE.findall(text, start, end)
    while lines and (not lines[-1].strip(BLANKS) or lines[-1].lstrip(" \t").startswith("#")):
        end -= len(lines.pop())
    return blanks_before(text, max(start, end)) if lines else start


def _without(text: str, start: int, end: int) -> str:
    """Return the text without a table and the blank lines above it."""
    start = blanks_before(text, start)
    rest = text[end:]
    return text[:start] + rest if start else rest.lstrip(BLANKS)


def _value(value: object) -> str:
    return f"[{', '.join(map(_string, value))}]" if isinstance(value, list) else _string(str(value))


def _string(text: str) -> str:
    # JSON's escapes are valid in TOML, but TOML also requires one for this character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_JSONC = Format(jsonc.parse, jsonc.put, jsonc.remove, BLANKS + "{}")
_TOML = Format(_parse, _put, _remove, BLANKS)


def format_of(path: Path) -> Format:
    return _TOML if path.suffix == ".toml" else _JSONC
