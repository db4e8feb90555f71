"""Functions as values: of variables, of the fields of literals, and of dependencies that a caller passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field

from cairn.chunking.outline import CALLABLE, VALUES
from cairn.chunking.references.symbol_table import TOP_LEVEL, Reference, ReferenceKind, Variable
from cairn.index.references.edges import MAYBE
from cairn.index.references.known_symbols import Meaning, Symbol, SymbolTables, Value, ValueKind, meanings
from cairn.index.references.values import Values

THROUGH = 0.75
"""The confidence that a call of a variable calls the function that is its value. It may get another one."""
_GIVEN = 0.6
"""The confidence that a call of a field calls the only function that a literal of its type gives it."""
_MOST_FILES = 60
"""The maximum number of files in which a field of that name is searched for or filled."""
_RESOLVED = frozenset({ReferenceKind.CALL, ReferenceKind.READ})


@define(eq=False)
class FunctionValues:
    """The functions that are values of variables and fields of one folder, during one request."""

    tables: SymbolTables
    values: Values
    _given: dict[tuple[str, str], list[tuple[Symbol, str]]] = field(factory=dict, init=False)

    def meant(self, scope: Symbol, reference: Reference, found: Sequence[Meaning]) -> list[Meaning]:
        """Return the functions that are the value of what a reference names; `found` are its other meanings."""  # noqa: E501
        if reference.kind not in _RESOLVED or any(_is_sure(each) for each in found):
            return []
        on, line = reference.receiver, reference.line
        if on == "" and not found and reference.kind is not ReferenceKind.CALL:
            return []
        expression = f"{on}.{reference.name}" if on else reference.name
        value = self.values.value(scope, line, expression, 0)
        if value.kind is ValueKind.FUNCTION:
            sure = min(THROUGH, value.confidence)
            return meanings(value.symbols, sure, f"through `{expression}`")
        if not on or reference.kind is not ReferenceKind.CALL:
            return []
        return self._by_field(self.values.value(scope, line, on, 0), scope, reference.name)

    def _by_field(self, holder: Value, scope: Symbol, name: str) -> list[Meaning]:
        """Return the functions that literals of the holder's type, or of an unknown type, give a field."""
        types = {each.name for each in holder.symbols} | {each.rpartition(".")[2] for each in holder.types}
        if holder.kind is ValueKind.ELSEWHERE and not types:
            return []
        given = self._all_given(scope.table.language, name)
        of_type = [symbol for symbol, type_ in given if type_ in types]
        if of_type:
            functions = list(dict.fromkeys(of_type))
            sure = _GIVEN if len(functions) == 1 else MAYBE
            return meanings(functions, sure, f"given as `{name}`")
        unknown = list(dict.fromkeys(symbol for symbol, type_ in given if not type_))
        is_only = len(unknown) == 1 and any(_declares(each, name) for each in holder.symbols)
        sure = _GIVEN if is_only else MAYBE / max(1, len(unknown))
        return meanings(unknown, sure, f"given as `{name}`")

    def _all_given(self, language: str, name: str) -> list[tuple[Symbol, str]]:
        """Return the functions that literals give a field of that name, each with the literal's type."""
        key = (language, name)
        if key not in self._given:
            self._given[key] = []
            for path in self.tables.files_filling(name, _MOST_FILES):
                file = self.tables.top(path)
                for each in file.table.filled(name) if file is not None else ():
                    if each.name.startswith(":") and file is not None:
                        type_ = each.name[1:].partition(".")[0]
                        self._given[key] += [(symbol, type_) for symbol in self._functions(file, each)]
        return self._given[key]

    def _functions(self, file: Symbol, variable: Variable) -> tuple[Symbol, ...]:
        value = self.values.value(file.at(variable.scope), variable.line, variable.type, 0)
        return value.symbols if value.kind is ValueKind.FUNCTION else ()

    def aliases(self, function: Symbol) -> Iterator[tuple[str, str]]:
        """Yield the files that may call the function as a value, each with the name of the value."""
        for path in self.tables.files_mentioning(function.name):
            file = self.tables.top(path)
            if file is None or file.family != function.family:
                continue
            for variable in file.table.holding(function.name):
                holder, _, name = variable.name.rpartition(".")
                if function in self._functions(file, variable):
                    yield from ((each, name) for each in self._users(file, variable, holder, name))

    def _users(self, file: Symbol, variable: Variable, holder: str, name: str) -> Sequence[str]:
        """Return the files that may refer to a variable."""
        is_local = variable.scope != TOP_LEVEL and file.table.kind(variable.scope) in CALLABLE
        if is_local and not holder.startswith(":"):
            return [file.path]
        words = f"{holder} {name}" if holder and not holder.startswith(":") else name
        found = self.tables.files_mentioning(words)
        return found if len(found) <= _MOST_FILES else [file.path, *self.tables.importers(file.path)]


def _declares(type_: Symbol, name: str) -> bool:
    """Whether a type has a field of that name."""
    return any(each.scope == type_.number for each in type_.table.variables(name))


def _is_sure(meaning: Meaning) -> bool:
    """Whether a meaning is likely, and is not a variable."""
    return meaning.symbol.kind not in VALUES and meaning.confidence > MAYBE
