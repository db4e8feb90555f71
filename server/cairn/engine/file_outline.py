"""Makes the outline of a file: its definitions or, in a document, its headings, with lines and depths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from cairn.chunking.chunker import chunk_file
from cairn.chunking.definition_place import definition_lines, kind_at
from cairn.chunking.markup import headings_of
from cairn.chunking.model import Chunk
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.symbol_table import TOP_LEVEL, Definition
from cairn.index.reader.index_reader import IndexReader
from cairn.languages.registry import language_of
from cairn.retrieval.evidence_lines import import_lines
from cairn.retrieval.place_ranking import with_lead as with_lead
from cairn.retrieval.place_ranking import with_short_lead as with_short_lead
from cairn.text.verbatim import lines_with_ends

if TYPE_CHECKING:
    from cairn.chunking.references.packed_table import PackedTable

HEADING = "heading"
_CLOSES = re.compile(r"[)}\]{]|end\b")
"""Matches a line, as deep as the first one of a block, that belongs to it."""


@frozen
class OutlineEntry:
    """One definition or heading. Lines are 0-based, characters UTF-16 code units, as in LSP."""

    name: str
    kind: str
    """The kind, such as `function`, `class` or `heading`; "" if unknown."""
    qualified: str
    """The name after those of the enclosing definitions, such as `Application.handle`; a heading's name."""
    depth: int
    start_line: int
    end_line: int
    """The line after the last one."""
    line: int
    character: int = 0
    """The column of the name in its line."""
    has_references: bool = False
    """Whether `cairn/references` finds the definition at `line` and `character`."""

    @property
    def is_called(self) -> bool:
        """Whether the definition can be called or instantiated. Other definitions can only be used."""
        return self.kind in CALLABLE or self.kind in CONTAINERS


def indexed_outline(reader: IndexReader, path: str) -> tuple[OutlineEntry, ...]:
    """Return the outline of an indexed file or its unsaved text; () if the path is not indexed."""
    page = reader.page(path)
    text = "".join(stored.chunk.text for stored in page)
    language = language_of(path, text)
    if headings := _headings(language, text):
        return headings
    for source, _sign, ids in reader.by_source([number for number, _ in reader.symbols_at([path])]):
        for table in source.symbol_tables(ids).values():
            if table.count:  # A template may only refer to names.
                return _definitions([table.definition(number) for number in range(table.count)])
    return _of_chunks([stored.chunk for stored in page])


def outline_of_text(path: str, text: str) -> tuple[OutlineEntry, ...]:
    """Return the outline of `text`. Parsing 2,000 lines takes 30 ms. The text of a notebook is its JSON."""
    if headings := _headings(language_of(path, text), text):
        return headings
    chunks, table = chunk_file(path, text)
    return _definitions(table.definitions) if table and table.definitions else _of_chunks(chunks)


def innermost(outline: Iterable[OutlineEntry], line: int) -> OutlineEntry | None:
    """Return the deepest entry that contains the line, the last of several; None if there is none."""
    around = [entry for entry in outline if entry.start_line <= line < entry.end_line]
    return max(around, key=lambda entry: (entry.depth, entry.start_line), default=None)


def opening(lines: Sequence[str], most: int) -> int:
    """Return how many lines introduce a text, at most `most`: those before its first import."""
    return min([most, len(lines), *import_lines(lines[:most])])


def _definitions(definitions: Sequence[Definition]) -> tuple[OutlineEntry, ...]:
    depths: list[int] = []
    entries = []
    for each in definitions:
        depth = 0 if each.parent == TOP_LEVEL else depths[each.parent] + 1
        depths.append(depth)
        entries.append(
            OutlineEntry(
                name=each.name,
                kind=each.kind,
                qualified=_qualified(definitions, each),
                depth=depth,
                start_line=each.start_line,
                end_line=each.end_line,
                line=each.line,
                character=each.character,
                has_references=True,
            )
        )
    return tuple(entries)


def _qualified(definitions: Sequence[Definition], definition: Definition) -> str:
    names, around = [definition.name], definition
    while around.parent != TOP_LEVEL:
        around = definitions[around.parent]
        names.append(around.name)
    return _joined(names, definition.owner)


def _joined(names: list[str], owner: str) -> str:
    """Return the qualified name of a definition of `owner`, given the names from the innermost to the
    outermost."""
    if owner and owner not in names[1:]:
        names.insert(1, owner)
    return ".".join(reversed(names))


def qualified_in(table: PackedTable, number: int) -> str:
    """Return the qualified name of a definition, as `OutlineEntry.qualified`."""
    names = [table.name(each) for each in table.scopes(number)]
    return _joined(names, table.definition(number).owner)


def _headings(language: str, text: str) -> tuple[OutlineEntry, ...]:
    """Return the headings, each with the lines up to the next heading of the same or a higher level."""
    headings = headings_of(language, text)
    lines = len(lines_with_ends(text))
    entries: list[OutlineEntry] = []
    open_ones: list[tuple[int, int]] = []
    """The level, and the index in `entries`, of each heading around the current line, outermost first."""
    for heading in headings:
        while open_ones and open_ones[-1][0] >= heading.level:
            _, place = open_ones.pop()
            entries[place] = evolve(entries[place], end_line=heading.start)
        open_ones.append((heading.level, len(entries)))
        entries.append(
            OutlineEntry(
                heading.title, HEADING, heading.title, len(open_ones) - 1, heading.start, lines, heading.start
            )
        )
    return tuple(entries)


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """Return the line after the block that the line `start` begins: further lines that are indented deeper,
    and a bracket or word that closes it."""
    indent, end = _indent(lines[start]), start + 1
    for number in range(start + 1, len(lines)):
        text = lines[number].strip()
        if text and _indent(lines[number]) <= indent and not _CLOSES.match(text):
            break
        end = number + 1 if text else end
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _of_chunks(chunks: Sequence[Chunk]) -> tuple[OutlineEntry, ...]:
    """Return the outline of a file without a symbol table. Chunks of a notebook name the headings above."""
    entries: list[OutlineEntry] = []
    above: tuple[str, ...] = ()
    main: tuple[str, int] | None = None
    """The name of the last chunk's definition, and its index in `entries`."""
    for chunk in chunks:
        is_named = chunk.symbol or chunk.parent
        headings = above if is_named else tuple(filter(None, chunk.header_path.split(" > ")))
        for depth, title in enumerate(headings):
            if headings[: depth + 1] != above[: depth + 1]:
                entries.append(
                    OutlineEntry(
                        title, HEADING, title, depth, chunk.start_line, chunk.end_line, chunk.start_line
                    )
                )
        above = headings
        lines = chunk.text.removesuffix("\n").split("\n")
        found = {name: definition_lines(chunk, name) for name in chunk.defines}
        if chunk.symbol and chunk.symbol not in found and main and main[0] == chunk.symbol:
            entries[main[1]] = evolve(entries[main[1]], end_line=chunk.end_line)  # a further part of it
        for name, (start, end) in found.items():
            is_main = name == chunk.symbol
            if not is_main:
                end = chunk.start_line + _end_of_block(lines, start - chunk.start_line)
            elif below := [other for other, _ in found.values() if other > start]:
                end = with_lead(lines, min(below) - chunk.start_line)
                end = chunk.start_line + next(n for n in range(end, 0, -1) if lines[n - 1].strip())
            kind = chunk.symbol_kind if is_main else kind_at(chunk, start)
            qualified = f"{chunk.parent}.{name}" if is_main and chunk.parent else name
            main = (name, len(entries)) if is_main else main
            entries.append(OutlineEntry(name, kind, qualified, len(above), start, end, start))
    return tuple(sorted(entries, key=lambda entry: (entry.start_line, entry.depth)))
