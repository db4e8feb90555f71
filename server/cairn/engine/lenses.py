"""Finds what stands in one line above the definitions of a file, as code lenses: how many call or test it,
which documents explain it, and which files change with the file.

`lenses` decides in a few milliseconds which lenses a file has. `Titles` counts for one definition at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from attrs import frozen

from cairn import protocol
from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.packed_table import PackedTable, words_of
from cairn.engine.folders import Folder, places_of_uri
from cairn.engine.named_definitions import Searched
from cairn.engine.reference_walk import Found, Walk
from cairn.engine.request import Request
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.relations import changed_together
from cairn.index.references.edges import CALLS, Place, place_of
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import TYPES, Symbol, SymbolTables
from cairn.protocol import ContextSection, UsageKind
from cairn.protocol.relation_messages import ReferenceDirection
from cairn.retrieval.explanations import Explanation, explaining
from cairn.retrieval.referrals import SURE
from cairn.text.counts import counted
from cairn.workspace.collections import FileKind, file_kind

_SPECIAL = re.compile(r"__\w+__")
"""Matches the names of methods that the language calls, so that a count of their callers misleads."""
_MOST = 1_000
"""The maximum number of references that are counted: the largest limit of `cairn/references`."""
_MOST_FILES = 401
"""How many files with a name are looked at for one in tests. The search for callers reads as many, so both
share the cached rows."""
_MOST_DOCUMENTS = 2
_MOST_TOGETHER = 2
_OFTEN = 0.3
"""The minimum cosine of the commits of files that change together."""


@frozen
class Lens:
    """A lens above a definition. The line and the character are those of its name, 0-based, in UTF-16."""

    name: str
    """The qualified name of the definition."""
    number: int
    """How many definitions of the same qualified name are before it in the file."""
    line: int
    character: int
    section: ContextSection
    """What the lens says, and the section of the panel that it opens."""

    @property
    def definition(self) -> tuple[str, int]:
        return self.name, self.number


Titles = Mapping[ContextSection, str]


def lenses(request: Request, uri: str) -> list[Lens]:
    """Return the lenses of a file in the order of its lines; none for a file that is not indexed.

    Each function, method and type has one for its callers. It has one for tests if a test file contains its
    name.
    """
    found: list[Lens] = []
    for _, reader, path in _places(request, uri):
        tables = SymbolTables(reader)
        for name, number, symbol in _shown(tables, path):
            definition = symbol.definition
            place = name, number, definition.line, definition.character
            found.append(Lens(*place, ContextSection.CALLERS))
            if _is_in_tests(reader, path, symbol.name):
                found.append(Lens(*place, ContextSection.TESTS))
        if found:
            break
    return found


def titles(request: Request, uri: str, definition: tuple[str, int]) -> Titles:
    """Return the titles of all lenses of a definition, by section; none if the file no longer has it."""
    for folder, reader, path in _places(request, uri):
        tables = SymbolTables(reader)
        shown = list(_shown(tables, path))
        symbol = next((each for *key, each in shown if tuple(key) == definition), None)
        if symbol is not None:
            searched = Searched(folder, reader, ReferenceGraph(reader))
            found = _Counted(request, searched, place_of(symbol)).titles()
            is_first = shown[0][2] == symbol
            return {**found, **_together(reader, path)} if is_first else found
    return {}


def _places(request: Request, uri: str) -> Iterator[tuple[Folder, OverlaidReader, str]]:
    for folder, path in places_of_uri(request.folders, uri):
        yield folder, request.readers[request.folders.index(folder)], path


def _shown(tables: SymbolTables, path: str) -> Iterator[tuple[str, int, Symbol]]:
    """Yield the functions, methods and types of a file that are not local to a function, with their names
    and the numbers of definitions of that name before them."""
    file = tables.top(path)
    if file is None:
        return
    seen: dict[str, int] = {}
    lines: set[int] = set()
    is_test = file_kind(path) == FileKind.TESTS
    for number in range(file.table.count):
        symbol = file.at(number)
        kind = symbol.kind
        if kind not in CALLABLE and kind not in TYPES:
            continue
        name = place_of(symbol).qualified
        before = seen.setdefault(name, 0)
        seen[name] += 1
        if _SPECIAL.fullmatch(symbol.name) or _is_local(symbol.table, symbol.parent):
            continue
        line = symbol.definition.line
        if line in lines or (is_test and not _is_used(tables, symbol)):
            continue
        lines.add(line)
        yield name, before, symbol


def _is_local(table: PackedTable, parent: int) -> bool:
    return any(table.kind(each) in CALLABLE for each in table.scopes(parent))


def _is_used(tables: SymbolTables, symbol: Symbol) -> bool:
    """Return whether any code may use a definition of a test file. A test itself has no callers."""
    if symbol.table.references_to(symbol.name):
        return True
    return any(path != symbol.path for path in tables.files_mentioning(symbol.name))


def _is_in_tests(reader: OverlaidReader, path: str, name: str) -> bool:
    rows = reader.symbols_with_words(words_of(name), _MOST_FILES)
    return any(each != path and file_kind(each) == FileKind.TESTS for _, each in rows)


# --- titles --------------------------------------------------------------------------------------------


@frozen
class _Counted:
    """Counts for one definition, by the walk that answers `cairn/references`."""

    request: Request
    searched: Searched
    place: Place

    def titles(self) -> Titles:
        found = {ContextSection.CALLERS: self._callers(), ContextSection.TESTS: self._tests()}
        explanations = explaining(self.searched.reader, self.place, _MOST_DOCUMENTS)
        if explanations:
            found[ContextSection.DOCUMENTS] = f"explained in {_names(_paths(explanations))}"
        return found

    def _walk(self, direction: ReferenceDirection) -> Walk:
        params = protocol.ReferencesParams(symbol=self.place.name, direction=direction, limit=_MOST)
        walk = Walk(self.request, params, [self.searched])
        walk.start([(self.searched, self.place)])
        return walk

    def _callers(self) -> str:
        walk = self._walk(ReferenceDirection.CALLERS)
        others = [each for each in walk.found if file_kind(each.edge.path) != FileKind.TESTS]
        is_called = self.place.kind in CALLABLE or any(each.edge.kind in CALLS for each in others)
        noun = "caller" if is_called else "use"
        if title := _count(others, noun, complete=walk.complete):
            return title
        if any(_is_sure(each) for each in walk.found):
            return f"no {noun}s but in tests"
        kinds = {each.kind for each in walk.notes.notes}
        entered = (each for each in walk.notes.notes if each.kind in _ENTERED)
        if (entry := next(entered, None)) is not None:
            return entry.text if entry.kind is UsageKind.ROUTE else entry.kind.value
        return f"no {noun}s" if kinds <= {UsageKind.UNUSED} else f"no known {noun}s"

    def _tests(self) -> str:
        walk = self._walk(ReferenceDirection.TESTS)
        return _count(walk.found, "test", complete=walk.complete) or "no tests"


_ENTERED = frozenset(UsageKind) - {
    UsageKind.IMPORTED, UsageKind.UNRESOLVED, UsageKind.INHERITED, UsageKind.PUBLIC, UsageKind.UNUSED
}  # fmt: skip
"""The notes that say how a definition is called although no code names it."""


def _count(found: Sequence[Found], noun: str, *, complete: bool) -> str:
    """Return the number of sure references or, without one, that of the others; "" if there is none."""
    sure = sum(map(_is_sure, found))
    number = sure or len(found)
    words = noun if sure else f"possible {noun}"
    if not number:
        return ""
    return counted(number, words) if complete else f"{number:,}+ {words}s"


def _is_sure(found: Found) -> bool:
    return round(found.edge.confidence, 2) >= SURE  # The protocol rounds the confidence, too.


def _together(reader: OverlaidReader, path: str) -> Titles:
    often = {each: value for each, value in changed_together(reader, path).items() if value >= _OFTEN}
    present = reader.contents(often)
    paths = sorted(present, key=lambda each: (-often[each], each))[:_MOST_TOGETHER]
    return {ContextSection.TOGETHER: f"changes with {_names(paths)}"} if paths else {}


def _paths(explanations: Sequence[Explanation]) -> list[str]:
    return list(dict.fromkeys(each.stored.path for each in explanations))


def _names(paths: Sequence[str]) -> str:
    """Return the names of files, with their folders if the names are the same."""
    names = [PurePosixPath(each).name for each in paths]
    return ", ".join(names if len(set(names)) == len(names) else paths)
