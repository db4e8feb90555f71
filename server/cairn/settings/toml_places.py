"""On which line of a TOML file each key stands, which `tomllib` does not tell; and how long keys are, which it must not
find out: a key of some 100,000 parts takes it all memory there is, or minutes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

_PART = r"""[A-Za-z0-9_-]+|(?!\"{3}|'{3})(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_TOKEN = re.compile(
    rf"""
      (?P<key>(?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*+)
    | \#[^\n]* | \"{{3}}(?:[^\\]|\\.)*?\"{{3}}(?!") | '{{3}}.*?'{{3}}(?!')
    | ["'].*  # without an end: tomllib stops there, too; to look for the end again and again would take long
    | [\[\]{{}}\n]
    """,
    re.VERBOSE | re.DOTALL,
)
"""All that decides where a key begins and a value ends; many values look like keys."""


def deep_key_line(text: str, most: int) -> int | None:
    """The line, from 1, of the first key of more than `most` parts, wherever it stands; None if there is none."""
    for token in _TOKEN.finditer(text):
        if token["key"] and len(re.findall(_PART, token["key"])) > most:
            return 1 + text.count("\n", 0, token.start())
    return None


def key_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """The line, from 1, on which each table and key of a sound text first stands; inline tables' keys are left out."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    line, depth, is_after_key = 1, 0, False
    for token in _TOKEN.finditer(text):
        written = token[0]
        if token["key"] and not is_after_key:
            is_after_key = True
            key = tuple(map(_unquoted, re.findall(_PART, written)))
            if depth:  # a key holds no bracket, so this is a header
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
