"""What runs when a function runs: its calls, what it hands over, and the overrides of what is abstract."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from attrs import define, evolve, field

from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES
from cairn.chunking.references.symbol_table import TOP_LEVEL, Reference, ReferenceKind
from cairn.index.references.edges import CALLS, Edge, Place, as_caller, defining_edge, place_of
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import SURE, TYPES, Meaning, Symbol

_RUNS_TYPES_ONCE = frozenset({"python", "ruby"})
"""Languages in which the body of a type runs when the type is defined, and not for each instance."""


@define(eq=False)
class Flow:
    """Follows what runs in one folder during one request."""

    _graph: ReferenceGraph
    _runnable: dict[tuple[str, str], bool] = field(factory=dict, init=False)

    def of(self, source: Place, *, whole: bool = False) -> tuple[Edge, ...]:
        """Return what runs when the definition runs, in textual order: its calls, the functions that it hands
        over, and the values at the top level that contain functions. A function without any of these may be
        abstract, and its overrides follow instead, as references of the kind INHERIT.

        A function inside it counts only if nothing in the definition mentions it, and those of a type only if
        `whole`: an instance runs no more than the initial values of its fields. Calls of types lead to their
        constructor.
        """
        symbol = self._graph.symbol(source)
        if symbol is None:
            return ()
        file, is_value = symbol.at(TOP_LEVEL), symbol.kind in VALUES
        found = []
        for reference in self._run_directly(symbol, whole=whole):
            is_call = reference.kind in CALLS
            if is_call and is_value:  # It ran when the file was loaded.
                continue
            if is_call or (reference.kind is ReferenceKind.READ and self._may_run(file, reference.name)):
                edge = self._graph.edge_from(file, reference)
                target = edge.target
                if target is None or (is_value and target.kind in VALUES):  # Values may name each other.
                    continue
                if is_call or self._runs_later(file, reference, target):
                    found.append(evolve(edge, target=self.constructor(target), kind=self._run_kind(edge)))
        return tuple(found) or tuple(self._overrides(symbol, source))

    def _run_directly(self, symbol: Symbol, *, whole: bool) -> list[Reference]:
        """Return the references in a definition, without those in inner functions that it mentions, or that
        are members of it."""
        table = symbol.table
        every = table.references_within(symbol.number)
        is_type = symbol.kind in CONTAINERS
        if symbol.kind in VALUES or (is_type and whole):
            return every
        if is_type and table.language in _RUNS_TYPES_ONCE:
            return []
        names = {each.name for each in every}
        inner: dict[int, bool] = {}

        def is_inside(number: int) -> bool:
            if number not in inner:
                scopes = itertools.takewhile(lambda scope: scope != symbol.number, table.scopes(number))
                inner[number] = not any(
                    table.kind(scope) in CALLABLE and (is_type or table.name(scope) in names)
                    for scope in scopes
                )
            return inner[number]

        return [each for each in every if is_inside(each.enclosing)]

    def _may_run(self, file: Symbol, name: str) -> bool:
        key = (file.table.language, name)
        if key not in self._runnable:
            self._runnable[key] = any(
                each.kind in CALLABLE or (each.kind in VALUES and each.parent == TOP_LEVEL)
                for each in self._graph.tables.definitions_in(*key)
            )
        return self._runnable[key]

    def _runs_later(self, file: Symbol, reference: Reference, target: Place) -> bool:
        """Whether a function runs because code mentions it, at once or later, or a function in a value."""
        symbol = self._graph.symbol(target)
        if symbol is None:
            return False
        if symbol.kind in VALUES:
            return symbol.parent == TOP_LEVEL and bool(self.of(target))
        receiver, language = reference.receiver.rpartition(".")[2], symbol.table.language
        if language == "rust" and not receiver[:1].isupper():
            return not symbol.definition.owner  # Without a type, only fields are read.
        if language == "kotlin" and symbol.name[:1].isupper():
            return False  # The type of that name is meant.
        owner = self._graph.resolver.types.of_member(symbol) if receiver else None
        if owner is not None:  # A field may have the same name, as in Rust.
            fields = owner.table.variables(symbol.name)
            if any(each.scope == owner.number for each in fields):
                return False
        return as_caller(Meaning(symbol, SURE, ""), reference, is_itself=True)[0] > 0

    def _run_kind(self, edge: Edge) -> ReferenceKind:
        """Return the kind of an edge. Reading a member with an accessor calls that."""
        symbol = self._graph.symbol(edge.target) if edge.target is not None else None
        is_accessor = symbol is not None and symbol.definition.is_accessor
        return ReferenceKind.CALL if is_accessor else edge.kind

    def constructor(self, target: Place) -> Place:
        """Return the constructor of a type if it has one, else the definition itself."""
        symbol = self._graph.symbol(target)
        if symbol is None or symbol.kind not in TYPES:
            return target
        names = symbol.facts.scoping.constructors
        for each in map(symbol.at, symbol.table.within(symbol.number)):
            if each.parent == symbol.number and (each.kind == "constructor" or each.name in names):
                return place_of(each)
        return target

    def _overrides(self, symbol: Symbol, source: Place) -> Iterable[Edge]:
        owner = self._graph.resolver.types.of_member(symbol) if symbol.kind in CALLABLE else None
        if owner is None:
            return
        found = self._graph.resolver.types.overriding(owner, symbol.name)
        for each in found:
            place = place_of(each)
            edge = defining_edge(each, source, f"overrides `{source.qualified}`", SURE / len(found))
            yield evolve(edge, target=place)
