"""Names that imports define, and the files that are the imported modules."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from attrs import define, field

from cairn.chunking.references.packed_table import PackedTable
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.references.known_symbols import (
    ELSEWHERE,
    LIKELY,
    SURE,
    Meaning,
    Symbol,
    SymbolTables,
    Value,
    ValueKind,
    meanings,
)
from cairn.languages.imports import DEFAULT, Import, Module
from cairn.languages.registry import LANGUAGES

NAMESPACED = {tag for each in LANGUAGES.values() for tag in each.imports.namespaced}
_LIBRARIES_OF_RUST = frozenset({"std", "core", "alloc"})
_MOST_IMPORTERS = 400
_REEXPORTED = 0.45
"""The confidence of a definition that is found through a module which only re-exports another. Language
servers do not follow such re-exports."""


@define(eq=False)
class Modules:
    """The modules of one folder during one request."""

    tables: SymbolTables
    _known: dict[tuple[str, str], list[Symbol]] = field(factory=dict, init=False)
    _below: dict[tuple[str, str], tuple[str, ...]] = field(factory=dict, init=False)

    def by_import(self, scope: Symbol, name: str) -> list[Meaning]:
        """Return the meanings of a name that the file imports; empty for a name that it does not import."""
        path, table = scope.path, scope.table
        for each in table.imports:
            if each.name == name:
                if each.module is None and each.member != name:
                    found = scope.here(each.member)
                    # A namespace may have the name of a function and contain that function again.
                    found.sort(key=lambda each: (each.kind == "module", each.parent != TOP_LEVEL))
                    return meanings(found[:1], SURE, "exported by its file")
                member = each.member or (
                    DEFAULT if each.module is not None and each.module.tag == "js" else name
                )
                if found := self.of_import(path, each, member):
                    sure = _REEXPORTED if member == DEFAULT and self._is_reexported(path, each) else SURE
                    return meanings(found, sure, f"imported from {_shown(each.module)}")
                if each.module is not None:
                    return []
        for each in table.imports:
            if each.name == "*" and (found := self.of_import(path, each, name)):
                return meanings(found, LIKELY, f"imported from {_shown(each.module)}")
        return []

    def _is_reexported(self, path: str, imported: Import) -> bool:
        """Whether an imported file only exports another module: `module.exports = require("lib")`."""
        tables = map(self.tables.table, self._targets(path, imported))
        exports = (import_of(table, DEFAULT) for table in tables if table is not None)
        return any(each is not None and not each.member for each in exports)

    def imported(self, scope: Symbol, name: str) -> list[Meaning]:
        """Return the meanings of a name inside an import statement."""
        found: list[Meaning] = []
        for each in scope.table.imports:
            if name in (each.member, each.name) and each.module is not None:
                symbols = self.of_import(scope.path, each, each.member or name)
                found += meanings(symbols, SURE, f"imported from {_shown(each.module)}")
        if not found and any(each.member == name and each.module is None for each in scope.table.imports):
            return meanings(scope.here(name)[:1], SURE, "exported by its file")
        return found

    def of_import(self, path: str, imported: Import, member: str) -> list[Symbol]:
        """Return the definitions that `member` of an import means."""
        module = imported.module
        if module is not None and module.tag in NAMESPACED:
            return self._by_full_name(module.name if imported.name != "*" else f"{module.name}/{member}")
        paths = self._targets(path, imported)
        found = self.known(paths, member)
        if not found and module is not None and module.tag == "rs":
            found = [each for each in self.tables.definitions(member) if each.path in paths]
        return found

    def _by_full_name(self, full: str) -> list[Symbol]:
        """Return the definitions of a qualified name such as `a/b/C`, in files that declare its namespace."""
        # Elixir defines modules by qualified names.
        if modules := self.tables.definitions(full.replace("/", ".")):
            return list(modules)
        around, _, name = full.rpartition("/")
        found = []
        for symbol in self.tables.definitions(name):
            namespace, owner = symbol.table.namespace, symbol.definition.owner
            is_nested = bool(owner) and namespace.rpartition("/")[2] != owner
            qualified = f"{namespace}/{owner}/{name}" if is_nested else f"{namespace}/{name}"
            is_inside = bool(around) and owner == around.replace("/", ".")
            if is_inside or full in (qualified, f"{namespace}/{name}"):
                found.append(symbol)
        return found

    def known(self, paths: Iterable[str], name: str) -> list[Symbol]:
        """Return the definitions of a name at the top level of these files' modules, re-exports included."""
        found: list[Symbol] = []
        for path in paths:
            key = (path, name)
            if key not in self._known:
                self._known[key] = []  # ends the recursion in an import cycle
                self._known[key] = self._find(path, name)
            found += self._known[key]
        return found

    def _find(self, path: str, name: str) -> list[Symbol]:
        file = self.tables.top(path)
        if file is None:
            return []
        own = [each for each in file.here(name) if is_outer(each, ()) or each.parent == TOP_LEVEL]
        return own or [each.symbol for each in self.by_import(file, name)]

    def module(self, path: str, imported: Import) -> Value:
        """Return the module that an import means; `ELSEWHERE` if the module is outside the workspace."""
        module = imported.module
        if module is None or module.tag in NAMESPACED:
            return ELSEWHERE
        if module.tag == "py" and imported.member:
            module = module._replace(members=(imported.member,))
        paths = self.tables.targets(path, module)
        if imported.member and imported.member != DEFAULT:
            named = tuple(each for each in paths if _module_name(each) == imported.member)
            paths = named or self.below(paths, imported.member)
        return Value(ValueKind.MODULE, paths=paths) if paths else ELSEWHERE

    def beside(self, scope: Symbol, name: str) -> Value | None:
        """Return a module that needs no import, such as a Rust module of the same crate."""
        path = scope.path
        if scope.table.language != "rust":
            return None
        for module in (Module("rs", f"self/{name}"), Module("rs", name)):
            paths = tuple(each for each in self.tables.targets(path, module) if _module_name(each) == name)
            if paths:
                return Value(ValueKind.MODULE, paths=paths)
        if name in ("crate", "super"):
            return Value(ValueKind.MODULE, paths=self.tables.targets(path, Module("rs", name)))
        return ELSEWHERE if name in _LIBRARIES_OF_RUST and not self.tables.definitions(name) else None

    def below(self, paths: Iterable[str], name: str) -> tuple[str, ...]:
        """Return the files of the submodules with this name in the modules `paths`."""
        found: dict[str, None] = {}
        for path in paths:
            key = (path, name)
            if key not in self._below:
                self._below[key] = ()  # ends the recursion in an import cycle
                self._below[key] = tuple(self._find_below(path, name))
            found.update(dict.fromkeys(self._below[key]))
        return tuple(found)

    def _find_below(self, path: str, name: str) -> Iterable[str]:
        table = self.tables.table(path)
        if table is None:
            return ()
        if table.language == "rust":
            found = self.tables.targets(path, Module("rs", f"self/{name}"))
            return (each for each in found if _module_name(each) == name)
        if table.language == "python" and path.endswith("__init__.py"):
            return self.tables.targets(path, Module("py", f"./{name}"))
        if (imported := import_of(table, name)) is not None:
            return self.module(path, imported).paths
        stars = (each for each in table.imports if each.name == "*")
        return self.below((target for each in stars for target in self._targets(path, each)), name)

    def _targets(self, path: str, imported: Import) -> tuple[str, ...]:
        """Return the files of the imported module."""
        return self.tables.targets(path, imported.module) if imported.module is not None else ()


def names_elsewhere(tables: SymbolTables, symbol: Symbol) -> set[tuple[str, str]]:
    """Return the files that know a definition by an alias or a re-export, each with the name used there."""
    found: set[tuple[str, str]] = set()
    # Each entry is a file, the name that it exports, and the name that importing files write, such as `moor`
    # in `checks.moor` for a module `checks`.
    exported = [
        (path, each.name, each.name)
        for path in (symbol.path, *tables.files_mentioning(symbol.name))
        for each in getattr(tables.table(path), "imports", ())
        if each.member == symbol.name and each.name != symbol.name
    ]
    for path, name, written in exported:  # the loop appends to `exported`
        for importer in tables.importers(path):
            table = tables.table(importer)
            for each in table.imports if table is not None else ():
                is_whole = not each.member and name != DEFAULT
                if each.module is None or not (is_whole or (each.member or DEFAULT) == name):
                    continue
                known = (importer, written if is_whole or written != name else each.name)
                if known not in found and path in tables.targets(importer, each.module):
                    found.add(known)
                    exported.append((importer, name if each.name == "*" else each.name, known[1]))
            if len(found) >= _MOST_IMPORTERS:
                return found
    return found


def import_of(table: PackedTable, name: str) -> Import | None:
    """Return the import that defines a name in a file."""
    return next((each for each in table.imports if each.name == name and each.module), None)


def is_outer(symbol: Symbol, scopes: Sequence[int]) -> bool:
    """Whether a definition is visible outside of any type: at the top level or in a module."""
    parent = symbol.parent
    if symbol.kind == "method" and (symbol.definition.owner or symbol.family == "script"):
        return False
    return parent == TOP_LEVEL or symbol.table.kind(parent) == "module" or parent in scopes


def _module_name(path: str) -> str:
    stem = posixpath.splitext(posixpath.basename(path))[0]
    return posixpath.basename(posixpath.dirname(path)) if stem in ("__init__", "mod", "index") else stem


def _shown(module: Module | None) -> str:
    return f"`{module.name}`" if module is not None else "its file"
