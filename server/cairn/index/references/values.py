"""Evaluates expressions to instances of types, types, modules or functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from attrs import define, evolve, field

from cairn.chunking.outline import CALLABLE, VALUES
from cairn.chunking.references.chains import UNKNOWN
from cairn.chunking.references.symbol_table import EVERYWHERE, TOP_LEVEL, Variable, type_parameter
from cairn.index.references.extensions import Extensions
from cairn.index.references.known_symbols import (
    ELSEWHERE,
    LIKELY,
    SURE,
    TYPES,
    UNKNOWN_VALUE,
    Symbol,
    SymbolTables,
    Value,
    ValueKind,
)
from cairn.index.references.modules import Modules, import_of
from cairn.index.references.visible_names import Names, Types
from cairn.languages.language import Visibility

_DEEPEST = 8
"""The maximum number of steps to follow from an expression to its type."""
_END_OF_FILE = 1 << 30
_CALLED = ("__call__", "operator()", "invoke", "__invoke", "apply", "call")
"""Methods that run when an instance is called like a function."""


@define(eq=False)
class Values:
    """Evaluates expressions of one folder during one request."""

    tables: SymbolTables
    modules: Modules
    types: Types
    names: Names
    extensions: Extensions
    _evaluating: set[tuple[Symbol, str]] = field(factory=set, init=False)
    _values: dict[tuple[Symbol, int, str], Value] = field(factory=dict, init=False)
    _variables: dict[tuple[str, str], dict[int, list[Variable]]] = field(factory=dict, init=False)
    _aliases: set[tuple[str, str]] = field(factory=set, init=False)

    def value(self, scope: Symbol, line: int, expression: str, depth: int) -> Value:
        """Return the value of `expression` (see `chains`) at a line of the definition `scope`."""
        if depth > _DEEPEST or expression in ("", UNKNOWN):
            return UNKNOWN_VALUE
        if expression.startswith(":"):
            return self._of_type(scope, expression[1:])
        key = (scope, line, expression)
        if key not in self._values:
            self._values[key] = UNKNOWN_VALUE  # ends the recursion for an expression that refers to itself
            self._values[key] = self._evaluated(scope, line, expression, depth)
        return self._values[key]

    def types_named(self, scope: Symbol, name: str) -> list[Symbol]:
        """Return the types that a name means in the file of `scope`, and the types behind each alias among
        them."""
        found: list[Symbol] = []
        for each in self._find_types(scope.at(TOP_LEVEL), name):
            found.append(each)
            if each.kind == "type":
                found += self._aliased(each, each.name)
        return found

    def _find_types(self, file: Symbol, name: str) -> list[Symbol]:
        table = file.table
        first, _, last = name.rpartition(".")
        if first:
            value = self.value(file, _END_OF_FILE, first, 0)
            if value.kind is ValueKind.MODULE:
                return _types(self.modules.known(value.paths, last))
            if value.kind is ValueKind.TYPE:
                return _types(each for owner in value.symbols for each in self.types.own_members(owner, last))
            if value.kind is ValueKind.ELSEWHERE:
                return []
        if found := _types(each.symbol for each in self.names.bare(file, last)):
            return found
        inner = _types(file.here(last))
        if inner or import_of(table, last) is not None:
            return inner
        every = _types(self.tables.definitions_in(table.language, last))
        in_file = file.facts.scoping.visibility is Visibility.FILE and table.language != "rust"
        return every if len(every) == 1 and (first or not in_file) else []

    def _evaluated(self, scope: Symbol, line: int, expression: str, depth: int) -> Value:
        parts = expression.split(".")
        value, used = self._first(scope, line, parts, depth)
        for part in parts[used:]:
            if value.kind is ValueKind.UNKNOWN:
                return value
            if value.kind is ValueKind.ELSEWHERE:
                value = self._extended(scope, value, part, depth)
            else:
                value = self._step(value, part, depth)
        return value

    def _first(self, scope: Symbol, line: int, parts: Sequence[str], depth: int) -> tuple[Value, int]:
        """Return the value of the first parts of an expression, and the number of these parts."""
        table, rules = scope.table, scope.facts.scoping
        name, suffix = _suffix(parts[0])
        name = name.removeprefix(scope.facts.sigil)
        if name in rules.selves or name in rules.supers:
            owner = self.types.around(scope)
            if owner is None:
                return UNKNOWN_VALUE, 1
            if name in rules.supers:
                bases = tuple(self.types.bases(owner))
                return (Value(ValueKind.INSTANCE, bases) if bases else ELSEWHERE), 1
            return Value(ValueKind.INSTANCE, (owner,)), 1
        if name.startswith("@"):
            owner = self.types.around(scope)
            return (self._field(owner, name, depth) if owner is not None else UNKNOWN_VALUE), 1
        if not suffix and len(parts) > 1:  # A member that the file gives a variable.
            member, after = _suffix(parts[1])
            is_member = table.has_member(member)
            value = self._variable(scope, line, f"{name}.{member}", depth) if is_member else None
            if value is not None and value.kind is not ValueKind.UNKNOWN:
                return self._suffixed(value, after, depth), 2
        if (value := self._variable(scope, line, name, depth)) is not None:  # noqa: SIM102
            if value.kind is not ValueKind.UNKNOWN or name not in table.holders:
                return self._suffixed(value, suffix, depth), 1
        for length in range(len(parts), 1, -1):  # for `import a.b`
            dotted = ".".join(parts[:length])
            if table.language == "elixir" and (modules := self.tables.definitions(dotted)):
                return Value(ValueKind.TYPE, modules), length
            imported = import_of(table, dotted)
            if imported is not None:
                paths = self.tables.targets(scope.path, imported.module) if imported.module else ()
                return (Value(ValueKind.MODULE, paths=paths) if paths else ELSEWHERE), length
        if rules.bare_members and (owner := self.types.around(scope)) is not None:
            value = self._field(owner, name, depth)
            if value.kind is not ValueKind.UNKNOWN:
                return self._suffixed(value, suffix, depth), 1
        found = self.names.bare(scope, name)
        confidence = min((each.confidence for each in found), default=SURE)
        value = self._of_symbols([each.symbol for each in found], confidence, depth)
        if value.kind is not ValueKind.UNKNOWN or found:
            return self._suffixed(value, suffix, depth), 1
        if (imported := import_of(table, name)) is not None:
            return self.modules.module(scope.path, imported), 1
        return (self.modules.beside(scope, name) or UNKNOWN_VALUE), 1

    def _extended(self, scope: Symbol, value: Value, part: str, depth: int) -> Value:
        """Return the value of an extension method of a thing outside the workspace."""
        name, suffix = _suffix(part)
        found = self.extensions.members(scope, name, value.types) if suffix and value.types else []
        best = [each.symbol for each in found if each.confidence >= LIKELY]
        return self._suffixed(self._of_symbols(best, LIKELY, depth), suffix, depth) if best else ELSEWHERE

    def _step(self, value: Value, part: str, depth: int) -> Value:
        name, suffix = _suffix(part)
        if value.kind is ValueKind.MODULE:
            symbols = self.modules.known(value.paths, name)
            if not symbols:
                below = self.modules.below(value.paths, name)
                return Value(ValueKind.MODULE, paths=below) if below else UNKNOWN_VALUE
            return self._suffixed(self._of_symbols(symbols, SURE, depth), suffix, depth)
        if value.kind is ValueKind.FUNCTION and name == "bind":  # `moor.bind(this)`
            return value
        if value.is_collection or value.kind is ValueKind.FUNCTION:
            return UNKNOWN_VALUE
        for owner in value.symbols:
            members = self.types.members(owner, name)
            callables = [each for each in members if each.kind in CALLABLE or each.kind in TYPES]
            if callables and (suffix.startswith("()") or callables[0].kind in TYPES):
                return self._suffixed(self._of_symbols(callables, value.confidence, depth), suffix, depth)
            found = self._field(owner, name, depth)
            if found.kind is not ValueKind.UNKNOWN:
                return self._suffixed(found, suffix, depth)
            if callables:
                if callables[0].definition.is_accessor or owner.facts.scoping.runs_by_name:
                    return self._suffixed(self._returned(callables[0], depth), suffix, depth)
                return self._suffixed(self._of_symbols(callables, SURE, depth), suffix, depth)
        return UNKNOWN_VALUE

    def _suffixed(self, value: Value, suffix: str, depth: int) -> Value:
        """Return the result of the suffix's calls `()` and subscripts `[]` on the value."""
        while suffix:
            step, suffix = suffix[:2], suffix[2:]
            if value.kind is ValueKind.FUNCTION:
                returned = (self._returned(each, depth) for each in value.symbols if step == "()")
                value = next((each for each in returned if each.kind is not ValueKind.UNKNOWN), UNKNOWN_VALUE)
            elif value.kind is ValueKind.TYPE:
                value = evolve(value, kind=ValueKind.INSTANCE)
            elif value.kind is ValueKind.INSTANCE and step == "[]":
                value = evolve(value, is_collection=False) if value.is_collection else UNKNOWN_VALUE
            elif value.kind is ValueKind.INSTANCE:
                value = self._called(value, depth)
        return value

    def _called(self, value: Value, depth: int) -> Value:
        for owner in value.symbols:
            for name in _CALLED:
                if members := self.types.members(owner, name):
                    return self._returned(members[-1], depth)
        return UNKNOWN_VALUE

    def _returned(self, function: Symbol, depth: int) -> Value:
        definition = function.definition
        if function.kind == "constructor":
            owner = self.types.of_member(function)
            return Value(ValueKind.INSTANCE, (owner,)) if owner is not None else UNKNOWN_VALUE
        if not definition.type:
            return UNKNOWN_VALUE
        scope, line = function.at(function.parent), definition.line
        if definition.type.startswith(":"):
            name = definition.type[1:].removesuffix("[]")
            if name in ("Self", "self", "static", "this", definition.owner):
                owner = self.types.of_member(function)
                if owner is not None:
                    return Value(ValueKind.INSTANCE, (owner,), is_collection=definition.type.endswith("[]"))
        else:  # The function returns this expression at its end.
            scope, line = function, definition.end_line
        return self.value(scope, line, definition.type, depth + 1)

    def _of_symbols(self, symbols: Sequence[Symbol], confidence: float, depth: int) -> Value:
        types = tuple(_types(symbols))
        functions = tuple(each for each in symbols if each.kind in CALLABLE)
        if types and not (functions and all(each.kind == "namespace" for each in types)):
            return Value(ValueKind.TYPE, types, confidence=confidence)
        if functions:
            return Value(ValueKind.FUNCTION, functions, confidence=confidence)
        for each in symbols:
            if each.kind == "module":
                return Value(ValueKind.TYPE, (each,), confidence=confidence)
            definition, scope = each.definition, each.at(each.parent)
            if definition.type:
                return self.value(scope, definition.line, definition.type, depth + 1)
            value = self._variable(scope, _END_OF_FILE, each.name, depth + 1)
            if value is not None and value.kind is not ValueKind.UNKNOWN:
                return value
            if each.name in each.table.holders:
                return Value(ValueKind.INSTANCE, (each,), confidence=confidence)
        return UNKNOWN_VALUE

    def _of_type(self, scope: Symbol, names: str) -> Value:
        """Return an instance of one of the types `names`, which `|` separates."""
        found: list[Symbol] = []
        is_collection = False
        for name in names.split("|"):
            if name.rpartition(".")[2] in scope.facts.scoping.selves:
                return UNKNOWN_VALUE
            name_alone = name.removesuffix("[]")
            if (bound := self._bound(scope, name_alone)) is None:
                found += self.types.named(scope, name_alone) or self._aliased(scope, name_alone)
            elif bound.kind is ValueKind.UNKNOWN:
                return UNKNOWN_VALUE
            else:
                found += bound.symbols
            is_collection = is_collection or name.endswith("[]")
        if not found:
            return Value(ValueKind.ELSEWHERE, types=tuple(names.split("|")[:1]))
        return Value(ValueKind.INSTANCE, tuple(found), is_collection=is_collection)

    def _bound(self, scope: Symbol, name: str) -> Value | None:
        """Return an instance of the bounds of a type parameter; None if no type parameter has the name."""
        key = (scope, type_parameter(name))
        if key[1] not in scope.table.type_parameters:
            return None
        known = self._known(scope, key[1])
        number = next((each for each in (*scope.scopes(), TOP_LEVEL) if each in known), None)
        if number is None or key in self._evaluating:
            return None
        types = "|".join(each.type.removeprefix(":") for each in known[number] if each.type)
        if not types:
            return UNKNOWN_VALUE
        self._evaluating.add(key)
        try:
            return self._of_type(scope.at(number), types)
        finally:
            self._evaluating.discard(key)

    def _aliased(self, scope: Symbol, name: str) -> tuple[Symbol, ...]:
        """Return the types for which a variable of the file of `scope` is an alias."""
        key = (scope.path, name)
        if key in self._aliases:
            return ()
        self._aliases.add(key)
        try:
            value = self.value(scope.at(TOP_LEVEL), _END_OF_FILE, name, 1)
        finally:
            self._aliases.discard(key)
        return value.symbols if value.kind in (ValueKind.INSTANCE, ValueKind.TYPE) else ()

    def _variable(self, scope: Symbol, line: int, name: str, depth: int) -> Value | None:
        """Return the value that a variable has at a line; None if no scope knows the variable."""
        known = self._known(scope, name)
        if not known:
            return None
        for number in (*scope.scopes(), TOP_LEVEL):
            is_type = number >= 0 and scope.table.kind(number) in TYPES
            if is_type and not scope.facts.scoping.bare_members:
                continue
            if here := _known_at(line, known.get(number, ())):
                chosen, inside = here[-1], scope.at(number)
                key = (inside, f"{name} {chosen.type}")
                if key in self._evaluating and _suffix(chosen.type)[0] == name:
                    continue  # `dialer := dialer` copies the variable of an outer scope.
                return self._of_variable(key, inside, chosen, depth) if chosen.type else UNKNOWN_VALUE
        return None

    def _of_variable(self, key: tuple[Symbol, str], scope: Symbol, variable: Variable, depth: int) -> Value:
        """Return the value of the variable's type, or of the expression assigned to it. It is unknown if the
        evaluation leads back to `key`."""
        if key in self._evaluating:
            return UNKNOWN_VALUE
        self._evaluating.add(key)
        try:
            return self.value(scope, variable.line, variable.type, depth + 1)
        finally:
            self._evaluating.discard(key)

    def is_local(self, scope: Symbol, line: int, name: str) -> bool:
        """Whether a function around the place binds the name."""
        known = self._known(scope, name)
        return any(
            number in known and scope.table.kind(number) in CALLABLE and _known_at(line, known[number])
            for number in scope.scopes()
        )

    def _known(self, scope: Symbol, name: str) -> dict[int, list[Variable]]:
        key = (scope.path, name)
        if key not in self._variables:
            known: defaultdict[int, list[Variable]] = defaultdict(list)
            for each in scope.table.variables(name):
                known[each.scope].append(each)
            self._variables[key] = known
        return self._variables[key]

    def _field(self, owner: Symbol, name: str, depth: int) -> Value:
        if owner.kind in VALUES:
            value = self._variable(owner.at(owner.parent), _END_OF_FILE, f"{owner.name}.{name}", depth)
            return value or UNKNOWN_VALUE
        for each in (*self.types.parts(owner), *self.types.ancestors(owner)):
            for variable in self._known(each, name).get(each.number, ()):
                if variable.type:
                    scope = self._scope_of_line(each, variable.line)
                    return self._of_variable((each, f".{name}"), scope, variable, depth)
        return UNKNOWN_VALUE

    def _scope_of_line(self, owner: Symbol, line: int) -> Symbol:
        """Return the innermost definition inside the type around the line, which assigns a field."""
        around = [each for each in owner.table.around(line) if each >= owner.number]
        return owner.at(around[-1]) if around else owner


def _types(symbols: Iterable[Symbol]) -> list[Symbol]:
    return [each for each in symbols if each.kind in TYPES]


def _known_at(line: int, variables: Sequence[Variable]) -> Sequence[Variable]:
    """Return the variables, of several with one name, that it can mean at a line, the likeliest last."""
    inside = [each for each in variables if each.line <= line <= each.end_line]
    if inside:  # of anonymous functions, the innermost one counts
        first = min(each.end_line for each in inside)
        of_innermost = [each for each in inside if each.end_line == first]
        return [each for each in of_innermost if each.type] or of_innermost
    outside = [each for each in variables if each.end_line == EVERYWHERE]
    typed = [each for each in outside if each.type]
    return [each for each in typed if each.line < line] or typed or outside


def _suffix(part: str) -> tuple[str, str]:
    """Return the parts of a name with a suffix: `foo` and `()[]` for `foo()[]`."""
    place = min((at for at in (part.find("("), part.find("[")) if at >= 0), default=len(part))
    return part[:place], part[place:]
