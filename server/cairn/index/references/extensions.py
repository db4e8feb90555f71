"""Extension methods: members that the workspace adds to types that it may not define itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import define, field

from cairn.chunking.references.symbol_table import RECEIVER, TOP_LEVEL
from cairn.index.references.known_symbols import (
    LIKELY,
    Meaning,
    Symbol,
    SymbolTables,
    ambiguous,
    meanings,
)
from cairn.index.references.visible_names import Types

_ANY = re.compile(r"[A-Z]\d?|any|anyref|dynamic|object", re.IGNORECASE)
_TEXT = frozenset({"str", "string", "charsequence", "stringprotocol", "literal"})
_UNRELATED = 0.3
"""The confidence that a type has an extension method of another type, which may be its base."""
_RARE = 0.3
"""The confidence that a common name of an unknown type's method is an extension's."""


@define(eq=False)
class Extensions:
    """The extension methods of one folder during one request."""

    tables: SymbolTables
    types: Types
    _found: dict[tuple[str, str], list[tuple[Symbol, frozenset[str]]]] = field(factory=dict, init=False)

    def members(self, scope: Symbol, name: str, types: Sequence[str]) -> list[Meaning]:
        """Return the extension methods of that name for a receiver of one of the types, which are names as in
        `chains`; without names, for a receiver of an unknown type outside the workspace."""
        extends = scope.facts.scoping.extends_types
        every = self._of_name(scope.table.language, name) if extends else []
        if not every:
            return []
        own = set(self._with_bases(scope, types))
        fitting = [each for each, extended in every if own & extended]
        if fitting:
            return meanings(fitting, LIKELY, f"extends `{types[0]}`")
        anything = [each for each, extended in every if any(map(_ANY.fullmatch, extended))]
        rules = scope.facts.scoping
        if not types or anything:
            sure = _RARE if name in rules.common else rules.guess
            return ambiguous(anything or [each for each, _ in every], sure, "extension method of this name")
        return ambiguous([each for each, _ in every], _UNRELATED, "extension method of this name")

    def _of_name(self, language: str, name: str) -> list[tuple[Symbol, frozenset[str]]]:
        """Return the extension methods of a name, each with the types that it extends."""
        key = (language, name)
        if key not in self._found:
            every = self.tables.definitions_in(language, name)
            extended = ((each, frozenset(map(_plain, _extended(each)))) for each in every)
            self._found[key] = [(each, types) for each, types in extended if types]
        return self._found[key]

    def _with_bases(self, scope: Symbol, types: Iterable[str]) -> Iterable[str]:
        """Yield the types' names, and those of the interfaces that the workspace implements for them."""
        for name in types:
            yield _plain(name)
            for each in self.tables.definitions_in(scope.table.language, name):
                if each.kind in ("impl", "extension"):
                    yield from (_plain(base.name) for base in self.types.ancestors(each))


def _extended(method: Symbol) -> list[str]:
    """Return the names of the types that a method extends; empty for another method."""
    around = method.at(method.parent) if method.parent != TOP_LEVEL else None
    for variable in method.table.variables(RECEIVER):
        if variable.scope in (method.number, method.parent):
            return variable.type.removeprefix(":").split("|")[:1]
    if around is not None and around.kind in ("impl", "extension", "trait"):
        return [around.name]
    owner = method.definition.owner
    return [owner] if owner and (around is None or owner != around.name) else []


def _plain(name: str) -> str:
    """Return the form of a type's name by which types are compared: all types of text are alike."""
    last = name.rpartition(".")[2].lower()
    return "str" if last in _TEXT else last
