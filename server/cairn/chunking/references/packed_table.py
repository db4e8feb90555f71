"""Pack symbol tables into bytes, and read them without creating an object for every name."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cairn.chunking.outline import VALUES
from cairn.chunking.references.symbol_table import (
    Definition,
    Reference,
    ReferenceKind,
    SymbolTable,
    Variable,
)
from cairn.languages.imports import Import, Module

_LEVEL = 4
_PLAIN = re.compile(r"[\w$@][\w$@.]*(?:\.bind\(\))?")
_WORD = re.compile(r"[\w$]+")
_MOST_BYTES = 1 << 30
"""The size limit of an unpacked table, which no file of a size that is indexed reaches."""


FILLED = "$="
"""The mark of a word that is the name of a field which a literal fills."""


def names_of(table: SymbolTable) -> str:
    """Return the words by which a table is found: the names used in it, and after `=`, the names defined."""
    used = {each.name for each in table.references}.union(each.member for each in table.imports)
    defined = {each.name for each in table.definitions}
    words = set(words_of(" ".join(used))).union(f"={word}" for word in words_of(" ".join(defined)))
    fields = (each.name.rpartition(".")[2] for each in table.variables if each.name.startswith(":"))
    words.update(f"{FILLED}{each}" for each in fields)
    return " ".join(sorted(words))


def words_of(name: str) -> list[str]:
    """Return the words by which the index finds a name: `valid` for `valid?`."""
    return _WORD.findall(name)


def pack(table: SymbolTable) -> bytes:
    """Return the table as bytes, about 5 bytes for each reference."""
    strings: defaultdict[str, int] = defaultdict()
    strings.default_factory = strings.__len__
    number = strings.__getitem__
    number("")
    blocks: tuple[Columns, ...] = (
        _columns(
          [
            (
                number(each.name), number(each.kind), number(each.owner), each.parent, each.start_line,
                each.end_line, each.line, each.character, number(each.type),
                each.is_private + 2 * each.is_declaration + 4 * each.is_accessor,
            )
            for each in table.definitions
        ]),
        _reference_columns(table.references, number),
        _columns([
            (each.scope, number(each.name), each.line, number(each.type), each.end_line)
            for each in table.variables
        ]),
        _columns([
            (number(each.name), number(str(each.module or "")), number(each.member))
            for each in table.imports
        ]),
    )  # fmt: skip
    head = [
        number(table.language),
        number(table.namespace),
        *(len(block[0]) if block else 0 for block in blocks),
    ]
    text = "\n".join(text.replace("\n", " ") for text in strings).encode("utf-8", "surrogatepass")
    parts = [len(text).to_bytes(4, "little"), text, np.array(head, np.int32).tobytes()]
    for block in blocks:
        if block:
            # The numbers in most columns rise slowly, and small differences compress well.
            columns = np.array(block, np.int32)
            columns[:, 1:] -= columns[:, :-1].copy()
            parts.append(columns.tobytes())
    return zlib.compress(b"".join(parts), _LEVEL)


Columns = Sequence[Sequence[int]]


def _columns(rows: Sequence[Sequence[int]]) -> Columns:
    return list(zip(*rows, strict=True))


def _reference_columns(references: Sequence[Reference], number: Callable[[str], int]) -> Columns:
    """Return the columns of references. A file has thousands, so no Python loop runs over them."""
    if not references:
        return ()
    names, kinds, lines, characters, enclosing, receivers = zip(*references, strict=True)
    pairs = zip(names, receivers, strict=True)
    numbers = list(map(number, chain.from_iterable(pairs)))
    return (numbers[::2], list(map(int, kinds)), lines, characters, enclosing, numbers[1::2])


_HEAD, _DEFINITION_COLUMNS, _REFERENCE_COLUMNS, _VARIABLE_COLUMNS, _IMPORT_COLUMNS = 6, 10, 6, 5, 3


class PackedTable:
    """A packed symbol table, of which only the requested entries are unpacked."""

    def __init__(self, packed: bytes, most: int = _MOST_BYTES) -> None:
        """Raise ValueError, LookupError or zlib.error for other bytes, and if the table is larger than
        `most`."""
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, most)
        if not unpacking.eof:
            raise ValueError("The table is too large, or not complete.")
        self.size = len(data)
        size = int.from_bytes(data[:4], "little")
        self._strings: list[str] = data[4 : 4 + size].decode("utf-8", "surrogatepass").split("\n")
        ints = np.frombuffer(data, np.int32, offset=4 + size)
        language, namespace, *counts = ints[:_HEAD].tolist()
        self.language, self.namespace = self._strings[language], self._strings[namespace]
        start = _HEAD
        blocks: list[NDArray[np.int32]] = []
        widths = (_DEFINITION_COLUMNS, _REFERENCE_COLUMNS, _VARIABLE_COLUMNS, _IMPORT_COLUMNS)
        for count, width in zip(counts, widths, strict=True):
            block = ints[start : start + count * width].reshape(width, count)
            blocks.append(np.cumsum(block, axis=1, dtype=np.int32))
            start += count * width
        self._definitions, self._references, self._variables, self._imports = blocks

        self._definition_cache: dict[int, Definition] = {}

    def check(self) -> None:
        """Raise IndexError for the number of a string, a kind or a definition that does not exist."""
        texts, definitions = len(self._strings), self.count
        limits = (
            (self._definitions[[0, 1, 2, 8]], 0, texts),
            (self._references[[0, 5]], 0, texts),
            (self._references[1], 0, len(ReferenceKind)),
            (self._references[4], -1, definitions),
            (self._variables[[1, 3]], 0, texts),
            (self._variables[0], -1, definitions),
            (self._imports, 0, texts),
            # A definition follows the one that encloses it; otherwise, `scopes` might never end.
            (self._definitions[3] - np.arange(definitions), -definitions, 0),
        )
        for numbers, low, high in limits:
            if numbers.size and (numbers.min() < low or numbers.max() >= high):
                raise IndexError("The table refers to what it does not contain.")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._strings)}

    @property
    def count(self) -> int:
        return int(self._definitions.shape[1])

    def definition(self, number: int) -> Definition:
        if (definition := self._definition_cache.get(number)) is None:
            name, kind, owner, parent, start, end, line, character, type_, flags = self._definitions[
                :, number
            ].tolist()
            texts = self._strings
            definition = self._definition_cache[number] = Definition(
                texts[name], texts[kind], texts[owner], parent, start, end, line, character, texts[type_],
                bool(flags & 1), bool(flags & 2), bool(flags & 4),
            )  # fmt: skip
        return definition

    def lines(self) -> list[tuple[int, int]]:
        """Return the lines `[start, end)` of each definition."""
        return list(zip(*self._definitions[4:6].tolist(), strict=True))

    def defining(self, name: str) -> list[int]:
        return self._where(self._definitions[0], name)

    def name(self, number: int) -> str:
        return self._strings[self._columns[0][number]]

    def kind(self, number: int) -> str:
        return self._strings[self._columns[1][number]]

    def parent(self, number: int) -> int:
        return self._columns[2][number]

    @cached_property
    def _columns(self) -> tuple[list[int], list[int], list[int]]:
        """The name, kind and parent of each definition, as lists, in which access to one is fast."""
        rows: list[list[int]] = self._definitions[[0, 1, 3]].tolist()
        return rows[0], rows[1], rows[2]

    def around(self, line: int) -> list[int]:
        """Return the definitions that contain this line, the outermost first."""
        starts, ends = self._definitions[4], self._definitions[5]
        return np.flatnonzero((starts <= line) & (ends > line)).tolist()

    def scopes(self, number: int) -> Iterator[int]:
        """Yield the definition and the definitions that enclose it, the innermost first."""
        while number >= 0:
            yield number
            number = self.parent(number)

    def within(self, number: int) -> list[int]:
        parents = self._definitions[3].tolist()
        inside = {number}
        for each in range(number + 1, len(parents)):
            if parents[each] in inside:
                inside.add(each)
        return sorted(inside)

    def references_to(self, name: str) -> list[Reference]:
        """Return the references with this name, in order."""
        return list(map(self._reference, self._where(self._references[0], name)))

    def references_within(self, number: int) -> list[Reference]:
        inside = np.flatnonzero(np.isin(self._references[4], self.within(number)))
        return list(map(self._reference, inside.tolist()))

    def inherited(self, number: int) -> list[Reference]:
        """Return the references of a type to its supertypes and interfaces."""
        here = (self._references[4] == number) & (self._references[1] == ReferenceKind.INHERIT)
        return list(map(self._reference, np.flatnonzero(here).tolist()))

    def references_on(self, first: int, last: int) -> list[Reference]:
        """Return the references on the lines `[first, last)`, in order."""
        lines = self._references[2]
        return list(map(self._reference, np.flatnonzero((lines >= first) & (lines < last)).tolist()))

    def _reference(self, number: int) -> Reference:
        name, kind, line, character, enclosing, receiver = self._references[:, number].tolist()
        return Reference(
            self._strings[name], ReferenceKind(kind), line, character, enclosing, self._strings[receiver]
        )

    def variables(self, name: str) -> list[Variable]:
        found = []
        for number in self._where(self._variables[1], name):
            scope, _, line, type_, end = self._variables[:, number].tolist()
            found.append(Variable(scope, name, line, self._strings[type_], end))
        return found

    def filled(self, member: str) -> list[Variable]:
        """Return the members of that name that literals fill, whatever object or type they belong to."""
        return [each for name in self._members.get(member, ()) for each in self.variables(name)]

    def holding(self, name: str) -> list[Variable]:
        """Return the variables whose value is the name, alone or as a member."""
        found = []
        for type_ in self._values.get(name, ()):
            for number in self._where(self._variables[3], type_):
                scope, shown, line, _, end = self._variables[:, number].tolist()
                found.append(Variable(scope, self._strings[shown], line, type_, end))
        return found

    def has_member(self, name: str) -> bool:
        """Whether the file gives a variable or a type a member of that name."""
        return name in self._members

    @cached_property
    def _members(self) -> dict[str, list[str]]:
        """The names of variables that are members, by the member."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for number in np.unique(self._variables[1]).tolist():
            holder, dot, member = self._strings[number].rpartition(".")
            if dot and holder:
                found[member].append(self._strings[number])
        return found

    @cached_property
    def holders(self) -> frozenset[str]:
        """The names of the variables with known members."""
        names = (name.partition(".")[0] for each in self._members.values() for name in each)
        kinds = {number for number, text in enumerate(self._strings) if text in VALUES}
        around = {parent for parent in self._columns[2] if parent >= 0}
        return frozenset(names).union(self.name(each) for each in around if self._columns[1][each] in kinds)

    @cached_property
    def type_parameters(self) -> frozenset[str]:
        """The names of the variables for type parameters."""
        return frozenset(text for text in self._strings if text.startswith("<") and text.endswith(">"))

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        """The expressions that are names alone or members, by the last name."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for number in np.unique(self._variables[3]).tolist():
            if _PLAIN.fullmatch(text := self._strings[number]):
                found[text.removesuffix(".bind()").rpartition(".")[2]].append(text)
        return found

    def namespaces(self, line: int) -> set[str]:
        """Return the names of the namespaces around a line of a file in C++."""
        return {name for name, first, last in self._namespaces if first <= line <= last}

    @cached_property
    def _namespaces(self) -> list[tuple[str, int, int]]:
        marked = [number for number, text in enumerate(self._strings) if text.endswith("::")]
        found = self._variables[:, np.isin(self._variables[1], marked)].T.tolist() if marked else []
        return [(self._strings[name].removesuffix("::"), line, end) for _, name, line, _, end in found]

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        texts = self._strings
        return tuple(
            Import(texts[name], Module.parse(texts[module]) if texts[module] else None, texts[member])
            for name, module, member in self._imports.T.tolist()
        )

    def _where(self, column: NDArray[np.int32], text: str) -> list[int]:
        number = self._numbers.get(text)
        return [] if number is None else np.flatnonzero(column == number).tolist()
