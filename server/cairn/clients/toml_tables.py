"""Edits TOML as text: a server is a separate table, which can be at the end of any file.

Python's own parser decides whether a text is TOML, and where a table begins: at a line with a header, if the
text above is complete. tomlkit was tried: after it removed the table that it had added, files had one blank
line more. It failed on files whose tables of servers are not adjacent, as Codex writes them.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from cairn.clients.editing import (
    BLANKS,
    UneditableSettingsError,
    UnreadableSettingsError,
    blanks_before,
    newline_of,
)

_HEADER = re.compile(r"^[ \t]*\[[^\r\n]*", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STRING = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@frozen
class _Table:
    """A table with its header, as a range of the text."""

    start: int
    end: int
    """The end of the last value. Blanks and comments below it belong to the next table."""


class TomlEditor:
    def parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise UnreadableSettingsError(str(problem)) from None
        except RecursionError:
            raise UnreadableSettingsError("its values are nested too deep") from None

    def set(
        self, text: str, keys: Sequence[str], value: Mapping[str, Any], preamble: Mapping[str, Any]
    ) -> str:
        expected = self.parse(text)
        newline = newline_of(text)
        table = newline.join(_written(keys, value))
        tables = list(_tables(text, keys))
        if tables:
            first, *others = tables
            for other in reversed(others):
                text = _without(text, other)
            new = text[: first.start] + table + text[first.end :]
        elif text.strip(BLANKS):
            end = blanks_before(text, len(text))
            new = text[:end] + 2 * newline + table + text[end:]
        else:
            new = table + newline
        servers = expected
        for key in keys[:-1]:
            servers = servers.setdefault(key, {})
            if not isinstance(servers, dict):
                raise UneditableSettingsError(f'"{key}" is not a table')
        servers[keys[-1]] = copy.deepcopy(dict(value))
        return self._checked(new, expected, keys)

    def put(self, text: str, keys: Sequence[str], key: str, value: object) -> str:
        # The new string replaces one on a single line.
        expected = self.parse(text)
        line = re.compile(rf"^([ \t]*{re.escape(key)}[ \t]*=[ \t]*){_STRING}", re.MULTILINE)
        table = next(_tables(text, keys), None)
        found = line.search(text, table.start, table.end) if table else None
        new = text if found is None else text[: found.end(1)] + _value(value) + text[found.end() :]
        entry = expected
        for each in keys:
            entry = entry[each]
        entry[key] = value
        return self._checked(new, expected, keys)

    def remove(self, text: str, keys: Sequence[str]) -> str:
        expected = self.parse(text)
        for table in reversed(list(_tables(text, keys))):
            text = _without(text, table)
        servers = expected
        for key in keys[:-1]:
            servers = servers[key]
        del servers[keys[-1]]
        return self._checked(text, expected, keys)

    def hollows(self, text: str, keys: Sequence[str]) -> dict[str, str | None]:
        return {} if text.strip(BLANKS) else {"": text}  # A table needs nothing around it.

    def restore(
        self, text: str, hollows: Mapping[str, str | None], preamble: Mapping[str, Any]
    ) -> str | None:
        return text if text.strip(BLANKS) or "" not in hollows else hollows[""]

    def _checked(self, new: str, expected: dict[str, Any], keys: Sequence[str]) -> str:
        try:
            found = self.parse(new)
        except UnreadableSettingsError:
            found = None
        # A table that exists only as part of the names of other tables disappears with them.
        top = keys[0]
        if found is not None and found.get(top, {}) == {} and expected.get(top, {}) == {}:
            found, expected = (
                {key: each for key, each in one.items() if key != top} for one in (found, expected)
            )
        if found != expected:
            raise UneditableSettingsError(
                f'"{top}" is not written as tables, [{".".join(keys)}]; change it by hand'
            )
        return new


def _tables(text: str, keys: Sequence[str]) -> Iterator[_Table]:
    headers: list[re.Match[str]] = []
    for match in _HEADER.finditer(text):
        # The text from a header on can be parsed separately.
        if _is_complete(text[headers[-1].start() if headers else 0 : match.start()]):
            headers.append(match)
    ends = [match.start() for match in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=False):  # Without a header, no table ends here.
        if _path(header[0])[: len(keys)] == [*keys]:
            yield _Table(header.start(), _end_of_values(text, header.end(), end))


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


def _without(text: str, table: _Table) -> str:
    """Return the text without a table and the blank lines above it."""
    start = blanks_before(text, table.start)
    rest = text[table.end :]
    return text[:start] + rest if start else rest.lstrip(BLANKS)


def _written(keys: Sequence[str], value: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{'.'.join(key if _BARE_KEY.fullmatch(key) else _string(key) for key in keys)}]"
    for key, each in value.items():
        yield f"{key} = {_value(each)}"


def _value(value: object) -> str:
    return f"[{', '.join(map(_string, value))}]" if isinstance(value, list) else _string(str(value))


def _string(text: str) -> str:
    # JSON's escapes are valid in TOML, but TOML also requires one for this character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
