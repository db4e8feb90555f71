"""How a file of another repository uses a definition, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import define, evolve, field, frozen

from cairn.change.dependents import Dependent, States, dependent_on, fits
from cairn.change.packages import Package, shown
from cairn.change.touched import Touched
from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import TOP_LEVEL, Reference, ReferenceKind
from cairn.index.references.edges import CALLS, Edge, Place, place_of
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import Symbol, ValueKind
from cairn.languages.imports import Import, Module
from cairn.protocol.change_messages import ChangeKind

_IMPORTED = 0.95
"""The confidence that a name means the definition if the file imports that name from its module."""
_MEMBER = 0.85
"""The same for a member of the imported module."""
_TYPED = 0.75
"""The same for a member of a value of the imported type, or of a file that includes all names of another."""
_UNRESOLVED = 0.7
"""The same for a name that is imported from the package, but that the package does not seem to have."""
_NAMED = 0.45
"""The same for a member of an unknown value, in a file that imports the type which has such a member."""
_MENTIONED = 0.25
"""The same for a name in a file that imports something else of the package."""

_IN_SIGHT = frozenset({"c", "sys", "rb"})
"""The tags of imports by which a file can use all names of another one."""


@frozen
class Wanted:
    """A definition before the change, and how other repositories can name it."""

    touched: Touched
    symbol: Symbol
    owner: Symbol | None
    """The type that has it as a member."""
    packages: Sequence[Package]

    @property
    def is_constructor(self) -> bool:
        names = (*self.symbol.facts.scoping.constructors, *((self.owner.name,) if self.owner else ()))
        return self.owner is not None and (self.symbol.kind == "constructor" or self.symbol.name in names)

    @property
    def shown(self) -> Symbol:
        """The definition that other files name: of a constructor, its type."""
        return self.owner if self.is_constructor and self.owner is not None else self.symbol


@frozen
class _Use:
    confidence: float
    evidence: str
    is_gone: bool = True
    """Whether the import does not lead to the definition after the change."""


@define(slots=False)
class ImportingFile:
    """A file of another repository that imports a package and has the name of a definition."""

    states: States
    wanted: Wanted
    package: Package
    graph: ReferenceGraph
    file: Symbol
    names: dict[str, _Use] = field(factory=dict)
    """The names that mean the definition."""
    owners: dict[str, _Use] = field(factory=dict)
    """The names that mean the type which has the definition."""
    modules: dict[str, Import] = field(factory=dict)
    """The names of modules of the package."""
    others: set[str] = field(factory=set)
    """The names that are imported from elsewhere."""

    def __attrs_post_init__(self) -> None:
        wanted, owner = self.wanted.shown, None if self.wanted.is_constructor else self.wanted.owner
        for each in self.file.table.imports:
            if not self.package.contains(each.module):
                self.others.add(each.name)
                continue
            for symbol, into in ((wanted, self.names), (owner, self.owners)):
                if symbol is not None and (use := self._use(each, symbol)) is not None:
                    name = symbol.name if each.name == "*" else each.name
                    if name not in into or into[name].confidence < use.confidence:
                        into[name] = use
            self.modules.setdefault(each.name, each)

    def _use(self, imported: Import, symbol: Symbol) -> _Use | None:
        """Return how an import adds the name of a symbol to the file; None if it does not."""
        is_star = imported.name == "*"
        member = symbol.name if is_star else imported.member
        if not member or imported.module is None:
            return None
        said = f"imports {'everything' if is_star else f'`{member}`'} from `{shown(imported.module)}`"
        meant = self._meant(self.states.before, imported, member)
        if any(_is_same(each, symbol) for each in meant):
            is_gone = self._is_gone(imported, member, symbol)
            return _Use(_IMPORTED - 0.05 * is_star, said, is_gone)
        if not meant and member == symbol.name and not is_star:
            return _Use(_UNRESOLVED, said)
        return None

    def _meant(self, graph: ReferenceGraph, imported: Import, member: str) -> list[Symbol]:
        return graph.resolver.modules.of_import("", imported, member)

    def _is_gone(self, imported: Import, member: str, symbol: Symbol) -> bool:
        """Whether an import that meant the symbol leads to the definition no more."""
        meant = self._meant(self.states.after, imported, member)
        if symbol == self.wanted.shown:
            return not meant
        types, name = self.states.after.resolver.types, self.wanted.symbol.name
        return not any(types.members(each, name) for each in meant)

    @cached_property
    def _in_sight(self) -> _Use | None:
        """How the file can use all names of the package."""
        if self.package.tag not in _IN_SIGHT:
            return None
        specs = self.graph.tables.reader.select_all(
            "SELECT imports FROM files WHERE path = ?", (self.file.path,)
        )
        modules = (Module.parse(each) for each in json.loads(specs[-1][0]))
        named = next(filter(self.package.contains, modules), None)
        return _Use(_TYPED, f"imports `{shown(named)}`") if named is not None else None

    # --- references ---------------------------------------------------------------------------------

    def dependents(self) -> Iterator[Dependent]:
        table, wanted = self.file.table, self.wanted
        for name in dict.fromkeys((*self.names, wanted.shown.name)):
            for reference in table.references_to(name):
                if reference.kind is ReferenceKind.ANNOUNCE:
                    continue
                if wanted.is_constructor and reference.kind not in CALLS:
                    continue
                if (use := self._of_reference(reference)) is not None:
                    yield self._dependent(use, reference)
        yield from self._overrides()

    def _of_reference(self, reference: Reference) -> _Use | None:
        if reference.kind is ReferenceKind.IMPORT:
            return self._of_import(reference)
        if not reference.receiver:
            return self._of_name(reference)
        if (use := self._of_module(reference)) is not None:
            return use
        if self.wanted.owner is not None:
            return self._of_member(reference)
        around, is_value = reference.receiver.partition(".")[0], "(" in reference.receiver
        return self._mentioned(reference) if around in self.modules and not is_value else None

    def _of_import(self, reference: Reference) -> _Use | None:
        written = {each.name for each in self.file.table.references_on(reference.line, reference.line + 1)}
        named = (each for each in self.file.table.imports if each.member == reference.name)
        return next(
            (self.names[each.name] for each in named if each.name in written & self.names.keys()), None
        )

    def _of_name(self, reference: Reference) -> _Use | None:
        scope = self.file.at(reference.enclosing)
        if self.graph.resolver.values.is_local(scope, reference.line, reference.name):
            return None
        if (use := self.names.get(reference.name)) is not None:
            return use
        if reference.name in self.others or self.file.table.defining(reference.name):
            return None
        owner = self.wanted.owner
        if owner is not None and owner.kind != "module" and not self.wanted.is_constructor:
            return None
        if self._in_sight is not None:
            return None if self._is_known_here(reference) else self._in_sight
        return self._mentioned(reference)

    def _of_module(self, reference: Reference) -> _Use | None:
        return self._through_module(reference.receiver, reference.name, self.wanted.shown)

    def _through_module(self, receiver: str, name: str, symbol: Symbol) -> _Use | None:
        """Return the use of a member of a module, as in `import a.b`, `a.b.name()`."""
        full = Module(self.package.tag, receiver.replace(".", "/"))
        tried = [Import(receiver, full)] if self.package.contains(full) else []
        for known, imported in self.modules.items():
            if imported.module is not None and f"{receiver}.".startswith(f"{known}."):
                below = receiver[len(known) :].replace(".", "/")
                inner = f"/{imported.member}" if imported.member else ""
                for middle in dict.fromkeys(("", inner)):
                    module = imported.module._replace(name=f"{imported.module.name}{middle}{below}")
                    tried.append(Import(known, module))
        for each in tried:
            if any(_is_same(found, symbol) for found in self._meant(self.states.before, each, name)):
                assert each.module is not None
                said = f"imports `{shown(each.module)}`"
                return _Use(_MEMBER, said, self._is_gone(each, name, symbol))
        return None

    def _of_member(self, reference: Reference) -> _Use | None:
        """Return the use of a member of a type."""
        scope, receiver = self.file.at(reference.enclosing), reference.receiver
        if receiver.partition(".")[0].removesuffix("()") in self.others:
            return None
        if (use := self._of_type(receiver)) is not None:
            return evolve(use, confidence=_MEMBER)
        around = {*scope.scopes(), TOP_LEVEL}
        for each in self.file.table.variables(receiver.removeprefix(scope.facts.sigil)):
            if each.scope in around and (use := self._of_type(each.type)) is not None:
                return evolve(use, confidence=_TYPED)
        value = self.graph.resolver.values.value(scope, reference.line, receiver, 0)
        for name in value.types:
            if (use := self._of_type(name)) is not None:
                return evolve(use, confidence=_TYPED)
        if value.kind not in (ValueKind.ELSEWHERE, ValueKind.UNKNOWN) or value.types:
            return None
        if self._owner is not None:
            return evolve(self._owner, confidence=_NAMED)
        return self._mentioned(reference)

    def _of_type(self, expression: str) -> _Use | None:
        """Return how the file knows the type with the member, if an expression names it or makes one."""
        owner = self.wanted.owner
        written = expression.removeprefix(":").removesuffix("[]").removesuffix("()").removesuffix(".new")
        around, _, name = written.rpartition(".")
        if owner is None or not name:
            return None
        if not around and name in self.owners:
            return self.owners[name]
        is_owner = name == owner.name or written == owner.name
        if is_owner and self._in_sight is not None:
            return self._in_sight
        full = Import(name, Module(self.package.tag, written.replace(".", "/")), name)
        if is_owner and self.package.contains(full.module) and self._meant(self.states.before, full, name):
            return _Use(_MEMBER, f"names `{written}`", self._is_gone(full, name, owner))
        return self._through_module(around, name, owner) if around and is_owner else None

    @cached_property
    def _owner(self) -> _Use | None:
        """How the file names the type with the member; None if it does not."""
        owner = self.wanted.owner
        for use in self.owners.values():
            return use
        named = self.file.table.references_to(owner.name) if owner is not None else ()
        through = (self._of_type(f"{each.receiver}.{each.name}") for each in named if each.receiver)
        return next(filter(None, through), None)

    def _mentioned(self, reference: Reference) -> _Use | None:
        """Return the use of a name of which only the package is known."""
        first = reference.receiver.partition(".")[0]
        if reference.name in self.file.facts.scoping.common or first in self.others:
            return None
        if self._is_known_here(reference):
            return None
        return _Use(_MENTIONED, f"imports from `{shown(Module(self.package.tag, self.package.name))}`")

    def _is_known_here(self, reference: Reference) -> bool:
        """Whether the name means a definition of its own repository."""
        return bool(self.graph.resolver.resolve(self.file, reference))

    def _overrides(self) -> Iterator[Dependent]:
        """Yield the members of heirs of the type that have the same name."""
        table, name = self.file.table, self.wanted.symbol.name
        if self.wanted.is_constructor or self.wanted.symbol.kind not in CALLABLE:
            return
        for alias, use in self.owners.items():
            heirs = {
                each.enclosing for each in table.references_to(alias) if each.kind is ReferenceKind.INHERIT
            }
            for number in table.defining(name):
                if table.parent(number) in heirs - {TOP_LEVEL}:
                    place = place_of(self.file.at(number))
                    here = Reference(name, ReferenceKind.INHERIT, place.line, place.character, number)
                    override = evolve(use, evidence=f"{use.evidence}, and extends it")
                    yield self._dependent(override, here, "override", place)

    def _dependent(
        self, use: _Use, reference: Reference, kind: str = "", around: Place | None = None
    ) -> Dependent:
        touched, path = self.wanted.touched, self.file.path
        edge = Edge(
            path, reference.line, reference.character, reference.name, reference.kind,
            around or self.graph.around(path, reference.line), place_of(self.wanted.symbol),
            use.confidence, use.evidence,
        )  # fmt: skip
        if touched.kind is ChangeKind.SIGNATURE:
            is_call = reference.kind in CALLS
            is_stale = bool(kind) or (is_call and not fits(self.graph.tables.reader, touched, edge))
        else:
            is_stale = touched.kind is not ChangeKind.BODY and use.is_gone
        is_stale = is_stale and use.confidence > _MENTIONED
        return evolve(dependent_on(touched, edge, kind, is_stale=is_stale), evidence=use.evidence)


def _is_same(one: Symbol, other: Symbol) -> bool:
    """Whether two symbols are the same definition, or overloads and prototypes of it."""
    return one == other or (one.path, one.name, one.definition.owner) == (
        other.path, other.name, other.definition.owner,
    )  # fmt: skip
