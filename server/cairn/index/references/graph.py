"""Who calls what in one folder, unsaved text included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.imports import DEFAULT
from cairn.chunking.references.model import Reference, ReferenceKind
from cairn.chunking.references.packing import PackedTable
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import (
    CALLS,
    MAYBE,
    as_caller,
    best_first,
    defining_edge,
    over_another,
    place_of,
)
from cairn.index.references.meaning import LIKELY
from cairn.index.references.model import Edge, Edges, Place
from cairn.index.references.modules import names_elsewhere
from cairn.index.references.resolution import Resolver
from cairn.index.references.scoping import family_of
from cairn.index.references.tables import Symbol, SymbolTables
from cairn.index.store.deadline import Cancelled
from cairn.workspace.collections import FileKind, file_kind

_VALUES = frozenset({ReferenceKind.READ, ReferenceKind.WRITE})
_EVERY = frozenset(ReferenceKind)
_CONSTRUCTORS = {
    "python": ("__init__", "__new__"),
    "ruby": ("initialize",),
    "php": ("__construct",),
    "swift": ("init",),
    "javascript": ("constructor",),
    "typescript": ("constructor",),
    "tsx": ("constructor",),
}
"""How languages call constructors that do not call them as their type."""
_VIRTUAL = {"script": 0.5, "jvm": 0.5, "csharp": 0.5}
"""How sure it is that a call of what a method overrides calls the method, where servers say so."""
_MOST_NAMED = 50
_MOST_MACROS = 50
"""Macros that are followed from a function to those who use them."""
_MOST_NAMING = 400
"""As many files as are looked into for a name at most."""


@frozen
class _Sought:
    """What references are looked for."""

    place: Place
    """The target that they lead to."""
    is_itself: bool = True
    is_overridden: bool = False


@define(eq=False)
class ReferenceGraph:
    """Answers for one request."""

    _reader: IndexReader
    _cancelled: Cancelled
    _tables: SymbolTables = field(init=False)
    _resolver: Resolver = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tables = SymbolTables(self._reader, self._cancelled)
        self._resolver = Resolver(self._tables)

    # --- definitions --------------------------------------------------------------------------------

    def named(self, symbol: str) -> list[Place]:
        """The definitions of `name` or `Owner.name`, those with a body and outside of tests first; none where there are none."""
        owner, _, name = symbol.replace("::", ".").replace("#", ".").replace("->", ".").rpartition(".")
        owner = owner.rpartition(".")[2]
        found = [each for each in self._tables.definitions(name) if not owner or _belongs(each, owner)]
        found = [each for each in found if each.kind not in ("impl", "extension")] or found
        ranked = sorted(
            found,
            key=lambda each: (
                each.definition.is_declaration,
                file_kind(each.path) != FileKind.SOURCE,
                each.path.count("/"),
                each.path,
                each.number,
            ),
        )
        return [place_of(each) for each in ranked[:_MOST_NAMED]]

    def at(self, path: str, line: int, character: int) -> list[Place]:
        """The definitions that the name at a place means, the likeliest first; none where there is no name."""
        table = self._tables.table(path)
        if table is None:
            return []
        for number in table.around(line):
            definition = table.definition(number)
            start = definition.character
            if definition.line == line and start <= character <= start + len(definition.name):
                return [place_of(Symbol(path, number, table))]
        for reference in table.references_on(line):
            if reference.character <= character <= reference.character + len(reference.name):
                return [place_of(each.symbol) for each in self._resolver.resolve(path, table, reference)]
        return []

    def around(self, path: str, line: int) -> Place | None:
        """The innermost function or type around a line; None at the top level."""
        table = self._tables.table(path)
        numbers = table.around(line) if table is not None else []
        return self._shown_scope(path, table, numbers[-1]) if table is not None and numbers else None

    def lines_alone(self, path: str, line: int, first: int, last: int) -> tuple[int, int]:
        """The lines of `[first, last)` next to one that have the same innermost function or type around them."""
        here = self.around(path, line)
        start, end = line, line + 1
        while start > first and self.around(path, start - 1) == here:
            start -= 1
        while end < last and self.around(path, end) == here:
            end += 1
        return start, end

    # --- edges --------------------------------------------------------------------------------------

    def callers(self, targets: Sequence[Place], limit: int) -> Edges:
        """The calls of the targets, those through macros included. A macro that is written in very many files is not followed:
        `pr_info` leads to everybody."""
        direct = self._to(targets, limit, CALLS)
        found, complete = list(direct.found), direct.complete
        through = [each for each in found if _is_macro(each)]
        seen = set(targets)
        for edge in through:  # grows while it is gone through
            macro = edge.enclosing
            if macro is None or macro in seen or len(seen) > _MOST_MACROS:
                continue
            seen.add(macro)
            if len(self._tables.naming(macro.name)) >= _MOST_NAMING:  # more are not looked into
                complete = False
                continue
            calls = self._to([macro], limit, CALLS)
            complete = complete and calls.complete
            for call in calls.found:
                over = evolve(
                    call,
                    target=edge.target,
                    confidence=min(edge.confidence, call.confidence, LIKELY),
                    via=f"through the macro `{macro.name}`",
                )
                found.append(over)
                through += [over] if _is_macro(call) else []
        return direct if not through else best_first(found, limit, complete)

    def uses(self, targets: Sequence[Place], limit: int) -> Edges:
        """Everything that refers to the targets."""
        return self._to(targets, limit, _EVERY)

    def tests(self, targets: Sequence[Place], limit: int, most_files: int = _MOST_NAMING) -> Edges:
        """The references from tests that reach a target: directly, or over one function between.

        A function between whose name is written in more than `most_files` files is not followed.
        """
        direct = self._to(targets, limit, _EVERY)
        found = [each for each in direct.found if _is_test(each.path)]
        between = {
            each.enclosing
            for each in direct.found
            if each.enclosing and not _is_test(each.path) and each.confidence >= 0.5
        }
        complete = direct.complete
        rare = [each for each in between if len(self._tables.naming(each.name)) <= most_files]
        complete = complete and len(rare) == len(between)
        for place in sorted(rare, key=lambda each: (each.path, each.line))[:20]:
            over = self._to([place], limit, CALLS)
            complete = complete and over.complete
            found += [over_another(each, place) for each in over.found if _is_test(each.path)]
        return best_first(found, limit, complete)

    def callees(self, source: Place, limit: int) -> Edges:
        """The calls in a function, in the order of its text."""
        table = self._tables.table(source.path)
        if table is None:
            return Edges()
        found: list[Edge] = []
        for reference in table.references_within(source.number):
            if reference.kind not in CALLS:
                continue
            meanings = self._resolver.resolve(source.path, table, reference)
            best = meanings[:1]
            if best and best[0].symbol.definition.is_declaration:
                best = [each for each in meanings if not each.symbol.definition.is_declaration][:1] or best
            target, confidence, via = None, 0.0, "not defined in the workspace"
            if best:
                target, confidence, via = place_of(best[0].symbol), best[0].confidence, best[0].via
            found.append(self._edge(source.path, table, reference, target, confidence, via))
        return Edges(tuple(found[:limit]), self._tables.complete and len(found) <= limit)

    def implementations(self, targets: Sequence[Place], limit: int) -> Edges:
        """The types that extend or implement a target, and the members that override one."""
        found: list[Edge] = []
        for place in targets:
            symbol = self._symbol(place)
            if symbol is None:
                continue
            owner = self._resolver.types.of_member(symbol) if symbol.kind in CALLABLE else None
            if owner is not None:
                for each in self._resolver.types.overriding(owner, symbol.name):
                    found.append(defining_edge(each, place, f"overrides `{place.qualified}`"))
                continue
            for edge in self._to([place], limit, frozenset({ReferenceKind.INHERIT})).found:
                heir = self._symbol(edge.enclosing) if edge.enclosing is not None else None
                if heir is not None:
                    found.append(defining_edge(heir, place, f"extends `{place.qualified}`", edge.confidence))
        return best_first(found, limit, self._tables.complete)

    def _to(self, targets: Sequence[Place], limit: int, kinds: Collection[ReferenceKind]) -> Edges:
        found: list[Edge] = []
        for name, sought in self._sought(targets).items():
            families = {family_of(each.table.language) for each in sought}
            elsewhere = {known for each in sought for known in names_elsewhere(self._tables, each)}
            for path, known in [*((path, name) for path in self._tables.naming(name)), *sorted(elsewhere)]:
                table = self._tables.table(path)
                if table is None or family_of(table.language) not in families:
                    continue
                for reference in self._naming(table, known):
                    if reference.kind in kinds or (kinds is CALLS and reference.kind in _VALUES):
                        edge = self._edge_to(sought, path, table, reference, kinds)
                        found += [edge] if edge is not None else []
        return best_first(found, limit, self._tables.complete)

    def _edge_to(
        self,
        sought: Mapping[Symbol, _Sought],
        path: str,
        table: PackedTable,
        reference: Reference,
        kinds: Collection[ReferenceKind],
    ) -> Edge | None:
        """The edge of a reference to one of what is sought; None where it means something else."""
        meanings = self._resolver.resolve(path, table, reference)
        meaning = next((each for each in meanings if each.symbol in sought), None)
        if meaning is None:
            return None
        wanted = sought[meaning.symbol]
        sure, via = meaning.confidence, meaning.via
        if kinds is CALLS:
            sure, via = as_caller(meaning, reference, wanted.is_itself)
        if wanted.is_overridden:
            most = _VIRTUAL.get(family_of(table.language), MAYBE)
            sure, via = min(sure, most), f"calls `{place_of(meaning.symbol).qualified}`, which it overrides"
        return self._edge(path, table, reference, wanted.place, sure, via) if sure else None

    def _sought(self, targets: Sequence[Place]) -> dict[str, dict[Symbol, _Sought]]:
        """What a reference to a target can mean, by the names that it can have: the target itself, the type that a constructor
        makes, and what a method overrides."""
        symbols = {
            each for place in targets if (symbol := self._symbol(place)) for each in self._same(symbol)
        }
        sought: defaultdict[str, dict[Symbol, _Sought]] = defaultdict(dict)
        for each in symbols:
            place = place_of(each)
            sought[each.name][each] = _Sought(place)
            for alias in each.table.imports:
                if alias.member == each.name and not alias.spec and alias.name != DEFAULT:
                    sought[alias.name][each] = _Sought(place)
            makes = (
                each.name in (*_CONSTRUCTORS.get(each.table.language, ()), each.definition.owner)
                or each.kind == "constructor"
            )
            owner = self._resolver.types.of_member(each) if makes else None
            if owner is not None and owner not in symbols:
                sought[owner.name][owner] = _Sought(place, is_itself=False)
            for base in self._resolver.types.overridden(each) if each.kind in CALLABLE and not makes else ():
                if base not in symbols:
                    sought[each.name][base] = _Sought(place, is_itself=False, is_overridden=True)
        return sought

    def _naming(self, table: PackedTable, name: str) -> Iterable[Reference]:
        """The references by a name, and by those under which the file imports it."""
        yield from table.references_to(name)
        for alias in {
            each.name
            for each in table.imports
            if each.member == name and each.name not in (name, "*", "default")
        }:
            yield from table.references_to(alias)
        for local in {each.name for each in table.imports if each.member == "default" and each.name != name}:
            yield from table.references_to(local)

    def _same(self, symbol: Symbol) -> list[Symbol]:
        """The definitions of the same thing: a prototype's function, a function's prototypes, the overloads."""
        definition = symbol.definition
        others = self._tables.definitions(definition.name)
        alike = [
            each
            for each in others
            if each.definition.owner == definition.owner
            and family_of(each.table.language) == family_of(symbol.table.language)
            and each.is_known_in(symbol.path)
            and symbol.is_known_in(each.path)
        ]
        if family_of(symbol.table.language) == "c" and any(
            each.definition.is_declaration for each in (*alike, symbol)
        ):
            return [symbol, *(each for each in alike if each != symbol)]
        beside = [each for each in alike if each.path == symbol.path]
        return [symbol, *(e for e in beside if e != symbol and e.definition.parent == definition.parent)]

    # --- places -------------------------------------------------------------------------------------

    def _symbol(self, place: Place) -> Symbol | None:
        table = self._tables.table(place.path)
        if table is None or place.number >= table.count or table.name(place.number) != place.name:
            return None
        return Symbol(place.path, place.number, table)

    def _edge(
        self,
        path: str,
        table: PackedTable,
        reference: Reference,
        target: Place | None,
        confidence: float,
        via: str,
    ) -> Edge:
        enclosing = self._shown_scope(path, table, reference.enclosing)
        return Edge(
            path,
            reference.line,
            reference.character,
            reference.name,
            reference.kind,
            enclosing,
            target,
            confidence,
            via,
        )

    def _shown_scope(self, path: str, table: PackedTable, number: int) -> Place | None:
        for each in table.scopes(number):
            if table.kind(each) in CALLABLE or table.kind(each) in CONTAINERS:
                return place_of(Symbol(path, each, table))
        return None


def _belongs(symbol: Symbol, owner: str) -> bool:
    around = (symbol.table.name(each) for each in symbol.table.scopes(symbol.definition.parent))
    return owner in {each.rpartition(".")[2] for each in (symbol.definition.owner, *around)}


def _is_macro(edge: Edge) -> bool:
    """Whether a macro calls, which is written out wherever it is used."""
    return edge.enclosing is not None and edge.enclosing.kind == "macro" and edge.confidence >= MAYBE


def _is_test(path: str) -> bool:
    return file_kind(path) == FileKind.TESTS
