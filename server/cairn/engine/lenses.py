"""Finds what code lenses say above the definitions of a file: how many call or test one, which documents
explain it, and which files change with the file. Above the headings of a document, they say what it shows.

`lenses` decides in a few milliseconds what has lenses, and `count` counts for one definition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import TypeVar

from attrs import define, evolve, field, frozen

from cairn import protocol
from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.packed_table import PackedTable, words_of
from cairn.engine.explained import often_together, surely_explaining
from cairn.engine.file_outline import indexed_outline
from cairn.engine.folders import Folder, places_of_uri
from cairn.engine.named_definitions import Searched
from cairn.engine.reference_walk import Found, Walk
from cairn.engine.request import Request
from cairn.errors import OutOfTimeError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import CALLS, Place, place_of
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import TYPES, Symbol, SymbolTables
from cairn.index.store.deadline import Deadline, ended_by, query_end
from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.protocol import ContextSection, UsageKind
from cairn.protocol.chunk_types import ChunkType
from cairn.protocol.relation_messages import ReferenceDirection
from cairn.retrieval.document_names import read_document
from cairn.retrieval.referrals import SURE
from cairn.retrieval.shown_code import named_places
from cairn.text.counts import counted
from cairn.text.verbatim import lines_with_ends
from cairn.workspace.collections import FileKind, file_kind

T = TypeVar("T")

_SPECIAL = re.compile(r"__\w+__")
"""Matches the names of methods that the language calls, so that a count of their callers misleads."""
_MOST = 1_000
"""The maximum number of references that are counted: the largest limit of `cairn/references`."""
_MOST_MS = 1_000.0
"""The processor time for the callers of a definition, for its tests, and for the documents, in milliseconds.
Only names in hundreds of files take longer."""
_MOST_NAMES = 20
"""The maximum number of callers whose names count: as many are followed to tests."""
_COMMON = 60
"""The number of files with a name above which it is common: counting takes up to seconds, and tests are
expected to have it."""
_MOST_FILES = 401
"""How many files with a name are compared to see whether one has changed. The search for callers reads as
many, so both share the cached rows."""


Definition = tuple[str, int]
"""A qualified name, and how many definitions of that name are before it in the file. While a user types, this
stays longer than the line."""


@frozen
class Lens:
    """A lens above a definition or heading. Lines and characters are 0-based, in UTF-16."""

    definition: Definition
    line: int
    """The line of the definition or heading."""
    below: int
    """How many lines the name is below that line: in C, a type can stand alone above it."""
    character: int
    """Where the name starts in its line."""
    section: ContextSection
    """What the lens says, and the section of the panel that it opens."""
    title: str = ""
    """The title, if it is known already."""
    is_common: bool = False
    """Whether so many files have the name that counting takes long."""


@frozen
class FileLenses:
    lenses: tuple[Lens, ...] = ()
    """The lenses in the order of their lines; none for a file that is not indexed."""
    state: Hashable = None
    """The state of the saved index. Titles are surely valid until it changes."""


Titles = Mapping[ContextSection, str]


@frozen
class Counted:
    """The titles of one definition, and what they depend on."""

    titles: Titles = field(factory=dict)
    """By section. There are none if the file no longer has the definition."""
    state: Hashable = None
    """The state of the saved index."""
    names: tuple[str, ...] = ()
    """The names of the definition, its owner and its callers."""
    mentions: Hashable = None
    """The versions of the files that have these names, and of the documents."""


def lenses(request: Request, uri: str, *, headings: bool) -> FileLenses:
    """Return the lenses of a file and, if `headings`, those of a document.

    Each function, method and type has one for its callers, and one for tests if a test file has its name.
    """
    state: Hashable = None
    for _, reader, path in _places(request, uri):
        state = _state(reader)
        tables = SymbolTables(reader)
        found: list[Lens] = []
        for definition, symbol in _shown(tables, path):
            files = _files_with(reader, symbol.name, _COMMON + 1)
            is_common = len(files) > _COMMON
            is_tested = is_common or any(
                each != path and file_kind(each) == FileKind.TESTS for _, each in files
            )
            start, name = symbol.definition.start_line, symbol.definition.line
            place = start, name - start, symbol.definition.character
            for section in (ContextSection.CALLERS, *([ContextSection.TESTS] if is_tested else [])):
                found.append(Lens(definition, *place, section, is_common=is_common))
        if not found and headings and category(detect_language(path)) is Category.PROSE:
            found += _of_headings(reader, path)
        if found:
            return FileLenses(tuple(found), state)
    return FileLenses(state=state)


def count(request: Request, uri: str, definition: Definition, known: Counted) -> Counted:
    """Return the titles of all lenses of a definition: the `known` ones, unless the index has changed since
    in a file with one of their names.

    Such a change can be missed if it is one of types in a third file, on which the meaning of a name depends.
    """
    state: Hashable = None
    for folder, reader, path in _places(request, uri):
        state = _state(reader)
        if state == known.state:
            return known
        if known.names and _mentions(reader, known.names) == known.mentions:
            return evolve(known, state=state)
        shown = dict(_shown(SymbolTables(reader), path))
        if (symbol := shown.get(definition)) is not None:
            searched = Searched(folder, reader, ReferenceGraph(reader))
            counting = _Counting(request, searched, place_of(symbol))
            titles = counting.titles()
            if definition == next(iter(shown)):
                titles = {**titles, **_together(reader, path)}
            names = tuple(counting.names)
            return Counted(titles, state, names, _mentions(reader, names))
    return Counted(state=state)


def _state(reader: OverlaidReader) -> Hashable:
    facts = reader.saved.facts()
    return reader.saved.key, reader.identity(), facts.content, facts.scanned, facts.history


def _mentions(reader: OverlaidReader, names: Sequence[str]) -> Hashable:
    facts = reader.saved.facts()
    documents = reader.cached("documents' version", lambda: reader.saved.select(_SELECT_DOCUMENTS)[0])
    tables = [frozenset(number for number, _ in _files_with(reader, name, _MOST_FILES)) for name in names]
    return reader.identity(), facts.scanned, facts.history, documents, tuple(tables)


_SELECT_DOCUMENTS = "SELECT count(*), max(indexed_at) FROM files WHERE kind = 'docs'"


def _places(request: Request, uri: str) -> Iterator[tuple[Folder, OverlaidReader, str]]:
    for folder, path in places_of_uri(request.folders, uri):
        yield folder, request.readers[request.folders.index(folder)], path


def _shown(tables: SymbolTables, path: str) -> Iterator[tuple[Definition, Symbol]]:
    """Yield the functions, methods and types of a file that are not local to a function."""
    file = tables.top(path)
    if file is None:
        return
    seen: Counter[str] = Counter()
    lines: set[int] = set()
    is_test = file_kind(path) == FileKind.TESTS
    for number in range(file.table.count):
        symbol = file.at(number)
        if symbol.kind not in CALLABLE and symbol.kind not in TYPES:
            continue
        name, line = place_of(symbol).qualified, symbol.definition.start_line
        definition = name, seen[name]
        seen[name] += 1
        is_hidden = _SPECIAL.fullmatch(symbol.name) or _is_local(symbol.table, symbol.parent)
        if is_hidden or line in lines or (is_test and not _is_used(tables, symbol)):
            continue
        lines.add(line)
        yield definition, symbol


def _is_local(table: PackedTable, parent: int) -> bool:
    return any(table.kind(each) in CALLABLE for each in table.scopes(parent))


def _is_used(tables: SymbolTables, symbol: Symbol) -> bool:
    """Return whether any code may use a definition of a test file. A test itself has no callers."""
    if symbol.table.references_to(symbol.name):
        return True
    return any(path != symbol.path for _, path in _files_with(tables.reader, symbol.name, 2))


def _files_with(reader: IndexReader, name: str, most: int) -> list[tuple[int, str]]:
    """Return the symbol tables and the paths of files that may have the name."""
    return reader.symbols_with_words(words_of(name), most)


def _of_headings(reader: OverlaidReader, path: str) -> Iterator[Lens]:
    """Yield a lens for each heading whose own text, without deeper headings, names or shows definitions."""
    page, graph = reader.page(path), ReferenceGraph(reader)
    outline = indexed_outline(reader, path)
    lines = lines_with_ends("".join(stored.chunk.text for stored in page))
    seen: Counter[str] = Counter()
    ends = [*(each.start_line for each in outline[1:]), len(lines)]
    for each, end in zip(outline, ends, strict=True):
        chunk = evolve(
            page[0].chunk,
            type=ChunkType.PROSE,
            start_line=each.start_line,
            end_line=end,
            text="".join(lines[each.start_line : end]),
        )
        text = read_document(evolve(page[0], chunk=chunk))
        named = named_places(reader, graph, path, [text], range(each.start_line, end))
        count = sum(found.place is not None for found in named)
        if count:
            title = f"shows {counted(count, 'definition')}"
            yield Lens((each.name, seen[each.name]), each.line, 0, 0, ContextSection.USED, title)
        seen[each.name] += 1


# --- titles --------------------------------------------------------------------------------------------


@define
class _Counting:
    """Counts for one definition, by the walk that answers `cairn/references`."""

    request: Request
    searched: Searched
    place: Place
    names: dict[str, None] = field(factory=dict)
    """The names on which the counts depend."""

    def titles(self) -> Titles:
        self.names = dict.fromkeys(self.place.qualified.split(".")[-2:])
        found = {ContextSection.CALLERS: _in_time(self._callers) or "callers not counted"}
        if (tests := _in_time(self._tests)) != "":
            found[ContextSection.TESTS] = tests or "tests not counted"
        if not self.searched.reader.facts().scanned:
            found = {section: f"{title} so far" for section, title in found.items()}
        reader, graph = self.searched.reader, self.searched.graph
        if explanations := _in_time(lambda: surely_explaining(reader, self.place, graph)):
            names = _names([each.stored.path for each in explanations])
            found[ContextSection.DOCUMENTS] = f"explained in {names}"
        return found

    def _walk(self, direction: ReferenceDirection) -> Walk:
        params = protocol.ReferencesParams(symbol=self.place.name, direction=direction, limit=_MOST)
        walk = Walk(self.request, params, [self.searched])
        walk.start([(self.searched, self.place)])
        return walk

    def _callers(self) -> str:
        walk = self._walk(ReferenceDirection.CALLERS)
        around = (each.edge.enclosing for each in walk.found if _is_sure(each))
        self.names.update(dict.fromkeys(islice((each.name for each in around if each), _MOST_NAMES)))
        others = [each for each in walk.found if file_kind(each.edge.path) != FileKind.TESTS]
        is_called = self.place.kind in CALLABLE or any(each.edge.kind in CALLS for each in others)
        noun = "caller" if is_called else "use"
        if title := _count(others, noun, complete=walk.complete):
            return title
        if any(_is_sure(each) for each in walk.found):
            return f"only {'called' if noun == 'caller' else 'used'} in tests"
        kinds = {each.kind for each in walk.notes.notes}
        entered = (each for each in walk.notes.notes if each.kind in _ENTERED)
        if (entry := next(entered, None)) is not None:
            return entry.text if entry.kind is UsageKind.ROUTE else entry.kind.value
        is_none = walk.complete and kinds <= {UsageKind.UNUSED}
        return f"no {noun}s" if is_none else f"no known {noun}s"

    def _tests(self) -> str:
        walk = self._walk(ReferenceDirection.TESTS)
        return _count(walk.found, "test", complete=walk.complete)


def _in_time(make: Callable[[], T]) -> T | None:
    """Return the result; None if making it takes too long."""
    try:
        with ended_by(Deadline(query_end(), _MOST_MS)):
            return make()
    except OutOfTimeError:
        return None


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
    paths = often_together(reader, path)
    return {ContextSection.TOGETHER: f"changes with {_names(paths)}"} if paths else {}


def _names(paths: Sequence[str]) -> str:
    """Return the names of files, with their folders if the names are the same."""
    names = [PurePosixPath(each).name for each in paths]
    return ", ".join(names if len(set(names)) == len(names) else paths)
