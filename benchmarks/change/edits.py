"""Edits definitions as programmers do: adds a parameter, removes, renames or moves a definition."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from attrs import frozen
from references.model import Sampled

from cairn.chunking.chunker import chunk_file
from cairn.chunking.references.symbol_table import Definition, SymbolTable

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_LEADING = re.compile(r"\s*(?:@|#\[|///|//|/?\*)")
"""The lines before a definition that are removed with it: decorators, attributes and comments."""
_SCRIPT = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
_TYPE_PARAMETERS = {
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "Extra = unknown"),
    ".rs": "Extra = ()",
    ".java": "Extra",
}
_BEFORE_PARAMETERS = re.compile(
    r"""\s*(?:[:=]\s*)?(?:async\s+)?(?:function\s*\*?\s*[\w$]*\s*)?(?=[<(])""",
    re.VERBOSE,
)
_RECEIVER = re.compile(r"\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?(?:self|this)\b(?:\s*:[^,]*)?(?:,\s*)?")
_CLASS_END = re.compile(r"\s*(?=[:{(\n])")


@frozen
class Edited:
    """A definition in a text, as whole lines."""

    start: int
    end: int
    """The line after the last one."""
    definition: Definition


def table_of(path: str, text: str) -> SymbolTable | None:
    return chunk_file(path, text)[1]


def found_in(path: str, text: str, sampled: Sampled) -> Edited | None:
    """Return the lines of a definition, with its decorators and comments; None if it shares lines with other
    code, or is unknown."""
    table = table_of(path, text)
    here = (each for each in (table.definitions if table else ()) if each.line == sampled.line)
    definition = next((each for each in here if each.name == sampled.name), None)
    if definition is None:
        return None
    lines = text.split("\n")
    start, end = definition.start_line, definition.end_line
    others = [each for each in (table.definitions if table else ()) if each is not definition]
    # A typedef names a struct on its last line.
    ends = {start, end - 1} if path.endswith((".c", ".h")) else {start}
    if any(each.line in ends and not each.is_declaration for each in others):
        return None
    if any(each.end_line - 1 == start and each.start_line < start for each in others):
        return None
    while start and _LEADING.match(lines[start - 1]):
        start -= 1
    return Edited(start, end, definition)


def without(text: str, edited: Edited) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: edited.start] + lines[edited.end :])


def renamed_at(text: str, sampled: Sampled, name: str) -> str:
    """Return the text with another name at the definition alone."""
    lines = text.split("\n")
    line = lines[sampled.line]
    at = line.index(sampled.name, max(0, sampled.character - 1))
    lines[sampled.line] = line[:at] + name + line[at + len(sampled.name) :]
    return "\n".join(lines)


def renamed(text: str, old: str, new: str) -> str:
    """Return the text with every occurrence of a word replaced."""
    return word(old).sub(lambda _: new, text)


def word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def with_parameter(path: str, text: str, sampled: Sampled) -> str | None:
    """Return the text with one more parameter of a function, or another supertype or type parameter of a
    type; None for heads of other forms."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: sampled.line])
    at = text.find(sampled.name, start + max(0, sampled.character - 1))
    if at < 0:
        return None
    end, ending = at + len(sampled.name), PurePosixPath(path).suffix
    if sampled.kind in ("class", "enum", "interface", "struct"):
        return _with_type(text, end, ending)
    found = _BEFORE_PARAMETERS.match(text, end)
    if found is None or (found.end() > end and "=" in found[0] and ending not in _SCRIPT):
        return None
    opening = found.end()
    if text[opening] == "<" or (ending == ".go" and text[opening] == "["):
        opening = _closed(text, opening) + 1
    if text[opening : opening + 1] != "(":
        return None
    closing = _closed(text, opening)
    if closing < 0:
        return None
    parameters = text[opening + 1 : closing]
    return f"{text[: opening + 1]}{_added(parameters, ending)}{text[closing:]}"


def _with_type(text: str, end: int, ending: str) -> str | None:
    rest = text[end:]
    if ending == ".py":
        if rest.startswith("("):
            closing = _closed(text, end)
            inside = text[end + 1 : closing]
            return f"{text[: end + 1]}{inside}{', ' if inside.strip() else ''}metaclass=type{text[closing:]}"
        return f"{text[:end]}(metaclass=type){rest}" if rest.startswith(":") else None
    if ending == ".go":
        return f"{text[:end]}[Extra any]{rest}" if rest.startswith((" struct", " interface")) else None
    if ending in _TYPE_PARAMETERS:
        given = _TYPE_PARAMETERS[ending]
        if rest.startswith("<"):
            closing = _closed(text, end)
            return f"{text[:closing]}, {given}{text[closing:]}" if closing > 0 else None
        return f"{text[:end]}<{given}>{rest}" if _CLASS_END.match(rest) or rest[:1] == " " else None
    if ending in (".js", ".mjs", ".cjs", ".jsx"):
        return f"{text[:end]} extends Object{rest}" if re.match(r"\s*\{", rest) else None
    if ending in (".cc", ".cpp", ".hpp", ".h") and text[:end].split()[-2:-1] == ["class"]:
        return f"{text[:end]} : public Extra{rest}" if re.match(r"\s*\{", rest) else None
    return None


def _added(parameters: str, ending: str) -> str:
    if ending == ".py":
        before, stars, after = parameters.partition("**")
        if stars:
            return f"{before}extra=None, {stars}{after}"
        kept = parameters.rstrip().rstrip(",")
        space = parameters[len(parameters.rstrip()) :]
        return f"{kept}, extra=None{space}" if kept.strip() else f"extra=None{space}"
    receiver = _RECEIVER.match(parameters)
    first, rest = (receiver[0], parameters[receiver.end() :]) if receiver else ("", parameters)
    if first and not first.rstrip().endswith(","):
        first += ", "
    given = {".go": "extra int", ".rs": "extra: u32", ".php": "$extra"}.get(ending, "int extra")
    if ending in _SCRIPT:
        given = "extra" if "js" in ending else "extra: number"
    if rest.strip() in ("", "void"):
        return first + given
    if ending == ".go" and not re.match(r"\s*\w+(?:\s*,\s*\w+)*\s+[\w*\[.(<]", rest):
        given = "int"  # The other parameters have no names, either.
    return f"{first}{given}, {rest}"


def _closed(text: str, opening: int) -> int:
    """Return the place of the bracket that closes the one at `opening`; -1 if there is none nearby."""
    close, depth, quote = _CLOSING[text[opening]], 0, ""
    for at in range(opening, min(len(text), opening + 4_000)):
        char = text[at]
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "\"'`" and close == ")" and not (char == "'" and text[at + 1 : at + 3].isidentifier()):
            quote = char
        elif char == text[opening]:
            depth += 1
        elif char == close and text[at - 1] not in "=-":
            depth -= 1
            if depth == 0:
                return at
    return -1
