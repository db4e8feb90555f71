"""On which line of a TOML file each key stands, which `tomllib` does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

_TOKEN = re.compile(
    r"""
      (?P<comment>\#[^\n]*)
    | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3}(?!\") | '{3}.*?'{3}(?!') | "(?:[^"\\\n]|\\.)*" | '[^'\n]*')
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>\n) | (?P<equals>=)
    | (?P<bare>[A-Za-z0-9_-]+)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""All that decides where a key begins and a value ends, in a file that is known to be sound."""


def key_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """The line, from 1, on which each table and each key first stands; keys of inline tables are left out."""
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
