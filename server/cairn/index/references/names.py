"""Resolves names without a receiver: by their scope, the file's imports, and the other visible files."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Sequence

from attrs import define, field

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.model import TOP_LEVEL
from cairn.chunking.references.packing import PackedTable
from cairn.index.references.meaning import LIKELY, SURE, Meaning, ambiguous, meanings, nearest, parent_of
from cairn.index.references.modules import Modules, import_of, is_outer
from cairn.index.references.tables import Symbol, SymbolTables, symbols_named
from cairn.index.references.types import Types
from cairn.languages.language import Visibility
from cairn.languages.registry import facts_of

_COMMON = 0.45
"""The confidence that a common name means the definition of that name in the workspace."""


@define(eq=False)
class Names:
    """Resolves names without a receiver in one folder during one request."""

    tables: SymbolTables
    modules: Modules
    types: Types
    _found: dict[tuple[str, int, str], list[Meaning]] = field(factory=dict, init=False)
    _here: dict[tuple[str, str], dict[int, list[Symbol]]] = field(factory=dict, init=False)

    def bare(self, path: str, table: PackedTable, scope: int, name: str) -> list[Meaning]:
        """Return the meanings of the name inside the definition `scope` of a file."""
        key = (path, scope, name)
        if key not in self._found:
            self._found[key] = self._find(path, table, scope, name)
        return self._found[key]

    def _defined_here(self, path: str, table: PackedTable, name: str) -> dict[int, list[Symbol]]:
        """Return the file's definitions of a name by enclosing definition: many tests define a `handler`."""
        if (path, name) not in self._here:
            here: defaultdict[int, list[Symbol]] = defaultdict(list)
            for each in symbols_named(path, table, name):
                here[parent_of(each)].append(each)
            self._here[path, name] = here
        return self._here[path, name]

    def _find(self, path: str, table: PackedTable, scope: int, name: str) -> list[Meaning]:
        rules = facts_of(table.language).scoping
        here = self._defined_here(path, table, name)
        scopes = list(table.scopes(scope))
        if nested := [
            each for number in scopes if table.kind(number) in CALLABLE for each in here.get(number, ())
        ]:
            return meanings([max(nested, key=lambda each: each.number)], SURE, "defined in the same function")
        if rules.bare_members:
            for number in scopes:
                if table.kind(number) in CONTAINERS:
                    owner = Symbol(path, number, table)
                    if members := self.types.members(owner, name):
                        return meanings(members, SURE, f"member of `{owner.name}`")
                elif (owner_name := table.definition(number).owner) and table.parent(number) == TOP_LEVEL:
                    # `void Foo::bar() {…}` is written outside its type.
                    for owner in self.types.named(path, table, owner_name):
                        if members := self.types.members(owner, name):
                            return meanings(members, SURE, f"member of `{owner.name}`")
        imported = self.modules.by_import(path, table, name)
        if imported and facts_of(table.language).family == "script" and imported[0].symbol.path != path:
            # A definition of the name inside an anonymous function looks like a top-level definition. It is
            # not one, because a file cannot both import and define a name.
            return imported
        known = [n for n in here if n in scopes or n < 0 or table.kind(n) == "module"]
        outer = [each for number in sorted(known) for each in here[number] if is_outer(each, scopes)]
        if full := [each for each in outer if not each.definition.is_declaration]:
            return meanings(full, SURE, "defined in the same file")
        if imported:
            return imported
        if import_of(table, name) is not None and not outer:
            return []  # The name is imported from outside the workspace.
        return self._in_visible_files(path, table, name, outer)

    def _in_visible_files(
        self, path: str, table: PackedTable, name: str, outer: Sequence[Symbol]
    ) -> list[Meaning]:
        """Return the meanings of a name in files that need no import; `outer` are the file's declarations."""
        rules = facts_of(table.language).scoping
        free = [
            each
            for each in self.tables.definitions_in(table.language, name)
            if each.is_known_in(path)
            and (each.path != path or each in outer)
            and not (each.definition.owner and each.kind in ("method", "field", "property"))
        ]
        if facts_of(table.language).family == "c":  # a macro may have the name of the function that it wraps
            free = [each for each in free if each.kind in CALLABLE] or free
        near: list[Symbol] = []
        if rules.visibility is Visibility.FOLDER:
            folder = posixpath.dirname(path)
            beside = [each for each in free if posixpath.dirname(each.path) == folder]
            near = [each for each in beside if _same_package(each.table.namespace, table.namespace)]
            why = "defined in the same package"
        elif rules.visibility is Visibility.NAMESPACE:
            near = [each for each in free if _is_within(table.namespace, each.table.namespace)]
            why = "defined in the same namespace"
        if near:
            return meanings(near, SURE, why)
        if rules.visibility is Visibility.WORKSPACE:
            sure = _COMMON if name in rules.common else LIKELY  # `read` is probably the system function
            return ambiguous(nearest(path, free), sure, "the definition of this name")
        if rules.visibility is Visibility.NAMESPACE:
            return ambiguous(free, 0.25, "the definition of this name")
        return []


def _same_package(one: str, other: str) -> bool:
    return one.removesuffix("_test") == other.removesuffix("_test")


def _is_within(namespace: str, outer: str) -> bool:
    """Whether code in the namespace sees the definitions of the outer namespace."""
    return namespace == outer or (namespace.startswith(f"{outer}/") and outer != "")
