"""Edits one table in TOML. Every other character stays as it is.

Python's own parser decides whether a text is TOML, and where a table begins: at a line with a header, if the
text above is complete. tomlkit 0.15 was tried: it removes the comments between the entry and the next table,
and it loses tables of servers that are not adjacent, as Codex writes them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cairn.clients.settings_files import BLANKS, UnreadableSettingsError, blanks_before, newline_of

_HEADER = re.compile(r"^[ \t]*\[[^\r\n]*", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STRING = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """Return the settings. Raise UnreadableSettingsError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UnreadableSettingsError(str(problem)) from None
    except RecursionError:
        raise UnreadableSettingsError("its values are nested too deep") from None


def put(text: str, keys: Sequence[str], value: object) -> str:
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


def remove(text: str, keys: Sequence[str]) -> str:
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
