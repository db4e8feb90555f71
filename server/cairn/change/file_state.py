"""A file's text before or after a change, with its definitions by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.chunking.code import Code, definitions_of, parse_code, symbols_of
from cairn.chunking.definition_text import DefinitionText, definition_text
from cairn.chunking.lines import Lines
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.packed_table import PackedTable, names_of, pack
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.references.edges import Place, place_of
from cairn.index.references.known_symbols import OtherText, Symbol
from cairn.languages.registry import language_of
from cairn.text.verbatim import lines_of
from cairn.workspace.import_graph import read_imports

_MOST_STATES = 64
"""How many texts stay parsed. The same change is looked at again after each edit."""
_LEADS = re.compile(r"\s*(?:#|//|/\*|\*|--|;|@|%|\(\*|\"\"\"|'''|\[|<!--|\{-)")
"""Matches a line that may belong to the definition below: a comment, a decorator, an attribute."""
_LONG_FUNCTION = 150
"""The number of lines from which a function is long."""
_MOST_HEAD = 12
"""The maximum number of lines of a definition's head."""


@frozen(eq=False, slots=False)
class FileState:
    path: str
    text: str
    code: Code
    table: PackedTable
    """The definitions, without references."""

    @cached_property
    def names(self) -> OtherText:
        """All names in the text."""

        def read() -> tuple[PackedTable, frozenset[str]] | None:
            table = symbols_of(self.code)
            return (PackedTable(pack(table)), frozenset(names_of(table).split())) if table else None

        return OtherText(self.text, read_imports(self.path, self.code.language, self.text), read)

    @cached_property
    def lines(self) -> Sequence[str]:
        return lines_of(self.text)

    @cached_property
    def places(self) -> Sequence[Place]:
        """The definitions by number."""
        return [place_of(Symbol(self.path, number, self.table)) for number in range(self.table.count)]

    @cached_property
    def is_local(self) -> Sequence[bool]:
        """Whether each definition is in a function, which only that function can use. Those in very long
        functions do not count, since such a function is a module."""
        local: list[bool] = []
        for place in self.places:
            around = self.table.parent(place.number)
            outer = self.places[around] if around >= 0 else None
            is_inside = outer is not None and outer.kind in CALLABLE
            is_short = outer is not None and outer.end_line - outer.start_line <= _LONG_FUNCTION
            local.append((is_inside and is_short) or (outer is not None and local[around]))
        return local

    @cached_property
    def first_rows(self) -> Sequence[int]:
        """The rows at which the definitions begin, with their comments and decorators."""
        rows = []
        for number, (start, _) in enumerate(self.table.lines()):
            around, row = self.table.parent(number), start
            while (
                not self.is_local[number]
                and row
                and self._inside[row - 1] == around
                and _LEADS.match(self.lines[row - 1])
            ):
                row -= 1
            rows.append(row)
        return rows

    @cached_property
    def _inside(self) -> NDArray[np.int32]:
        """int32[rows], the innermost definition around each row, or TOP_LEVEL."""
        owners = np.full(len(self.lines) + 1, TOP_LEVEL, np.int32)
        for number, (start, end) in enumerate(self.table.lines()):
            if not self.is_local[number]:
                owners[start:end] = number
        return owners

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """The same, where comments and decorators belong to the definition below them."""
        owners = self._inside.copy()
        for number, (start, _) in enumerate(self.table.lines()):
            if not self.is_local[number]:
                owners[self.first_rows[number] : start] = number
        return owners

    def rows_inside(self, number: int) -> set[int]:
        """Return the rows of the definitions inside of one, with their comments and decorators."""
        start, end = self.table.lines()[number]
        rows = np.flatnonzero(self.owners[start:end] != number) + start
        return set(rows.tolist())

    def head(self, number: int) -> str:
        """Return the lines of a definition's head, joined."""
        place, head = self.places[number], ""
        for row in range(place.line, min(place.end_line, place.line + _MOST_HEAD, len(self.lines))):
            head = f"{head} {self.lines[row].strip()}".strip()
            if head.count("(") <= head.count(")"):
                break
        return head

    def numbers_at(self, rows: Iterable[int]) -> set[int]:
        """Return the innermost definitions of these rows, which may include TOP_LEVEL."""
        known = [row for row in rows if row < len(self.owners)]
        return set(self.owners[known].tolist()) if known else set()


@lru_cache(maxsize=_MOST_STATES)
def file_state(path: str, text: str) -> FileState | None:
    """Return the state of a file; None for a file of whose language no definitions are read."""
    code = parse_code(path, language_of(path, text), Lines(text)) if text.strip() else None
    table = definitions_of(code) if code is not None else None
    if code is None or table is None:
        return None
    return FileState(path, text, code, PackedTable(pack(table)))


def text_of(state: FileState, number: int, *, whole: bool = False) -> DefinitionText | None:
    """Return the tokens of a definition; unless `whole`, those of a type without its members."""
    definition = state.table.definition(number)
    inside = state.rows_inside(number) if definition.kind in CONTAINERS and not whole else ()
    return definition_text(state.code, definition, state.first_rows[number], inside)
