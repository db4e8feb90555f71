"""Symbol tables from an index, unsaved text included, and what the names in them may mean."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property

from attrs import define, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.packed_table import FILLED, PackedTable, words_of
from cairn.chunking.references.symbol_table import TOP_LEVEL, Definition
from cairn.index.queries.relations import import_resolver, importers_of
from cairn.index.reader.index_reader import IndexReader
from cairn.languages.imports import Module
from cairn.languages.language import Language
from cairn.languages.registry import facts_of

_MOST_FILES = 400
"""The maximum number of files to read for one name, at 0.2 ms each. Only very common names, such as `get`,
are in more files."""
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl")


@frozen
class Symbol:
    """A definition in a file, or the top level of the file, from which names are looked up."""

    path: str
    number: int
    """The number in the file's table, or `TOP_LEVEL`."""
    table: PackedTable = field(eq=False, repr=False)

    def at(self, number: int) -> Symbol:
        """Return another definition in the same file."""
        return Symbol(self.path, number, self.table)

    def here(self, name: str) -> list[Symbol]:
        """Return the definitions of that name in the same file."""
        return list(map(self.at, self.table.defining(name)))

    def scopes(self) -> list[int]:
        """Return the numbers of this definition and of those around it, the innermost first."""
        return list(self.table.scopes(self.number))

    @property
    def parent(self) -> int:
        """The number of the enclosing definition; `TOP_LEVEL` if there is none."""
        return self.table.parent(self.number)

    @property
    def facts(self) -> Language:
        """What is known of the file's language."""
        return facts_of(self.table.language)

    @property
    def definition(self) -> Definition:
        return self.table.definition(self.number)

    @property
    def name(self) -> str:
        return self.table.name(self.number)

    @property
    def kind(self) -> str:
        return self.table.kind(self.number)

    @property
    def family(self) -> str:
        return self.facts.family

    @property
    def is_constructor(self) -> bool:
        """Whether a call of its owner calls it."""
        names = (*self.facts.scoping.constructors, self.definition.owner)
        return self.kind == "constructor" or self.name in names

    def is_known_in(self, path: str) -> bool:
        """Whether the file at `path` can use the definition, as any file can a header's private ones."""
        return path == self.path or not self.definition.is_private or self.path.endswith(_HEADERS)


@define(eq=False, slots=False)
class OtherText:
    """A text that a file has in another state of the folder than the indexed one. Its names are read when
    they are needed: most lookups are for names that are not in it."""

    text: str
    imports: tuple[str, ...]
    """The modules that the text imports and declares, as strings."""
    _read: Callable[[], tuple[PackedTable, frozenset[str]] | None]
    """Reads the names, and the words by which an index would find them; None if there are none."""

    @cached_property
    def _names(self) -> tuple[PackedTable, frozenset[str]] | None:
        return self._read()

    @property
    def table(self) -> PackedTable | None:
        return self._names[0] if self._names is not None else None

    def has(self, words: Iterable[str]) -> bool:
        """Whether an index would find the text by these words."""
        plain = (word.removeprefix(FILLED).removeprefix("=") for word in words)
        return all(map(self.text.__contains__, plain)) and (
            self._names is not None and self._names[1].issuperset(words)
        )


@define(eq=False)
class SymbolTables:
    """The symbol tables of one folder, cached for the length of one request."""

    reader: IndexReader
    most_files: int | None = None
    """A name in more files is not looked up; None looks it up in the first `_MOST_FILES` of them."""
    others: Mapping[str, OtherText | None] = field(factory=dict)
    """The files that differ from the index in the state to look at, by path; None for those without names or
    that are not there."""
    complete: bool = field(default=True, init=False)
    """False once a name occurred in more files than are read."""
    _by_path: dict[str, PackedTable | None] = field(factory=dict, init=False)
    _written: dict[str, list[str]] = field(factory=dict, init=False)
    _defining: dict[str, tuple[Symbol, ...]] = field(factory=dict, init=False)
    _in_family: dict[tuple[str, str], tuple[Symbol, ...]] = field(factory=dict, init=False)
    _targets: dict[tuple[str, Module], tuple[str, ...]] = field(factory=dict, init=False)

    def table(self, path: str) -> PackedTable | None:
        if path in self.others:
            other = self.others[path]
            return None if other is None else other.table
        if path not in self._by_path:
            self._read(self.reader.symbols_at([path]))
            self._by_path.setdefault(path, None)
        return self._by_path[path]

    def read(self, paths: Sequence[str]) -> None:
        """Read the symbol tables of these files at once, which is faster than one by one."""
        self._read(self.reader.symbols_at([each for each in paths if each not in self._by_path]))

    def top(self, path: str) -> Symbol | None:
        """Return the top level of a file; None if its names are not known."""
        table = self.table(path)
        return Symbol(path, TOP_LEVEL, table) if table is not None else None

    def files_mentioning(self, name: str, owners: Iterable[str] = ()) -> list[str]:
        """Return the files that may mention the name. Some of them only mention a similar name. If they are
        too many, those that mention one of the owners as well are among them."""
        found = self._matching(name, "")
        if self.most_files is not None or self.count_mentioning(name) < self._most:
            return found
        beside = (path for owner in sorted({*owners} - {""}) for path in self._matching(name, "", owner))
        return list(dict.fromkeys((*found, *beside)))

    def paths_mentioning(self, *names: str) -> list[str]:
        """Return the files that may mention all of the names, without reading their tables."""
        words = [word for name in names for word in words_of(name)]
        indexed = (path for _, path in self._rows(words) if path not in self.others)
        others = (path for path, other in self.others.items() if other and other.has(words))
        return sorted([*indexed, *others]) if words else []

    def files_filling(self, name: str, most: int) -> list[str]:
        """Return the files in which literals give a field of that name a value; none if there are more than
        `most`."""
        found = self._matching(name, FILLED)
        return found if len(found) <= most else []

    def definitions(self, name: str) -> tuple[Symbol, ...]:
        """Return every definition of that name, by path and line."""
        if name not in self._defining:
            found = []
            for path in self._matching(name, "="):
                if (file := self.top(path)) is not None:
                    found += file.here(name)
            self._defining[name] = tuple(found)
        return self._defining[name]

    def definitions_in(self, language: str, name: str) -> tuple[Symbol, ...]:
        """Return the definitions of that name in languages of the same family."""
        key = (facts_of(language).family, name)
        if key not in self._in_family:
            self._in_family[key] = tuple(each for each in self.definitions(name) if each.family == key[0])
        return self._in_family[key]

    def targets(self, path: str, module: Module) -> tuple[str, ...]:
        """Return the files that a module in the file at `path` means."""
        key = (path, module)
        if key not in self._targets:
            self._targets[key] = self._resolve(path, module)
        return self._targets[key]

    @cached_property
    def _resolve(self) -> Callable[[str, Module], tuple[str, ...]]:
        others = {path: other.imports if other else None for path, other in self.others.items()}
        return import_resolver(self.reader, others)

    def importers(self, path: str) -> tuple[str, ...]:
        return importers_of(self.reader, path)

    def count_mentioning(self, name: str) -> int:
        """Return how many files may mention the name, without reading them; the maximum if there are more."""
        return min(len(self._rows(words_of(name))), self._most)

    @property
    def _most(self) -> int:
        return self.most_files or _MOST_FILES

    def _rows(self, words: Sequence[str]) -> list[tuple[int, str]]:
        return self.reader.symbols_with_words(words, self._most + 1)

    def _matching(self, name: str, mark: str, beside: str = "") -> list[str]:
        """Return the files with the words of a name, and with those of another name beside it."""
        words = [*(f"{mark}{word}" for word in words_of(name)), *words_of(beside)]
        key = " ".join(words)
        if key not in self._written:
            rows, most = self._rows(words), self._most
            if len(rows) > most:
                self.complete = False
                rows = [] if self.most_files else rows[:most]
            others = (path for path, other in self.others.items() if other and other.has(words))
            found = self._read((number, path) for number, path in rows if path not in self.others)
            self._written[key] = sorted([*found, *(others if words else ())])
        return self._written[key]

    def _read(self, rows: Iterable[tuple[int, str]]) -> list[str]:
        """Cache the symbol tables of the rows (id, path), and return the paths."""
        found: list[str] = []
        wanted: defaultdict[int, list[str]] = defaultdict(list)
        for symbols_id, path in rows:
            found.append(path)
            if path not in self._by_path:
                wanted[symbols_id].append(path)
        for source, sign, ids in self.reader.by_source(wanted):
            for each, table in source.symbol_tables(ids).items():
                self._by_path.update(dict.fromkeys(wanted[sign * each], table))
        return found


TYPES = (CONTAINERS - {"module", "impl", "extension"}) | {"type"}
MOST_SHARED = 12
"""The maximum number of definitions of one name to consider; the nearest ones win."""

SURE, LIKELY = 0.95, 0.9


@frozen
class Meaning:
    """A definition that a reference may mean."""

    symbol: Symbol
    confidence: float
    """A number from 0 to 1."""
    via: str


class ValueKind(Enum):
    INSTANCE = auto()
    TYPE = auto()
    MODULE = auto()
    FUNCTION = auto()
    ELSEWHERE = auto()
    """A thing outside the workspace."""
    UNKNOWN = auto()


@frozen
class Value:
    kind: ValueKind
    symbols: tuple[Symbol, ...] = ()
    """For an instance its types; for a type or a function its definitions."""
    paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """For a thing outside the workspace, the names of its types if they are known."""
    is_collection: bool = False
    confidence: float = SURE


UNKNOWN_VALUE = Value(ValueKind.UNKNOWN)
ELSEWHERE = Value(ValueKind.ELSEWHERE)


def meanings(symbols: Iterable[Symbol], confidence: float, via: str) -> list[Meaning]:
    return [Meaning(each, confidence, via) for each in symbols]


def ambiguous(symbols: Sequence[Symbol], confidence: float, via: str) -> list[Meaning]:
    """Return the meanings of equally likely symbols, which divide the confidence among them. Declarations of
    the same thing count as one."""
    owners = {
        (each.definition.owner, "" if each.kind in CALLABLE and not each.definition.owner else each.path)
        for each in symbols
    }
    count = max(1, len(owners))
    if count == 1:
        return meanings(
            symbols,
            confidence,
            f"the only {via.removeprefix('the ').removeprefix('one of the ')}" if symbols else via,
        )
    return meanings(symbols[: MOST_SHARED * 4], confidence / count, f"one of {count} of this name")


def nearest(path: str, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols sorted by the number of folders that their files share with `path`, most first."""
    here = path.split("/")

    def distance(symbol: Symbol) -> tuple[int, str]:
        there = symbol.path.split("/")
        return -len(posixpath.commonprefix([here, there])), symbol.path

    return sorted(symbols, key=distance)


def distinct(found: Sequence[Meaning]) -> list[Meaning]:
    """Return one meaning for each symbol, the one of highest confidence; the likeliest symbol comes first."""
    best: dict[Symbol, Meaning] = {}
    for each in found:
        if each.symbol not in best or best[each.symbol].confidence < each.confidence:
            best[each.symbol] = each
    return sorted(best.values(), key=lambda each: (-each.confidence, each.symbol.path, each.symbol.number))
