"""The lines of keys in a TOML file, which `tomllib` does not give, and a check for very long keys, on which
it hangs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

_PART = r"""[A-Za-z0-9_-]+|(?!\"{3}|'{3})(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_TOKEN = re.compile(
    rf"""
      (?P<key>(?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*+)
    | \#[^\n]* | \"{{3}}(?:[^\\]|\\.)*?\"{{3}}(?!") | '{{3}}.*?'{{3}}(?!')
    | ["'].*  # an unclosed string, where tomllib stops, too
    | [\[\]{{}}\n]
    """,
    re.VERBOSE | re.DOTALL,
)
"""Whatever decides where a key begins and where a value ends, since a value may look like a key."""


def deep_key_line(text: str, most: int) -> int | None:
    """Return the 1-based line of the first key with more than `most` parts, or None."""
    for token in _TOKEN.finditer(text):
        if token["key"] and len(re.findall(_PART, token["key"])) > most:
            return 1 + text.count("\n", 0, token.start())
    return None


def key_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """Return the first 1-based line of each table and key of a valid text, without keys in inline tables."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    line, depth, is_after_key = 1, 0, False
    for token in _TOKEN.finditer(text):
        written = token[0]
        if token["key"] and not is_after_key:
            is_after_key = True
            key = tuple(map(_unquoted, re.findall(_PART, written)))
            if depth:  # A key has no brackets, so this is a table's header.
                table = key
            whole = key if depth else (*table, *key)
            for length in range(1, len(whole) + 1):
                lines.setdefault(whole[:length], line)
        elif written in "[{":
            depth += 1
        elif written in "]}":
            depth -= 1
        elif written == "\n" and not depth:
            is_after_key = False
        line += written.count("\n")
    return lines


def _unquoted(written: str) -> str:
    return str(tomllib.loads(f"key = {written}")["key"]) if written[0] in "\"'" else written
