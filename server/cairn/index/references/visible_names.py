"""Names without a receiver, and types with their members, ancestors and descendants.

A name is resolved by its scope, the imports of its file, and the other visible files.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field

from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES
from cairn.chunking.references.symbol_table import TOP_LEVEL, Reference
from cairn.index.references.implicit_interfaces import interfaces_of, satisfying
from cairn.index.references.known_symbols import (
    LIKELY,
    MOST_SHARED,
    SURE,
    TYPES,
    Meaning,
    Symbol,
    SymbolTables,
    ambiguous,
    meanings,
    nearest,
)
from cairn.index.references.modules import Modules, import_of, is_outer
from cairn.languages.language import Visibility
from cairn.languages.registry import facts_of

_MOST_ANCESTORS = 60
_BLOCKS = frozenset({"impl", "extension", "module"})
"""The kinds of blocks with members of a type that is defined elsewhere."""


@define(eq=False)
class Types:
    """The types of one folder during one request."""

    tables: SymbolTables
    _find: Callable[[Symbol, str], list[Symbol]]
    """A function from any place in a file and a name to the types that the name means in the file."""
    _named: dict[tuple[str, str], tuple[Symbol, ...]] = field(factory=dict, init=False)
    _ancestors: dict[Symbol, tuple[Symbol, ...]] = field(factory=dict, init=False)
    _parts: dict[Symbol, tuple[Symbol, ...]] = field(factory=dict, init=False)
    _own: dict[tuple[object, str], list[Symbol]] = field(factory=dict, init=False)
    """The members by the identity of a type's parts, or its only part, and by name."""
    _members_outside: dict[tuple[str, str], Mapping[str, list[Symbol]]] = field(factory=dict, init=False)
    _with_types: dict[str, list[tuple[Symbol, Symbol]]] = field(factory=dict, init=False)
    """By name, all members of that name with their types."""
    _overriding: dict[tuple[Symbol, str], list[Symbol]] = field(factory=dict, init=False)

    def named(self, scope: Symbol, name: str) -> tuple[Symbol, ...]:
        """Return the types that a name means in the file of `scope`; empty for types outside the
        workspace."""
        key = (scope.path, name)
        if key not in self._named:
            self._named[key] = ()  # ends the recursion for a type that refers to itself
            self._named[key] = tuple(dict.fromkeys(self._find(scope, name)))
        return self._named[key]

    def members(self, owner: Symbol, name: str) -> list[Symbol]:
        """Return the members of that name that a type defines, or inherits if it defines none."""
        for each in (owner, *self.ancestors(owner)):
            if found := self.own_members(each, name):
                return found
        return []

    def parts(self, owner: Symbol) -> tuple[Symbol, ...]:
        """Return the definitions that form a type, the same tuple for each of them. Some may be in other
        files: a module of Ruby may have hundreds."""
        if not owner.facts.scoping.reopens_types:
            return (owner,)
        if owner not in self._parts:
            others = self.tables.definitions_in(owner.table.language, owner.name)
            same = [each for each in others if each != owner and _is_part(each, owner)]
            whole = (owner, *same)
            for each in whole:
                self._parts.setdefault(each, whole)
        return self._parts[owner]

    def own_members(self, owner: Symbol, name: str) -> list[Symbol]:
        parts = self.parts(owner)
        key = id(parts) if len(parts) > 1 else owner, name
        if key not in self._own:
            self._own[key] = [
                each for part in parts for each in part.here(name) if each.parent == part.number
            ]
        if own := self._own[key]:
            return sorted(own, key=lambda each: each.path != owner.path)
        found = self._outside(owner.table.language, name).get(owner.name, [])
        same = [each for each in found if posixpath.dirname(each.path) == posixpath.dirname(owner.path)]
        return same or found

    def _outside(self, language: str, name: str) -> Mapping[str, list[Symbol]]:
        """Return the members of that name that are outside of the body of their type, by the type's name."""
        key = (facts_of(language).family, name)
        if key not in self._members_outside:
            found: defaultdict[str, list[Symbol]] = defaultdict(list)
            for each in self.tables.definitions_in(language, name):
                if each.parent == TOP_LEVEL or each.table.kind(each.parent) in _BLOCKS:
                    found[each.definition.owner].append(each)
            self._members_outside[key] = found
        return self._members_outside[key]

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
        found = []
        extending = (each for each in owner.here(owner.name) if each.kind in ("impl", "extension"))
        parts = self.parts(owner)
        for symbol in (*parts, *extending):
            for reference in symbol.table.inherited(symbol.number):
                qualified = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                bases = (each for named in self.named(symbol, qualified) for each in self.parts(named))
                found += [each for each in bases if each not in parts]
        return found

    def overridden(self, member: Symbol) -> list[Symbol]:
        """Return the members of ancestors that a member overrides."""
        owner = self.of_member(member)
        above = self.ancestors(owner) if owner is not None else ()
        found = [each for base in above for each in self.own_members(base, member.name)]
        return found or interfaces_of(self.tables, member)

    def overriding(self, owner: Symbol, name: str) -> list[Symbol]:
        """Return the members of that name in descendants of a type."""
        key = (owner, name)
        if key not in self._overriding:
            self._overriding[key] = self._find_overriding(owner, name)
        return self._overriding[key]

    def _find_overriding(self, owner: Symbol, name: str) -> list[Symbol]:
        if name not in self._with_types:
            every = ((each, self.of_member(each)) for each in self.tables.definitions(name))
            self._with_types[name] = [(each, type_) for each, type_ in every if type_ is not None]
        found = [each for each, type_ in self._with_types[name] if owner in self.ancestors(type_)]
        return (found or satisfying(self.tables, owner, name))[:MOST_SHARED]

    def of_member(self, member: Symbol) -> Symbol | None:
        for each in map(member.at, member.at(member.parent).scopes()):
            if each.kind in TYPES or each.kind in VALUES:
                return each
        if owner := member.definition.owner:
            return next(iter(self.named(member, owner)), None)
        return None

    def around(self, scope: Symbol) -> Symbol | None:
        """Return the type that encloses a definition; None outside of types."""
        for each in map(scope.at, scope.scopes()):
            if each.kind in TYPES:
                return each
            title = each.name if each.kind in ("impl", "extension") else each.definition.owner
            if title:
                if found := self.named(scope, title):
                    return found[0]
                if each.kind in ("impl", "extension", "module"):
                    return each
        return None


_NAMESPACED = frozenset({"cpp", "php"})
"""Languages in which a call can name the namespace of a function."""
_COMMON = 0.45
"""The confidence that a common name means the definition of that name in the workspace."""


@define(eq=False)
class Names:
    """Resolves names without a receiver in one folder during one request."""

    tables: SymbolTables
    modules: Modules
    types: Types
    _found: dict[tuple[Symbol, str], list[Meaning]] = field(factory=dict, init=False)
    _here: dict[tuple[str, str], dict[int, list[Symbol]]] = field(factory=dict, init=False)

    def bare(self, scope: Symbol, name: str) -> list[Meaning]:
        """Return the meanings of the name inside the definition `scope`."""
        key = (scope, name)
        if key not in self._found:
            self._found[key] = self._find(scope, name)
        return self._found[key]

    def qualified(self, scope: Symbol, reference: Reference) -> list[Meaning]:
        """Return the meanings of a name whose receiver is a namespace, as in `detail::moor()`."""
        if scope.table.language not in _NAMESPACED:
            return []
        parts = reference.receiver.split(".")
        for alias in scope.table.variables(parts[0]):
            if alias.scope == TOP_LEVEL and alias.type:  # `namespace fs = std::filesystem;`
                parts[:1] = alias.type.split(".")
                break
        every = self.tables.definitions_in(scope.table.language, reference.name)
        inside = [each for each in every if set(parts) <= _namespaces(each)]
        own = scope.table.namespaces(reference.line)
        shared = [len(own & _namespaces(each)) for each in inside]
        nearest = [each for each, count in zip(inside, shared, strict=True) if count == max(shared)]
        return meanings(nearest, SURE, f"defined in the namespace `{parts[-1]}`")

    def _defined_here(self, scope: Symbol, name: str) -> dict[int, list[Symbol]]:
        """Return the file's definitions of a name by enclosing definition: many tests define a `handler`."""
        key = (scope.path, name)
        if key not in self._here:
            here: defaultdict[int, list[Symbol]] = defaultdict(list)
            for each in scope.here(name):
                here[each.parent].append(each)
            self._here[key] = here
        return self._here[key]

    def _find(self, scope: Symbol, name: str) -> list[Meaning]:
        table, rules = scope.table, scope.facts.scoping
        here = self._defined_here(scope, name)
        scopes = scope.scopes()
        if nested := [
            each for number in scopes if table.kind(number) in CALLABLE for each in here.get(number, ())
        ]:
            return meanings([max(nested, key=lambda each: each.number)], SURE, "defined in the same function")
        if rules.bare_members:
            for number in scopes:
                if table.kind(number) in CONTAINERS:
                    owner = scope.at(number)
                    if members := self.types.members(owner, name):
                        return meanings(members, SURE, f"member of `{owner.name}`")
                elif (owner_name := table.definition(number).owner) and table.parent(number) == TOP_LEVEL:
                    # `void Foo::bar() {…}` is written outside its type.
                    for owner in self.types.named(scope, owner_name):
                        if members := self.types.members(owner, name):
                            return meanings(members, SURE, f"member of `{owner.name}`")
        imported = self.modules.by_import(scope, name)
        if imported and scope.family == "script" and imported[0].symbol.path != scope.path:
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
        return self._in_visible_files(scope, name, outer)

    def _in_visible_files(self, scope: Symbol, name: str, outer: Sequence[Symbol]) -> list[Meaning]:
        """Return the meanings of a name in files that need no import; `outer` are the file's declarations."""
        path, namespace, rules = scope.path, scope.table.namespace, scope.facts.scoping
        free = [
            each
            for each in self.tables.definitions_in(scope.table.language, name)
            if each.is_known_in(path)
            and (each.path != path or each in outer)
            and not (each.definition.owner and each.kind in ("method", "field", "property"))
        ]
        if scope.family == "c":  # a macro may have the name of the function that it wraps
            free = [each for each in free if each.kind in CALLABLE] or free
        near: list[Symbol] = []
        if rules.visibility is Visibility.FOLDER:
            folder = posixpath.dirname(path)
            beside = [each for each in free if posixpath.dirname(each.path) == folder]
            near = [each for each in beside if _same_package(each.table.namespace, namespace)]
            why = "defined in the same package"
        elif rules.visibility is Visibility.NAMESPACE:
            near = [each for each in free if _is_within(namespace, each.table.namespace)]
            why = "defined in the same namespace"
        if near:
            return meanings(near, SURE, why)
        if rules.visibility is Visibility.WORKSPACE:
            sure = _COMMON if name in rules.common else LIKELY  # `read` is probably the system function
            return ambiguous(nearest(path, free), sure, "the definition of this name")
        if rules.visibility is Visibility.NAMESPACE:
            return ambiguous(free, 0.25, "the definition of this name")
        return []


def _namespaces(symbol: Symbol) -> set[str]:
    """Return the names of the namespaces around a definition outside of types."""
    definition, table = symbol.definition, symbol.table
    if symbol.parent != TOP_LEVEL:
        return set()
    owner = {definition.owner} - {""}
    return table.namespaces(definition.line).union(table.namespace.split("/"), owner)


def _is_part(one: Symbol, other: Symbol) -> bool:
    """Whether two definitions of a name form one type. A component of Razor has no namespace in its file, and
    its code may be in the file beside: `List.razor` and `List.razor.cs`."""
    code, component = sorted((one.path, other.path), key=len, reverse=True)
    return _identity(one) == _identity(other) or code == f"{component}.cs"


def _identity(symbol: Symbol) -> tuple[str, str, str, str]:
    """Return what the definitions that form one type have in common."""
    owner = symbol.definition.owner.rpartition("::")[2]
    return symbol.table.namespace, owner, symbol.name, symbol.kind


def _same_package(one: str, other: str) -> bool:
    return one.removesuffix("_test") == other.removesuffix("_test")


def _is_within(namespace: str, outer: str) -> bool:
    """Whether code in the namespace sees the definitions of the outer namespace."""
    return namespace == outer or (namespace.startswith(f"{outer}/") and outer != "")
