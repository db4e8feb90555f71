"""Who calls what in one folder, unsaved text included."""

from __future__ import annotations

import itertools
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES
from cairn.chunking.references.packed_table import PackedTable
from cairn.chunking.references.symbol_table import TOP_LEVEL, Reference, ReferenceKind
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import (
    CALLS,
    MAYBE,
    Edge,
    Edges,
    Place,
    as_caller,
    best_first,
    defining_edge,
    place_of,
    through_another,
)
from cairn.index.references.implicit_interfaces import is_by_chance
from cairn.index.references.known_symbols import LIKELY, OtherText, Symbol, SymbolTables
from cairn.index.references.modules import names_elsewhere
from cairn.index.references.resolution import CALLING, Resolver
from cairn.index.store.deadline import check_end
from cairn.languages.imports import DEFAULT
from cairn.workspace.collections import FileKind, file_kind

_VALUES = frozenset({ReferenceKind.READ, ReferenceKind.WRITE})
_EVERY = frozenset(ReferenceKind)
_MOST_NAMED = 50
_MOST_MACROS = 50
"""The maximum number of macros to follow from a function to their users."""
_MOST_FILES = 400
"""The maximum number of files to search for one name."""
_MANY_FILES = 20


@frozen
class _Wanted:
    """The target that a reference to some definition counts for: the definition itself, its constructor, or
    its override."""

    place: Place
    is_itself: bool = True
    is_overridden: bool = False


@define(eq=False)
class ReferenceGraph:
    """Answers questions about references during one request."""

    _reader: IndexReader
    _most_files: int | None = None
    """The argument `most_files` of `SymbolTables`."""
    _others: Mapping[str, OtherText | None] = field(factory=dict)
    """The argument `others` of `SymbolTables`."""
    tables: SymbolTables = field(init=False)
    resolver: Resolver = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.tables = SymbolTables(self._reader, self._most_files, self._others)
        self.resolver = Resolver(self.tables)

    # --- definitions --------------------------------------------------------------------------------

    def named(self, symbol: str) -> list[Place]:
        """Return the definitions of `name` or `Owner.name`, those with a body and outside of tests first."""
        owner, name = _owner_and_name(symbol)
        found = [each for each in self.tables.definitions(name) if not owner or _belongs(each, owner)]
        found = [each for each in found if each.kind not in ("impl", "extension")] or found

        def rank(symbol: Symbol) -> tuple[bool, bool, bool, int, str, int]:
            path, is_source = symbol.path, file_kind(symbol.path) == FileKind.SOURCE
            last = symbol.definition.is_declaration, not is_source, symbol.kind == "module"
            return *last, path.count("/"), path, symbol.number

        return [place_of(each) for each in sorted(found, key=rank)[:_MOST_NAMED]]

    def named_in(self, path: str, symbol: str) -> list[Place]:
        """Return the definitions of `name` or `Owner.name` in a file."""
        owner, name = _owner_and_name(symbol)
        file = self.tables.top(path)
        numbers = range(file.table.count) if file is not None else ()
        every = [file.at(number) for number in numbers if file and file.table.name(number) == name]
        return [place_of(each) for each in every if not owner or _belongs(each, owner)]

    def reads(self, path: str) -> bool:
        """Return whether the references of a file were read: those of some languages are not."""
        return self.tables.table(path) is not None

    def at(self, path: str, line: int, character: int) -> list[Place]:
        """Return the definitions that the name at a position means, the likeliest first."""
        file = self.tables.top(path)
        if file is None:
            return []
        for symbol in map(file.at, file.table.around(line)):
            definition = symbol.definition
            start = definition.character
            if definition.line == line and start <= character <= start + len(definition.name):
                return [place_of(symbol)]
        for reference in file.table.references_on(line, line + 1):
            if reference.character <= character <= reference.character + len(reference.name):
                return [place_of(each.symbol) for each in self.resolver.resolve(file, reference)]
        return []

    def around(self, path: str, line: int) -> Place | None:
        """Return the innermost function or type around a line; None at the top level."""
        file = self.tables.top(path)
        numbers = file.table.around(line) if file is not None else []
        return _shown_scope(file.at(numbers[-1])) if file is not None and numbers else None

    def lines_alone(self, path: str, line: int, first: int, last: int) -> tuple[int, int]:
        """Return the range of lines around `line` in `[first, last)` with the same innermost definition."""
        here = self.around(path, line)
        start, end = line, line + 1
        while start > first and self.around(path, start - 1) == here:
            start -= 1
        while end < last and self.around(path, end) == here:
            end += 1
        return start, end

    # --- edges --------------------------------------------------------------------------------------

    def callers(self, targets: Sequence[Place], limit: int) -> Edges:
        """Return the calls of the targets, also through macros, but not through very common macros."""
        direct = self._to(targets, limit, CALLS)
        found, complete = list(direct.found), direct.complete
        through = [each for each in found if _is_macro(each)]
        seen = set(targets)
        for edge in through:  # The loop appends to `through`.
            macro = edge.enclosing
            if macro is None or macro in seen or len(seen) > _MOST_MACROS:
                continue
            seen.add(macro)
            if self.tables.count_mentioning(macro.name) >= _MOST_FILES:
                complete = False
                continue
            calls = self._to([macro], limit, CALLS)
            complete = complete and calls.complete
            for call in calls.found:
                confidence = min(edge.confidence, call.confidence, LIKELY)
                via = f"through the macro `{macro.name}`"
                found.append(evolve(call, target=edge.target, confidence=confidence, via=via))
                through += [found[-1]] if _is_macro(call) else []
        return direct if not through else best_first(found, limit, complete)

    def calls_or_uses(self, targets: Sequence[Place], limit: int) -> Edges:
        """Return the calls of the targets. Those that cannot be called, and types that nothing makes, have
        their uses instead."""
        calls = self.callers(targets, limit)
        uncalled = [each for each in targets if each.kind not in CALLABLE]
        if not uncalled or any(each.kind in CALLS for each in calls.found):
            return calls
        uses = self.uses(uncalled, limit)
        return best_first([*calls.found, *uses.found], limit, calls.complete and uses.complete)

    def base_elsewhere(self, place: Place) -> str:
        """Return the name of a type outside the workspace that a method's owner extends, "" if there is
        none. That type may call the method."""
        symbol = self.symbol(place)
        owner = self.resolver.types.of_member(symbol) if symbol and symbol.kind in CALLABLE else None
        if owner is None:
            return ""
        for each in (owner, *self.resolver.types.ancestors(owner)):
            for reference in each.table.inherited(each.number):
                if not self.resolver.resolve(each.at(TOP_LEVEL), reference):
                    return reference.name
        return ""

    def other_uses(self, targets: Sequence[Place], limit: int) -> Edges:
        """Return the uses of the targets that are no calls; none for names in many files, which take long."""
        if any(self.tables.count_mentioning(each.name) > _MANY_FILES for each in targets):
            return Edges(complete=False)
        return self._to(targets, limit, _EVERY - CALLS)

    def uses(self, targets: Sequence[Place], limit: int, *, is_near: bool = False) -> Edges:
        """Return all references to the targets. With `is_near`, names in many files are only looked up in
        those that import a target's file, mention its owner, or are in its folder."""
        return self._to(targets, limit, _EVERY, is_near=is_near)

    def tests(self, targets: Sequence[Place], limit: int, most_files: int = _MOST_FILES) -> Edges:
        """Return references from tests to a target, direct or through a function that few files mention."""
        direct = self._to(targets, limit, _EVERY)
        found = [each for each in direct.found if _is_test(each.path)]
        between = {
            each.enclosing
            for each in direct.found
            if each.enclosing and not _is_test(each.path) and each.confidence >= 0.5
        }
        complete = direct.complete
        rare = [each for each in between if self.tables.count_mentioning(each.name) <= most_files]
        complete = complete and len(rare) == len(between)
        for place in sorted(rare, key=lambda each: (each.path, each.line))[:20]:
            over = self._to([place], limit, CALLS)
            complete = complete and over.complete
            found += [through_another(each, place) for each in over.found if _is_test(each.path)]
        return best_first(found, limit, complete)

    def callees(self, source: Place, limit: int) -> Edges:
        """Return the calls in a function, in textual order."""
        file = self.tables.top(source.path)
        if file is None:
            return Edges()
        calls = [each for each in file.table.references_within(source.number) if each.kind in CALLS]
        found = tuple(self.edge_from(file, each) for each in calls[:limit])
        return Edges(found, self.tables.complete and len(calls) <= limit)

    def candidates(self, call: Edge) -> list[Place]:
        """Return the definitions that a call may mean, the likeliest first."""
        file = self.tables.top(call.path)
        if file is None:
            return []
        here = (each for each in file.table.references_on(call.line, call.line + 1))
        found = next(
            (each for each in here if (each.character, each.name) == (call.character, call.name)), None
        )
        return [place_of(each.symbol) for each in self.resolver.resolve(file, found)] if found else []

    def meant(self, path: str, first: int, last: int, limit: int) -> Edges:
        """Return the references on the lines `[first, last)` of a file, in textual order. Of those in one
        definition with the same name and receiver, only the first is returned."""
        file = self.tables.top(path)
        if file is None:
            return Edges()
        here: dict[tuple[int, str, str], Reference] = {}
        for each in file.table.references_on(first, last):
            here.setdefault((each.enclosing, each.receiver, each.name), each)
        found = tuple(self.edge_from(file, each) for each in itertools.islice(here.values(), limit))
        return Edges(found, self.tables.complete and len(here) <= limit)

    def edge_from(self, file: Symbol, reference: Reference) -> Edge:
        """Return the edge from a reference to the definition that it means, if it is in the workspace."""
        meanings = self.resolver.resolve(file, reference)
        defined = [each for each in meanings if not each.symbol.definition.is_declaration]
        if reference.kind in CALLS and defined and defined[0].symbol.kind in VALUES:
            functions = [each for each in defined if each.symbol.kind in CALLABLE]
            defined = [each for each in functions if each.confidence > MAYBE] or defined
        for best in (defined or meanings)[:1]:
            return _edge(file, reference, place_of(best.symbol), best.confidence, best.via)
        return _edge(file, reference, None, 0.0, "not defined in the workspace")

    def implementations(self, targets: Sequence[Place], limit: int) -> Edges:
        """Return the types that extend or implement a target, and the members that override a target."""
        found: list[Edge] = []
        for place in targets:
            symbol = self.symbol(place)
            if symbol is None:
                continue
            owner = self.resolver.types.of_member(symbol) if symbol.kind in CALLABLE else None
            if owner is not None:
                for each in self.resolver.types.overriding(owner, symbol.name):
                    found.append(defining_edge(each, place, f"overrides `{place.qualified}`"))
                continue
            for edge in self._to([place], limit, frozenset({ReferenceKind.INHERIT})).found:
                heir = self.symbol(edge.enclosing) if edge.enclosing is not None else None
                if heir is not None:
                    found.append(defining_edge(heir, place, f"extends `{place.qualified}`", edge.confidence))
        return best_first(found, limit, self.tables.complete)

    def _to(
        self,
        targets: Sequence[Place],
        limit: int,
        kinds: Collection[ReferenceKind],
        *,
        is_near: bool = False,
    ) -> Edges:
        found: list[Edge] = []
        for name, wanted in self._wanted(targets).items():
            families = {each.family for each in wanted}
            is_common = is_near and self.tables.count_mentioning(name) > _MANY_FILES
            reexported = () if is_common else wanted
            elsewhere = {known for each in reexported for known in names_elsewhere(self.tables, each)}
            owners = {each.definition.owner for each in wanted}
            paths = self._near(name, wanted) if is_common else self.tables.files_mentioning(name, owners)
            here = [(path, name) for path in paths]
            functions = (each for each in reexported if each.kind in CALLABLE)
            values = {place for each in functions for place in self.resolver.functions.aliases(each)}
            is_value = any(known == name for _, known in values)
            for path, known in (*here, *sorted(elsewhere)):
                check_end()
                file = self.tables.top(path)
                if file is None or file.family not in families:
                    continue
                for reference in _references_by(file.table, known):
                    if reference.kind in kinds or (kinds is CALLS and reference.kind in _VALUES):
                        edge = self._edge_to(wanted, file, reference, kinds, through_values=is_value)
                        found += [edge] if edge is not None else []
            for path, known in sorted(values - set(here)):
                file = self.tables.top(path)
                for reference in _calls_of(file.table, known) if file is not None else ():
                    if file is not None and (edge := self._edge_to(wanted, file, reference, kinds)):
                        found.append(edge)
        return best_first(found, limit, self.tables.complete)

    def _near(self, name: str, wanted: Iterable[Symbol]) -> list[str]:
        """Return the files with a name that likely mean a wanted definition, with their tables read."""
        paths, near = self.tables.paths_mentioning(name), set[str]()
        for each in wanted:
            near.update((each.path, *self.tables.importers(each.path)))
            if owner := each.definition.owner:
                near.update(self.tables.paths_mentioning(name, owner))
            folder = posixpath.dirname(each.path)
            near.update(path for path in paths if posixpath.dirname(path) == folder)
        found = [path for path in paths if path in near]
        self.tables.read(found)
        return found

    def _edge_to(
        self,
        wanted: Mapping[Symbol, _Wanted],
        file: Symbol,
        reference: Reference,
        kinds: Collection[ReferenceKind],
        *,
        through_values: bool = True,
    ) -> Edge | None:
        meanings = self.resolver.resolve(file, reference, through_values=through_values)
        meaning = next((each for each in meanings if each.symbol in wanted), None)
        if meaning is None:
            return None
        target = wanted[meaning.symbol]
        sure, via = meaning.confidence, meaning.via
        if kinds is CALLS:
            sure, via = as_caller(meaning, reference, target.is_itself)
        if target.is_overridden:
            most = file.facts.scoping.override or MAYBE
            most = MAYBE if is_by_chance(meaning.symbol) else most
            sure, via = min(sure, most), f"calls `{place_of(meaning.symbol).qualified}`, which it overrides"
        return _edge(file, reference, target.place, sure, via) if sure else None

    def _wanted(self, targets: Sequence[Place]) -> dict[str, dict[Symbol, _Wanted]]:
        """Return, by name, the definitions whose references count: the targets, the types that they
        construct, and the methods that they override."""
        found = filter(None, map(self.symbol, targets))
        symbols = {each for symbol in found for each in self._same(symbol)}
        wanted: defaultdict[str, dict[Symbol, _Wanted]] = defaultdict(dict)
        for each in symbols:
            place = place_of(each)
            wanted[each.name][each] = _Wanted(place)
            for alias in each.table.imports:
                if alias.member == each.name and alias.module is None and alias.name != DEFAULT:
                    wanted[alias.name][each] = _Wanted(place)
            makes = each.is_constructor
            owner = self.resolver.types.of_member(each) if makes else None
            if owner is not None and owner not in symbols:
                wanted[owner.name][owner] = _Wanted(place, is_itself=False)
            for base in self.resolver.types.overridden(each) if each.kind in CALLABLE and not makes else ():
                if base not in symbols:
                    wanted[each.name][base] = _Wanted(place, is_itself=False, is_overridden=True)
        return wanted

    def _same(self, symbol: Symbol) -> list[Symbol]:
        """Return the symbol and other definitions of the same thing: prototypes in C, overloads."""
        definition = symbol.definition
        alike = [
            each
            for each in self.tables.definitions_in(symbol.table.language, definition.name)
            if each.definition.owner == definition.owner
            and each.is_known_in(symbol.path)
            and symbol.is_known_in(each.path)
            and each.table.namespaces(each.definition.line) == symbol.table.namespaces(definition.line)
        ]
        if symbol.family == "c" and any(each.definition.is_declaration for each in (*alike, symbol)):
            return [symbol, *(each for each in alike if each != symbol)]
        beside = [each for each in alike if each.path == symbol.path]
        return [symbol, *(e for e in beside if e != symbol and e.definition.parent == definition.parent)]

    # --- places -------------------------------------------------------------------------------------

    def symbol(self, place: Place) -> Symbol | None:
        file = self.tables.top(place.path)
        if file is None or place.number >= file.table.count or file.table.name(place.number) != place.name:
            return None
        return file.at(place.number)


def _references_by(table: PackedTable, name: str) -> Iterable[Reference]:
    """Yield the references by a name, and by the names under which the file imports it."""
    yield from table.references_to(name)
    aliases = {each.name for each in table.imports if each.member == name} - {name, "*", "default"}
    defaults = {each.name for each in table.imports if each.member == "default"} - {name}
    for alias in itertools.chain(aliases, defaults):
        yield from table.references_to(alias)


def _calls_of(table: PackedTable, name: str) -> Iterable[Reference]:
    """Yield the calls of a variable, also as in `name.call()`."""
    yield from (each for each in table.references_to(name) if each.kind in CALLS)
    for method in CALLING:
        yield from (each for each in table.references_to(method) if each.receiver.endswith(name))


def _edge(file: Symbol, reference: Reference, target: Place | None, confidence: float, via: str) -> Edge:
    around = file.at(reference.enclosing)
    is_object = reference.kind is ReferenceKind.INHERIT and reference.enclosing >= 0 and around.kind in VALUES
    return Edge(
        file.path, reference.line, reference.character, reference.name, reference.kind,
        place_of(around) if is_object else _shown_scope(around), target, confidence, via,
    )  # fmt: skip


def _shown_scope(symbol: Symbol) -> Place | None:
    """Return the innermost function or type around the symbol, or the symbol itself."""
    around = map(symbol.at, symbol.scopes())
    return next((place_of(each) for each in around if each.kind in CALLABLE or each.kind in CONTAINERS), None)


def _owner_and_name(symbol: str) -> tuple[str, str]:
    """Return the innermost owner of a name as written in any language, "" if there is none, and the name."""
    owner, _, name = symbol.replace("::", ".").replace("#", ".").replace("->", ".").rpartition(".")
    return owner.rpartition(".")[2], name


def _belongs(symbol: Symbol, owner: str) -> bool:
    around = (symbol.table.name(each) for each in symbol.table.scopes(symbol.definition.parent))
    return owner in {each.rpartition(".")[2] for each in (symbol.definition.owner, *around)}


def _is_macro(edge: Edge) -> bool:
    """Whether a macro contains the call. A macro's calls run wherever the macro is used."""
    return edge.enclosing is not None and edge.enclosing.kind == "macro" and edge.confidence >= MAYBE


def _is_test(path: str) -> bool:
    return file_kind(path) == FileKind.TESTS
