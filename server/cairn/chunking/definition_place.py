"""Find definitions in text alone: the lines that define a name, and the kind.

The text is a chunk, which may be a piece of a file, such as methods without their class, or PHP without its
opening tag. Parsers misread such pieces, so definitions are found by keywords.
"""

from __future__ import annotations

import re

from cairn.chunking.model import Chunk
from cairn.text.verbatim import find_words, starts_with_mark

_KINDS = {
    "class": "class", "struct": "struct", "interface": "interface", "trait": "interface", "enum": "enum",
    "type": "class", "def": "function", "fn": "function", "func": "function", "fun": "function",
    "function": "function", "const": "constant", "let": "variable", "var": "variable", "val": "variable",
    "module": "module", "namespace": "module",
}  # fmt: skip
"""The keywords of definitions in most languages, with the kinds of definitions."""
_VALUES = frozenset({"const", "let", "var", "val"})
_COMMON = "|".join(word for word in _KINDS if word not in {*_VALUES, "type", "namespace"})

DEFINITION = (
    r"^[ \t]*(?:(?:public|private|protected|internal|static|abstract|final|override|export|inline|pub|async)"
    r"\s+)*"
    rf"({_COMMON}|type|let|sub|proc|procedure|protocol|object|record|union|message|macro|template|task|model"
    r"|service)\s+(?:rec\s+|inline\s+)?([A-Za-z_][\w.]*[!?*]?)"
)
"""The pattern of a line that defines a type or a function, in languages without a grammar."""
_DEFINING = re.compile(rf"[ \t]*(?:\w+[ \t]+)*?(?P<keyword>{'|'.join(_KINDS)})\b")
_NAMED = re.compile(
    rf"[ \t]*(?:[\w@]+[ \t]+)*?(?:{'|'.join(_KINDS)}"
    r"|defp|defmacrop?|\#[ \t]*define|@callback|typealias|protocol|object|get|set)[ \t]+"
    r"(?:\([^()]*\)[ \t]*)?(?:\w+[.:]+)*(?P<name>[\w$]+)(?P<mark>[?!]?)"
)
"""The pattern of a keyword and the name, with an optional receiver (Go) or owner (C++, Lua) between them."""
_GIVEN = re.compile(r"\??(?:\[\w*\])?[ \t]*(?:[:;,<{(]|=(?!=))")
"""The pattern of the text after a name that is given a type, a value, parameters or a body."""


def definition_lines(chunk: Chunk, name: str) -> tuple[int, int]:
    """Return the lines `[start, end)` of the file in which the chunk defines `name`. The main definition
    extends to the chunk's end. For any other definition, only the line that names it is returned."""
    is_main = name == chunk.symbol
    lines = chunk.text.split("\n")
    candidates = [n for n, line in enumerate(lines) if name in line and find_words(name, line) >= 0]
    head = "".join(chunk.signature.split()) if is_main else ""
    at = next((n for n in candidates if head and _is_head(lines[n], head)), None)
    if at is None:
        at = min(candidates, key=lambda n: _unlike_definition(name, lines[n]), default=0)
    start = min(chunk.start_line + at, chunk.end_line - 1)
    return start, (chunk.end_line if is_main else start + 1)


def _unlike_definition(name: str, line: str) -> int:
    """Return how unlikely a line is to define the name, from 0 (after a keyword) to 4 (in a comment)."""
    head = _NAMED.match(line)
    if head and name in (head["name"], head["name"] + head["mark"]):
        return 0
    if starts_with_mark(line.strip()):
        return 4
    at = find_words(name, line)
    if _GIVEN.match(line, at + len(name)) and line[at - 1 : at] != ".":
        return 1
    return 2 if _DEFINING.match(line) else 3


def _is_head(line: str, head: str) -> bool:
    """Return whether the line contains the definition's head, given without spaces, or its first line."""
    squeezed = "".join(line.split())
    return head in squeezed or head.startswith(squeezed)


def kind_at(chunk: Chunk, line: int) -> str:
    """Return the kind of definition by the keyword in a line of the file; "" without such a keyword."""
    lines = chunk.text.split("\n")
    found = _DEFINING.match(lines[min(line - chunk.start_line, len(lines) - 1)])
    return _KINDS[found["keyword"]] if found else ""
