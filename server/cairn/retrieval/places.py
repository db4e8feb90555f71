"""List what a result can be in a file: its definitions, the sections of a document, or the file as a whole.

The symbol table of a file has the exact lines of each definition. Files without one, such as configuration,
have the names that their chunks define.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from typing import overload
from weakref import WeakKeyDictionary, ref

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.chunking.definition_place import definition_lines, kind_at
from cairn.chunking.markup import headings_of
from cairn.chunking.model import Chunk
from cairn.chunking.references.packed_table import PackedTable
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.languages.registry import CONFIG_LANGUAGES, syntax_of

TOP = -1
"""The number of the file as a whole among its places."""

_KEY = re.compile(r"""\s*(?:-\s+)?\[*["']?([A-Za-z_][\w.-]*)["']?\]*\s*(?:[:=]|$)""")
"""Matches a line that gives a value to a key, or begins a table, in a configuration file."""


@frozen
class Place:
    """A definition, a section, or a file. Lines are 0-based."""

    name: str
    kind: str = ""
    """The kind of the definition; "" for a section or a file."""
    around: tuple[str, ...] = ()
    """The names of the enclosing definitions or sections, outermost first."""
    start: int = 0
    end: int = 1
    """The line after the last one; 0 for a file."""
    line: int | None = None
    """The line that names it; None for a file, and if a heading is above the known chunks."""
    is_declaration: bool = False
    """Whether the definition is elsewhere: a prototype, an overload."""
    separator: str = " > "
    """What separates the names of enclosing definitions in a title."""

    @property
    def is_definition(self) -> bool:
        return self.separator != " > "

    @property
    def title(self) -> str:
        """The name after those of the enclosing definitions; the heading of a section."""
        if not self.is_definition:
            return self.name
        separator = " " if self.name.startswith(self.separator) else self.separator  # `.menu` in CSS
        return separator.join((*(name for name in self.around if " " not in name), self.name))


@frozen(eq=False)
class Outline:
    """The places of one file. An enclosing place comes before those that it encloses."""

    path: str
    is_code: bool
    _list: Callable[[], _Known]
    """Lists the places when they are first needed: most found files are not shown."""

    @cached_property
    def _known(self) -> _Known:
        return self._list()

    @property
    def places(self) -> Sequence[Place]:
        return self._known[0]

    @property
    def owners(self) -> NDArray[np.int32]:
        """int32[lines]: the number of the innermost place of each line; TOP for a line outside of all."""
        return self._known[1]

    def owners_of(self, first: int, last: int) -> list[int]:
        """Return the numbers of the innermost places of the lines `[first, last)`."""
        known: list[int] = self.owners[first:last].tolist()
        return known + [TOP] * (last - first - len(known))

    def around(self, first: int, last: int) -> Place:
        """Return the innermost place that has most of the lines `[first, last)`, or else the file."""
        owners = [owner for owner in self.owners_of(first, last) if owner != TOP]
        return self.places[max(dict.fromkeys(owners), key=owners.count)] if owners else self.file

    def first_in(self, first: int, last: int) -> Place:
        """Return the innermost place of the first of the lines `[first, last)` that is in any, or else the
        file."""
        owner = next((owner for owner in self.owners_of(first, last) if owner != TOP), TOP)
        return self.file if owner == TOP else self.places[owner]

    def place_in(self, chunk: Chunk, name: str) -> Place | None:
        """Return the place of this name whose line is in the chunk. The symbol table may lack a name that the
        chunk defines, such as that of a typedef."""
        lines = range(chunk.start_line, chunk.end_line)
        known = (each for each in self.places if each.name == name and each.line in lines)
        return next(known, _by_text(chunk, name) if name in chunk.defines else None)

    def named(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """Yield the number of each place whose name in lower case the pattern finds."""
        number = at = 0
        names = self._known[2]
        for found in pattern.finditer(names):
            if newlines := names.count("\n", at, found.start()):
                number += newlines
            elif at:
                continue
            at = found.start()
            yield number

    @cached_property
    def file(self) -> Place:
        return Place(self.path.rpartition("/")[2].partition(".")[0], end=0)


_Known = tuple[Sequence[Place], NDArray[np.int32], str]
"""The places of a file, their `Outline.owners`, and their names in lower case, one on each line."""
_known: WeakKeyDictionary[PackedTable, _Known] = WeakKeyDictionary()
"""The places in each symbol table, as long as this is in memory: consecutive queries find the same files."""


def outlines(reader: IndexReader, chunks: Iterable[StoredChunk]) -> dict[str, Outline]:
    """Return the outline of each file of which some chunks are given, by path. Of a file without a symbol
    table, only the places in these chunks are known."""
    of_file: defaultdict[str, list[StoredChunk]] = defaultdict(list)
    for stored in chunks:
        of_file[stored.path].append(stored)
    tables = _tables(reader, list(of_file))
    return {
        path: Outline(path, True, partial(_of_table, tables[path]))
        if path in tables
        else Outline(path, False, partial(_of_chunks, stored))
        for path, stored in of_file.items()
    }


def outlines_of_folders(
    readers: Sequence[IndexReader], chunks: Iterable[tuple[int, StoredChunk]]
) -> dict[tuple[int, str], Outline]:
    """Return the outlines of the files of these chunks, each given after its folder, by folder and path."""
    of_folder: defaultdict[int, dict[int, StoredChunk]] = defaultdict(dict)
    for folder, stored in chunks:
        of_folder[folder][stored.id] = stored
    return {
        (folder, path): outline
        for folder, here in of_folder.items()
        for path, outline in outlines(readers[folder], here.values()).items()
    }


def _tables(reader: IndexReader, paths: Sequence[str]) -> dict[str, PackedTable]:
    """Return the symbol tables of these files, without files that have none."""
    by_id: defaultdict[int, list[str]] = defaultdict(list)
    for number, path in reader.symbols_at(paths):
        by_id[number].append(path)
    found: dict[str, PackedTable] = {}
    for source, sign, ids in reader.by_source(by_id):
        for number, table in source.symbol_tables(ids).items():
            found |= dict.fromkeys(by_id[sign * number], table)
    return {path: table for path, table in found.items() if table.count}


class _PlacesOfTable(Sequence[Place]):
    """The definitions in a symbol table, made when they are asked for: large files have thousands."""

    def __init__(self, table: PackedTable) -> None:
        self._weak_table = ref(table)  # `_known` must not keep the table alive.
        self._separator = syntax_of(table.language).separator
        self._made: dict[int, Place] = {}

    @property
    def _table(self) -> PackedTable:
        table = self._weak_table()
        assert table is not None  # The outline keeps it.
        return table

    def __len__(self) -> int:
        return self._table.count

    @overload
    def __getitem__(self, number: int) -> Place: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Place]: ...
    def __getitem__(self, number: int | slice) -> Place | Sequence[Place]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        if (place := self._made.get(number)) is None:
            each = self._table.definition(number)
            parent = self[each.parent] if each.parent != TOP_LEVEL else None
            around = (*parent.around, parent.name) if parent is not None else ()
            if each.owner and each.owner not in around:
                around = (*around, each.owner)
            lines = each.start_line, each.end_line, each.line
            place = Place(each.name, each.kind, around, *lines, each.is_declaration, self._separator)
            self._made[number] = place
        return place


def _of_table(table: PackedTable) -> _Known:
    if (known := _known.get(table)) is None:
        names = "\n".join(map(table.name, range(table.count))).lower()
        known = _known[table] = _PlacesOfTable(table), _owners(table.lines()), names
    return known


def _of_chunks(every: list[StoredChunk]) -> _Known:
    every.sort(key=lambda each: each.chunk.position)
    places = [place for stored in every for place in _of_chunk(stored.chunk)]
    return _with_owners(places)


def _with_owners(places: Sequence[Place]) -> _Known:
    owners = _owners([(place.start, place.end) for place in places])
    return places, owners, "\n".join(place.name for place in places).lower()


def _owners(lines: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """Return the number of the innermost place of each line, int32[lines], from the lines of each place."""
    owners = np.full(max((end for _, end in lines), default=0), TOP, np.int32)
    for number, (start, end) in enumerate(lines):
        owners[start:end] = number
    return owners


def _by_text(chunk: Chunk, name: str) -> Place:
    """Return the place of a name that the chunk defines, found in its text."""
    line = definition_lines(chunk, name)[0]
    kind = chunk.symbol_kind if name == chunk.symbol else kind_at(chunk, line) or "variable"
    return Place(name, kind, (), line, line + 1, line, separator=".")


@lru_cache(maxsize=2_000)
def _of_chunk(chunk: Chunk) -> Sequence[Place]:
    """Return the sections or definitions in the chunk. The first may begin above the chunk."""
    start, end = chunk.start_line, chunk.end_line
    above = tuple(filter(None, chunk.header_path.split(" > ")))[:-1]
    if headings := headings_of(chunk.language, chunk.text):
        begins: list[tuple[int, str, str]] = [(start + each.start, each.title, "") for each in headings]
    elif chunk.defines:
        named = sorted((_by_text(chunk, name) for name in chunk.defines), key=attrgetter("start"))
        begins = [(each.start, each.name, each.kind) for each in named]
    elif chunk.language in CONFIG_LANGUAGES:
        lines = enumerate(chunk.text.split("\n"), start)
        begins = [(line, key[1], "") for line, text in lines if (key := _KEY.match(text))]
    else:
        begins = []
    starts = [*(line for line, *_ in begins), end]
    separator = "." if chunk.defines else " > "
    first = starts[0]
    # What is above the first definition is a comment on it, or belongs to no place that the chunk names.
    unnamed = [Place(chunk.title, "", above, start, first)] if first > start and not chunk.defines else []
    return unnamed + [
        Place(name, kind, above, line, max(line + 1, last), line, separator=separator)
        for (line, name, kind), last in zip(begins, starts[1:], strict=True)
    ]
