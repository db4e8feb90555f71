"""On which line of a TOML file each key stands, which `tomllib` does not tell; and how long keys are, which it must not
find out: a key of some 100,000 parts takes it all memory there is, or minutes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

_TOKEN = re.compile(
    r"""
      (?P<comment>\#[^\n]*)
    | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3}(?!") | '{3}.*?'{3}(?!')
        | (?!\"{3}|'{3})(?:"(?:[^"\\\n]|\\.)*" | '[^'\n]*'))
    | (?P<unfinished>["'])
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>\n) | (?P<equals>=)
    | (?P<bare>[A-Za-z0-9_-]+) | (?P<dot>\.) | (?P<blank>[ \t]+)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""All that decides where a key begins and a value ends."""


def deep_key_line(text: str, most: int) -> int | None:
    """The line, from 1, of the first key of more than `most` parts, wherever it stands; None if there is none."""
    line, parts = 1, 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if (
            kind == "unfinished"
        ):  # tomllib stops there, too; to look for its end again and again would take long
            return None
        if kind in ("bare", "string"):
            parts += 1
            if parts > most:
                return line
        elif kind not in ("dot", "blank"):
            parts = 0
        line += token.group().count("\n")
    return None


def key_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """The line, from 1, on which each table and each key of a sound text first stands; keys of inline tables are left
    out."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for line, header, key in _statements(text):
        if header:
            table = key
        whole = key if header else (*table, *key)
        for length in range(1, len(whole) + 1):
            lines.setdefault(whole[:length], line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, bool, tuple[str, ...]]]:
    """Line, whether it is a table's header, and the key, of each header and each `key = value`."""
    line, depth, in_value, header = 1, 0, False, False
    first, key = 1, list[str]()
    for token in _TOKEN.finditer(text):
        kind, written = token.lastgroup, token.group()
        if kind == "end" and not depth:
            if key:
                yield first, header, tuple(key)
            in_value, header, key = False, False, []
        elif kind == "open":
            if not in_value:  # a key holds no bracket, so this is a header
                header = True
            else:
                depth += 1
        elif kind == "close" and in_value:
            depth -= 1
        elif kind == "equals":
            in_value = True
        elif kind in ("string", "bare") and not in_value:
            first = first if key else line
            key.append(_unquoted(written) if kind == "string" else written)
        line += written.count("\n")
    if key:
        yield first, header, tuple(key)


def _unquoted(written: str) -> str:
    return str(tomllib.loads(f"key = {written}")["key"])
