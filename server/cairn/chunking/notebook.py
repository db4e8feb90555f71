"""Cut Jupyter notebooks into chunks: each cell on its own, cited by the lines that contain its source.

Outputs, attachments and embedded images never become text: a cell produced them, and most are base64.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from cairn.chunking.classify import fence_type
from cairn.chunking.code import code_chunks, parse_code
from cairn.chunking.elements import Element, Heading
from cairn.chunking.lines import Lines
from cairn.chunking.markup import markdown_elements, plain_title
from cairn.chunking.model import Chunk
from cairn.chunking.plain import plain_chunks
from cairn.chunking.sections import HeadingPath, section_chunks
from cairn.languages.registry import detect_language, language_of_fence
from cairn.text.unicode import well_formed

# The pattern of the first line of a cell in another language: `%%bash`, `%%javascript --isolated`.
_CELL_MAGIC = re.compile(
    r"%%(bash|sh|script\s+bash|cmd|html|javascript|js|latex|markdown|perl|r|ruby|sql|svg)\b", re.I
)
# The pattern of IPython's commands, which the grammar cannot parse: `%timeit f()`, `!pip install x`.
_COMMAND = re.compile(r"^[ \t]*(?:%{1,2}[A-Za-z]|!).*$", re.MULTILINE)
# The pattern of data in the text itself, mostly an image pasted into a paragraph. Shorter runs may be tokens.
_EMBEDDED_DATA = re.compile(r"(;base64,)[A-Za-z0-9+/=]{100,}")

# The decoder accepts control characters, which some programs that write notebooks leave in strings.
_DECODER = json.JSONDecoder(strict=False)
_BEFORE = re.compile(r"\ufeff?[ \t\r\n]*")
# The whole text has been parsed before this is used, so the characters between two values need no check.
_BETWEEN = re.compile(r"[ \t\r\n,:]*")


@frozen
class _Cell:
    kind: str
    """`code`, `markdown`, `raw`, or `heading` (nbformat 3)."""
    source: str
    first: int
    last: int
    """The lines of the file in which the source starts (`first`) and ends (`last`)."""
    is_by_lines: bool
    """Whether line i of the source is alone on line `first` + i of the file, as nbformat writes it."""
    language: str = ""
    level: int = 1


def notebook_chunks(path: str, lines: Lines) -> list[Chunk] | None:
    """Return the chunks of a notebook's cells in order, or None if the text is not a notebook.

    A chunk's text is decoded source: whole lines of one cell, each with a line end. If the file has a
    separate line for each of them, the chunk has the numbers of exactly those lines. Otherwise every chunk of
    the cell has the line numbers of the cell's whole source, which may be fewer than the lines of the text.
    """
    text = lines.text(0, len(lines))
    try:
        notebook = read_json(text)
        top = members(text, notebook)
        if "cells" not in top and "worksheets" not in top and "nbformat" not in top:
            return None
        cells = list(_cells(text, top, lines))
    except (ValueError, RecursionError):
        return None
    language = _kernel_language(notebook.content)
    headings = HeadingPath()
    chunks = [(cell, chunk) for cell in cells for chunk in _cell_chunks(path, cell, language, headings)]
    return [_placed(chunk, cell, position) for position, (cell, chunk) in enumerate(chunks)]


def _cells(text: str, top: Mapping[str, Value], lines: Lines) -> Iterator[_Cell]:
    # In nbformat 3 and older versions, cells are in sheets.
    sheets = [members(text, sheet) for sheet in items(text, top["worksheets"])] if "worksheets" in top else []
    for place in (
        cell for sheet in (top, *sheets) if "cells" in sheet for cell in items(text, sheet["cells"])
    ):
        parts = members(text, place)
        source = parts.get("source") or parts.get("input")
        if source is None:
            continue
        pieces = items(text, source) or [source]
        if not all(isinstance(piece.content, str) for piece in pieces):
            continue
        decoded = well_formed("".join(piece.content for piece in pieces))
        if not decoded.strip():
            continue
        rows = [(lines.line_at(piece.start), lines.line_at(piece.end)) for piece in pieces]
        first, last = rows[0][0], rows[-1][1]
        decoded = _EMBEDDED_DATA.sub(r"\1…", decoded)
        ended = decoded if decoded[-1] in "\r\n" else decoded + "\n"
        cell: dict[str, Any] = place.content
        level = cell.get("level")
        yield _Cell(
            kind=str(cell.get("cell_type")),
            source=ended,
            first=first,
            last=last,
            is_by_lines=rows == [(first + index, first + index) for index in range(len(Lines(ended)))],
            language=_first_language(
                # VS Code, .NET Interactive and nbformat 3 write it in these places.
                _at(cell, "metadata", "vscode", "languageId"),
                _at(cell, "metadata", "dotnet_interactive", "language"),
                _at(cell, "language"),
            ),
            level=level if isinstance(level, int) and 1 <= level <= 6 else 1,
        )


def _kernel_language(notebook: Any) -> str:
    extension = _at(notebook, "metadata", "language_info", "file_extension")
    by_extension = detect_language(f"cell{extension}") if extension.startswith(".") else ""
    by_name = _first_language(
        _at(notebook, "metadata", "language_info", "name"),
        _at(notebook, "metadata", "kernelspec", "language"),
        _at(notebook, "metadata", "kernelspec", "name"),
    )
    # Most notebooks without a declared language are written in Python.
    return by_extension or by_name or "python"


def _first_language(*names: str) -> str:
    """Return the language of the first name that is not empty, without a version such as in `c++17`."""
    return next(filter(None, (language_of_fence(name.rstrip("0123456789.")) for name in names)), "")


def _at(content: Any, *keys: str) -> str:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""


@frozen
class Value:
    """A value in a JSON text and the offsets `[start, end)` of its text."""

    content: Any
    start: int
    end: int


def read_json(text: str) -> Value:
    """Return the JSON value that `text` contains, after an optional byte order mark. Raise ValueError if it
    is not JSON, RecursionError if it is nested too deeply."""
    value = _value_at(text, _skip(_BEFORE, text, 0))
    if text[value.end :].strip(" \t\r\n"):
        raise ValueError("there is more than one JSON value")
    return value


def members(text: str, value: Value) -> dict[str, Value]:
    """Return the values of an object, none if `value` is not an object. The last of equal keys counts."""
    parts = _parts(text, value) if isinstance(value.content, dict) else iter(())
    return {str(key.content): member for key, member in zip(parts, parts, strict=True)}


def items(text: str, value: Value) -> list[Value]:
    """Return the values in an array of `text`, none if the value is not an array."""
    return list(_parts(text, value)) if isinstance(value.content, list) else []


def _parts(text: str, value: Value) -> Iterator[Value]:
    """Yield the values in an array, or alternately the keys and values in an object."""
    at = _skip(_BETWEEN, text, value.start + 1)
    while text[at] not in "]}":
        part = _value_at(text, at)
        yield part
        at = _skip(_BETWEEN, text, part.end)


def _value_at(text: str, start: int) -> Value:
    content, end = _DECODER.raw_decode(text, start)
    return Value(content, start, end)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    skipped = pattern.match(text, at)
    return skipped.end() if skipped else at


def _cell_chunks(path: str, cell: _Cell, language: str, headings: HeadingPath) -> Iterator[Chunk]:
    """Yield the chunks of one cell, with line numbers relative to the cell's first line."""
    source = Lines(cell.source)
    if magic := _CELL_MAGIC.match(cell.source):
        language = language_of_fence(magic.group(1).split()[-1])
    elif cell.language:
        language = cell.language
    if cell.kind != "code" or language == "markdown":
        elements: list[Element] = list(markdown_elements(source))
        if cell.kind == "heading":
            elements = [Heading(0, len(source), cell.level, plain_title(cell.source.strip()))]
        yield from section_chunks(path, "markdown", source, elements, headings)
        return
    for chunk in _code(path, language, source):
        yield evolve(
            chunk,
            text=source.text(chunk.start_line, chunk.end_line),
            type=fence_type(language, cell.source) if magic else chunk.type,
            title=chunk.title if chunk.header_path or not headings.path else headings.path[-1],
            header_path=" > ".join(filter(None, (*headings.path, chunk.header_path))),
        )


def _code(path: str, language: str, source: Lines) -> list[Chunk]:
    text = source.text(0, len(source))
    if language == "python":
        # The commands are replaced by spaces of equal length, so that positions stay the same.
        text = _COMMAND.sub(lambda command: " " * len(command.group()), text)
    lines = Lines(text)
    code = parse_code(path, language, lines) if text.strip() else None
    return code_chunks(path, code, lines) if code is not None else plain_chunks(path, language, source)


def _placed(chunk: Chunk, cell: _Cell, position: int) -> Chunk:
    start, end = (chunk.start_line, chunk.end_line) if cell.is_by_lines else (0, cell.last + 1 - cell.first)
    return evolve(chunk, position=position, start_line=cell.first + start, end_line=cell.first + end)
