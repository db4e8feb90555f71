"""Resolves references by scope, imports and the type of the receiver, or else by the name alone."""

from __future__ import annotations

from attrs import define, evolve, field

from cairn.chunking.outline import CALLABLE, VALUES
from cairn.chunking.references.symbol_table import TEMPLATE, Reference, ReferenceKind
from cairn.index.references.extensions import Extensions
from cairn.index.references.function_values import THROUGH, FunctionValues
from cairn.index.references.known_symbols import (
    LIKELY,
    SURE,
    Meaning,
    Symbol,
    SymbolTables,
    Value,
    ValueKind,
    ambiguous,
    distinct,
    meanings,
    nearest,
)
from cairn.index.references.modules import Modules
from cairn.index.references.values import Values
from cairn.index.references.visible_names import Names, Types
from cairn.languages.registry import facts_of

CALLING = frozenset({"call", "apply", "invoke"})
"""Methods of functions that call them."""


@define(eq=False)
class Resolver:
    """Resolves the names of one folder during one request."""

    tables: SymbolTables
    modules: Modules = field(init=False)
    types: Types = field(init=False)
    names: Names = field(init=False)
    values: Values = field(init=False)
    extensions: Extensions = field(init=False)
    functions: FunctionValues = field(init=False)
    _guesses: dict[tuple[str, str, bool], list[Meaning]] = field(factory=dict, init=False)
    _named: dict[tuple[str, str, bool], list[Symbol]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.modules = Modules(self.tables)
        # Types and values need each other: an expression can name a type, and each expression has a type.
        self.types = Types(self.tables, lambda *given: self.values.types_named(*given))
        self.names = Names(self.tables, self.modules, self.types)
        self.extensions = Extensions(self.tables, self.types)
        self.values = Values(self.tables, self.modules, self.types, self.names, self.extensions)
        self.functions = FunctionValues(self.tables, self.values)

    def resolve(self, file: Symbol, reference: Reference, *, through_values: bool = True) -> list[Meaning]:
        """Return the meanings of a reference in the file of a symbol, likeliest first; empty for a target
        outside the workspace. With `through_values`, these include the functions that variables have as
        their values."""
        scope = file.at(reference.enclosing)
        if reference.kind is ReferenceKind.IMPORT:
            found = self.modules.imported(scope, reference.name)
            if scope.table.language == "cpp":  # `using` imports no file.
                found = self.names.bare(scope, reference.name)
        elif reference.receiver == TEMPLATE:
            found = self._in_template(scope, reference.name)
        elif reference.receiver:
            found = self._member(scope, reference)
        elif self.values.is_local(scope, reference.line, reference.name):
            found = []
        else:
            found = self.names.bare(scope, reference.name)
        if through_values:
            found = [*found, *self.functions.meant(scope, reference, found)]
        return distinct(found)

    def _in_template(self, scope: Symbol, name: str) -> list[Meaning]:
        """Return the meanings of a name that a template uses by itself: a member of its component, a name of
        its file, or a helper of the workspace."""
        owner = self.types.around(scope)
        owners = [owner] if owner is not None else self._classes_with_template(scope.path)
        members = [each for owner in owners for each in self.types.members(owner, name)]
        found = meanings(members, SURE, "member of the component") or self._components(scope, name)
        found = found or self.names.bare(scope, name)
        if not found:  # Options of a component, such as `methods`, are objects with functions.
            found = meanings(
                (each for each in scope.here(name) if each.kind in CALLABLE), LIKELY, "of the component"
            )
        if not found and scope.family == "ruby":
            every = self.tables.definitions_in("ruby", name)
            found = ambiguous([each for each in every if _is_helper(each)], LIKELY, "the helper of this name")
        return [evolve(each, via=f"used by the template; {each.via}") for each in found]

    def _components(self, scope: Symbol, name: str) -> list[Meaning]:
        """Return the components of Razor of that name, which templates use without an import."""
        if scope.family != "csharp":
            return []
        every = self.tables.definitions_in("csharp", name)
        found = [
            each for each in every if each.path.rpartition("/")[2] == f"{name}.razor" and each.kind == "class"
        ]
        return ambiguous(nearest(scope.path, found), LIKELY, "the component of this name")

    def _classes_with_template(self, path: str) -> list[Symbol]:
        """Return the classes in the files that import the template, as `templateUrl` of Angular does."""
        if not path.endswith(".html"):
            return []
        files = filter(None, map(self.tables.top, self.tables.importers(path)))
        every = (file.at(number) for file in files for number in range(file.table.count))
        return [each for each in every if each.kind == "class"]

    def _member(self, scope: Symbol, reference: Reference) -> list[Meaning]:
        name = reference.name
        value = self.values.value(scope, reference.line, reference.receiver, 0)
        is_self = reference.receiver in scope.facts.scoping.selves
        if value.kind is ValueKind.UNKNOWN and (inside := self.names.qualified(scope, reference)):
            return inside
        if value.kind is ValueKind.UNKNOWN and is_self and (beside := self._beside(scope, name)):
            return meanings(beside, LIKELY, "beside it in the same object")
        if value.kind is ValueKind.ELSEWHERE:
            return self.extensions.members(scope, name, value.types)
        if value.kind is ValueKind.MODULE:
            found = self.modules.known(value.paths, name)
            return meanings(found, SURE, f"member of the module `{reference.receiver}`")
        if value.kind is ValueKind.FUNCTION and name in CALLING:
            is_itself = reference.receiver.endswith(value.symbols[0].name)
            return meanings(value.symbols, LIKELY if is_itself else THROUGH, f"calls `{reference.receiver}`")
        if value.kind in (ValueKind.INSTANCE, ValueKind.TYPE):
            members = self._of_types(value, name, reference.receiver) or self._added(scope, value, name)
            if members or any(each.kind not in VALUES for each in value.symbols):
                return members
        return self._guessed(scope, reference)

    def _beside(self, scope: Symbol, name: str) -> list[Symbol]:
        """Return the members of that name in the object literal around `scope`."""
        methods = [number for number in scope.scopes() if scope.table.kind(number) == "method"]
        if not methods:
            return []
        around = scope.table.definition(methods[-1])
        return [
            each
            for each in scope.here(name)
            if (each.kind, each.parent, each.definition.owner) == ("method", around.parent, around.owner)
        ]

    def _of_types(self, value: Value, name: str, receiver: str) -> list[Meaning]:
        found: list[Meaning] = []
        for owner in value.symbols:
            if members := self.types.members(owner, name):
                via = "has it" if owner.kind in VALUES else f"is of type `{owner.name}`"
                found += meanings(members, value.confidence, f"`{receiver}` {via}")
        if not found:
            for owner in value.symbols:
                below = self.types.overriding(owner, name)
                found += ambiguous(below, 0.45, f"of a type that extends `{owner.name}`")
        return found

    def _added(self, scope: Symbol, value: Value, name: str) -> list[Meaning]:
        """Return the extension methods of that name for the types of a value."""
        above = (base for owner in value.symbols for base in self.types.ancestors(owner))
        return self.extensions.members(scope, name, [each.name for each in (*value.symbols, *above)])

    def _guessed(self, scope: Symbol, reference: Reference) -> list[Meaning]:
        """Return the meanings of a member by its name alone, because the type of the receiver is unknown."""
        is_called, path = reference.kind is ReferenceKind.CALL, scope.path
        key = (path, reference.name, is_called)
        if key not in self._guesses:
            every = self._members(scope.table.language, reference.name, is_called)
            members = [each for each in every if each.is_known_in(path)]
            rules = scope.facts.scoping
            sure = 0.3 if reference.name in rules.common else rules.guess
            if len({each.definition.owner for each in members}) == 1:
                found = meanings(members, sure, "the only member of this name")
            else:
                found = ambiguous(nearest(path, members), sure, "one of the members of this name")
            self._guesses[key] = found
        return self._guesses[key]

    def _members(self, language: str, name: str, is_called: bool) -> list[Symbol]:
        key = (facts_of(language).family, name, is_called)
        if key not in self._named:
            self._named[key] = [
                each
                for each in self.tables.definitions_in(language, name)
                if (each.definition.owner or not is_called) and each.kind not in ("module", "impl")
            ]
        return self._named[key]


def _is_helper(symbol: Symbol) -> bool:
    """Whether Rails includes the method in all templates."""
    return symbol.definition.owner.endswith("Helper") and symbol.kind == "method"
