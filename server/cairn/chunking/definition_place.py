"""Where in a chunk a name is defined, and as what, as far as its lines tell."""

from __future__ import annotations

import re

from cairn.chunking.model import Chunk
from cairn.text.verbatim import find_words, starts_with_mark


def definition_lines(chunk: Chunk, name: str) -> tuple[int, int]:
    """The lines `[start, end)` of the file in which the chunk defines `name`.

    Its main definition goes on to the chunk's end; of others the line is given that names it first.
    """
    is_main = name == chunk.symbol
    lines = chunk.text.split("\n")
    naming = [number for number, line in enumerate(lines) if name in line and find_words(name, line) >= 0]
    head = "".join(chunk.signature.split()) if is_main else ""
    at = next((n for n in naming if head and _is_head(lines[n], head)), None)
    if at is None:
        at = min(naming, key=lambda n: _unlike_definition(name, lines[n]), default=0)
    start = min(chunk.start_line + at, chunk.end_line - 1)
    return start, (chunk.end_line if is_main else start + 1)


def definition_at(chunk: Chunk, first: int, last: int) -> str:
    """The definition that the lines `[first, last)` of the file are about: the first that begins there, or else the nearest above.

    A chunk of several small definitions is called after its main one, which may be another.
    """
    places = sorted((definition_lines(chunk, name)[0], name) for name in chunk.defines)
    within = [name for line, name in places if first <= line < last]
    above = [name for line, name in places if line < first]
    return within[0] if within else above[-1] if above else chunk.symbol


def _unlike_definition(name: str, line: str) -> int:
    """How little the line, which names it, looks like its definition: from 0, what is defined by a keyword, to 4, a comment."""
    head = _HEAD.match(line)
    if head and name in (head["name"], head["name"] + head["mark"]):
        return 0
    if starts_with_mark(line.strip()):
        return 4
    at = find_words(name, line)
    if _VALUE.match(line, at + len(name)) and line[at - 1 : at] != ".":
        return 1
    return 2 if _DEFINING.match(line) else 3


def _is_head(line: str, head: str) -> bool:
    """Whether the line holds the definition's head, without any space, or the first line of it."""
    squeezed = "".join(line.split())
    return head in squeezed or head.startswith(squeezed)


def kind_at(chunk: Chunk, line: int) -> str:
    """What the keyword in a line of the file says that is defined there; "" if it has none."""
    lines = chunk.text.split("\n")
    found = _DEFINING.match(lines[min(line - chunk.start_line, len(lines) - 1)])
    return _KINDS[found["keyword"]] if found else ""


_KINDS = {
    "class": "class", "struct": "struct", "interface": "interface", "trait": "interface", "enum": "enum",
    "type": "class", "def": "function", "fn": "function", "func": "function", "fun": "function",
    "function": "function", "const": "constant", "let": "variable", "var": "variable", "val": "variable",
    "module": "module", "namespace": "module",
}  # fmt: skip
_DEFINING = re.compile(rf"[ \t]*(?:\w+[ \t]+)*?(?P<keyword>{'|'.join(_KINDS)})\b")
_HEAD = re.compile(
    rf"[ \t]*(?:[\w@]+[ \t]+)*?(?:{'|'.join(_KINDS)}|defp|defmacrop?|\#[ \t]*define|@callback|typealias|protocol|object|get|set)"
    r"[ \t]+(?:\([^()]*\)[ \t]*)?(?:\w+[.:]+)*(?P<name>[\w$]+)(?P<mark>[?!]?)"
)
"""A keyword, a receiver in Go and an owner in C++ or Lua, and the name."""
_VALUE = re.compile(r"\??(?:\[\w*\])?[ \t]*(?:[:;,<{(]|=(?!=))")
"""What stands after a name where that is given a type, a value, parameters or a body."""
