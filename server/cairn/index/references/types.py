"""Types with their members, ancestors and descendants."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from attrs import define, field

from cairn.chunking.references.model import TOP_LEVEL
from cairn.chunking.references.packing import PackedTable
from cairn.index.references.meaning import MOST_SHARED, TYPES, parent_of
from cairn.index.references.tables import Symbol, SymbolTables, symbols_named

_MOST_ANCESTORS = 60


@define(eq=False)
class Types:
    """The types of one folder during one request."""

    tables: SymbolTables
    _find: Callable[[str, PackedTable, str], list[Symbol]]
    """A function from a file's path, its table and a name to the types that the name means in the file."""
    _named: dict[tuple[str, str], tuple[Symbol, ...]] = field(factory=dict, init=False)
    _ancestors: dict[Symbol, tuple[Symbol, ...]] = field(factory=dict, init=False)

    def named(self, path: str, table: PackedTable, name: str) -> tuple[Symbol, ...]:
        """Return the types that a written name means in a file; empty for types outside the workspace."""
        key = (path, name)
        if key not in self._named:
            self._named[key] = ()  # ends the recursion for a type that refers to itself
            self._named[key] = tuple(dict.fromkeys(self._find(path, table, name)))
        return self._named[key]

    def members(self, owner: Symbol, name: str) -> list[Symbol]:
        """Return the members of that name that a type defines, or inherits if it defines none."""
        for each in (owner, *self.ancestors(owner)):
            if found := self.own_members(each, name):
                return found
        return []

    def own_members(self, owner: Symbol, name: str) -> list[Symbol]:
        own = symbols_named(owner.path, owner.table, name)
        if own := [each for each in own if parent_of(each) == owner.number]:
            return own
        title = owner.name
        found = [
            each
            for each in self.tables.definitions_in(owner.table.language, name)
            if each.definition.owner == title
            and (
                parent_of(each) == TOP_LEVEL
                or each.table.kind(parent_of(each)) in ("impl", "extension", "module")
            )
        ]
        same = [each for each in found if posixpath.dirname(each.path) == posixpath.dirname(owner.path)]
        return same or found

    def ancestors(self, owner: Symbol) -> tuple[Symbol, ...]:
        """Return the types that a type extends or implements, directly or indirectly, the nearest first."""
        if owner in self._ancestors:
            return self._ancestors[owner]
        self._ancestors[owner] = ()  # ends the recursion in a cycle
        found: list[Symbol] = []
        for base in self.bases(owner):
            found += [base, *self.ancestors(base)]
            if len(found) > _MOST_ANCESTORS:
                break
        self._ancestors[owner] = tuple(dict.fromkeys(found))
        return self._ancestors[owner]

    def bases(self, owner: Symbol) -> list[Symbol]:
        """Return the types that a type directly extends or implements."""
        numbers = [(owner.path, owner.table, owner.number)]
        for number in owner.table.defining(owner.name):
            if owner.table.kind(number) in ("impl", "extension"):
                numbers.append((owner.path, owner.table, number))
        found = []
        for path, table, number in numbers:
            for reference in table.inherited(number):
                qualified = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                found += [each for each in self.named(path, table, qualified) if each != owner]
        return found

    def overridden(self, member: Symbol) -> list[Symbol]:
        """Return the members of ancestors that a member overrides."""
        owner = self.of_member(member)
        above = self.ancestors(owner) if owner is not None else ()
        return [each for base in above for each in self.own_members(base, member.name)]

    def overriding(self, owner: Symbol, name: str) -> list[Symbol]:
        """Return the members of that name in descendants of a type."""
        return [
            each
            for each in self.tables.definitions(name)
            if (type_ := self.of_member(each)) is not None and owner in self.ancestors(type_)
        ][:MOST_SHARED]

    def of_member(self, member: Symbol) -> Symbol | None:
        table = member.table
        for number in table.scopes(parent_of(member)):
            if table.kind(number) in TYPES:
                return Symbol(member.path, number, table)
        if owner := member.definition.owner:
            return next(iter(self.named(member.path, table, owner)), None)
        return None

    def around(self, path: str, table: PackedTable, scope: int) -> Symbol | None:
        """Return the type that encloses a definition of a file; None outside of types."""
        for number in table.scopes(scope):
            if table.kind(number) in TYPES:
                return Symbol(path, number, table)
            definition = table.definition(number)
            title = definition.name if definition.kind in ("impl", "extension") else definition.owner
            if title:
                found = self.named(path, table, title)
                if found:
                    return found[0]
                if definition.kind in ("impl", "extension", "module"):
                    return Symbol(path, number, table)
        return None
