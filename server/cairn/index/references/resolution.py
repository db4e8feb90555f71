"""What a name refers to: by its scope, its imports, the type of its receiver, or as the one definition of its name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.chains import UNKNOWN
from cairn.chunking.references.imports import DEFAULT
from cairn.chunking.references.model import TOP_LEVEL, Import, Reference, ReferenceKind
from cairn.chunking.references.packing import PackedTable
from cairn.index.references.scoping import Sight, family_of, scoping_of
from cairn.index.references.tables import Symbol, SymbolTables

_TYPES = (CONTAINERS - {"module", "impl", "extension"}) | {"type"}
_DEEPEST = 8
"""Types above a type, and steps from an expression to its type, that are followed."""
_MOST_SHARED = 12
"""A name that more definitions share is told of the nearest alone."""

SURE, LIKELY = 0.95, 0.9


@frozen
class Meaning:
    """What a reference may mean."""

    symbol: Symbol
    confidence: float
    """0 to 1."""
    via: str


class _Is(Enum):
    INSTANCE = auto()
    TYPE = auto()
    MODULE = auto()
    FUNCTION = auto()
    ELSEWHERE = auto()
    """Not in the workspace."""
    UNKNOWN = auto()


@frozen
class _Value:
    """What an expression is."""

    what: _Is
    symbols: tuple[Symbol, ...] = ()
    """The types of an instance, the types or functions themselves."""
    paths: tuple[str, ...] = ()
    """The files of a module."""
    is_collection: bool = False
    confidence: float = SURE


_UNKNOWN = _Value(_Is.UNKNOWN)
_ELSEWHERE = _Value(_Is.ELSEWHERE)


@define(eq=False)
class Resolver:
    """Finds what names mean in one folder, for one request."""

    tables: SymbolTables
    _evaluating: set[tuple[str, int, str]] = field(factory=set, init=False)
    _types: dict[tuple[str, str], tuple[Symbol, ...]] = field(factory=dict, init=False)
    _known_of_modules: dict[tuple[str, str], list[Symbol]] = field(factory=dict, init=False)
    _values: dict[tuple[str, int, int, str], _Value] = field(factory=dict, init=False)
    _aliases: set[tuple[str, str]] = field(factory=set, init=False)
    _ancestors: dict[Symbol, tuple[Symbol, ...]] = field(factory=dict, init=False)

    def resolve(self, path: str, table: PackedTable, reference: Reference) -> list[Meaning]:
        """What the reference may mean, the likeliest first; nothing where it means something outside of the workspace."""
        if reference.kind is ReferenceKind.IMPORT:
            found = self._imported(path, table, reference.name)
        elif reference.receiver:
            found = self._member(path, table, reference)
        else:
            found = self._bare(path, table, reference.enclosing, reference.name)
        return _once(found)

    # --- names without a receiver -------------------------------------------------------------------

    def _bare(self, path: str, table: PackedTable, scope: int, name: str) -> list[Meaning]:
        rules = scoping_of(table.language)
        here = [Symbol(path, number, table) for number in table.defining(name)]
        scopes = list(table.scopes(scope))
        if nested := [
            each for each in here if _parent(each) in scopes and table.kind(_parent(each)) in CALLABLE
        ]:
            return _meaning(nested[-1:], SURE, "defined in the same function")
        if rules.bare_members:
            for number in scopes:
                if table.kind(number) in CONTAINERS:
                    owner = Symbol(path, number, table)
                    if members := self._members_of_type(owner, name):
                        return _meaning(members, SURE, f"member of `{owner.name}`")
                elif (owner_name := table.definition(number).owner) and table.parent(number) == TOP_LEVEL:
                    # `void Foo::bar() {…}` stands outside of its type.
                    for owner in self._named_types(path, table, owner_name):
                        if members := self._members_of_type(owner, name):
                            return _meaning(members, SURE, f"member of `{owner.name}`")
        outer = [each for each in here if self._is_outer(each, scopes)]
        if outer:
            full = [each for each in outer if not each.definition.is_declaration]
            if full:
                return _meaning(full, SURE, "defined in the same file")
        if imported := self._by_import(path, table, name):
            return imported
        if self._import_of(table, name) is not None and not outer:
            return []  # of another package
        return self._in_sight(path, table, name, outer)

    def _is_outer(self, symbol: Symbol, scopes: Sequence[int]) -> bool:
        """Whether a definition of the file is known outside of any type: at the top level, or in a module."""
        parent = _parent(symbol)
        if symbol.kind == "method" and (
            symbol.definition.owner or family_of(symbol.table.language) == "script"
        ):
            return False
        return parent == TOP_LEVEL or symbol.table.kind(parent) == "module" or parent in scopes

    def _import_of(self, table: PackedTable, name: str) -> Import | None:
        return next((each for each in table.imports if each.name == name and each.spec), None)

    def _by_import(self, path: str, table: PackedTable, name: str) -> list[Meaning]:
        """What an import makes known by this name."""
        for each in table.imports:
            if each.name == name:
                if not each.spec and each.member != name:
                    found = [Symbol(path, number, table) for number in table.defining(each.member)]
                    return _meaning(found[:1], SURE, "exported by its file")
                member = each.member or (DEFAULT if each.spec.startswith("js:") else name)
                if found := self._of_import(path, each, member):
                    return _meaning(found, SURE, f"imported from {_shown(each.spec)}")
                if each.spec:
                    return []
        for each in table.imports:
            if each.name == "*" and (found := self._of_import(path, each, name)):
                return _meaning(found, LIKELY, f"imported from {_shown(each.spec)}")
        return []

    def _of_import(self, path: str, imported: Import, member: str) -> list[Symbol]:
        """The definitions that an import means by `member`."""
        tag, _, module = imported.spec.partition(":")
        if tag in _NAMESPACED:
            full = module if imported.name != "*" else f"{module}/{member}"
            return self._by_full_name(full)
        paths = self.tables.targets(path, imported.spec)
        found = self.of_module(paths, member)
        if not found and tag == "rs":
            found = [each for each in self.tables.definitions(member) if each.path in paths]
        return found

    def _by_full_name(self, full: str) -> list[Symbol]:
        """The definitions of a qualified name `a/b/C`, whose file declares the namespace that it begins with."""
        if modules := self.tables.definitions(
            full.replace("/", ".")
        ):  # Elixir's names are qualified themselves
            return list(modules)
        around = full.rpartition("/")[0].replace("/", ".")
        name = full.rpartition("/")[2]
        found = []
        for symbol in self.tables.definitions(name):
            namespace = symbol.table.namespace
            rest = [
                *(
                    part
                    for part in (symbol.definition.owner,)
                    if part and namespace.rpartition("/")[2] != part
                ),
                name,
            ]
            is_inside = bool(around) and symbol.definition.owner == around
            if is_inside or full in ("/".join((*namespace.split("/"), *rest)), f"{namespace}/{name}"):
                found.append(symbol)
        return found

    def of_module(self, paths: Iterable[str], name: str) -> list[Symbol]:
        """What the modules in these files know by a name at their top level, re-exports included."""
        found: list[Symbol] = []
        for path in paths:
            key = (path, name)
            if key not in self._known_of_modules:
                self._known_of_modules[key] = []  # a circle of imports ends here
                self._known_of_modules[key] = self._find_in_module(path, name)
            found += self._known_of_modules[key]
        return found

    def _find_in_module(self, path: str, name: str) -> list[Symbol]:
        table = self.tables.table(path)
        if table is None:
            return []
        own = [Symbol(path, number, table) for number in table.defining(name)]
        own = [each for each in own if self._is_outer(each, ()) or _parent(each) == TOP_LEVEL]
        return own or [each.symbol for each in self._by_import(path, table, name)]

    def _in_sight(self, path: str, table: PackedTable, name: str, outer: Sequence[Symbol]) -> list[Meaning]:
        """What files that need no import define by this name; `outer` are declarations of the file itself."""
        rules, family = scoping_of(table.language), family_of(table.language)
        every = [
            each
            for each in self.tables.definitions(name)
            if family_of(each.table.language) == family
            and each.is_known_in(path)
            and (each.path != path or each in outer)
        ]
        free = [
            each
            for each in every
            if not (each.definition.owner and each.kind in ("method", "field", "property"))
        ]
        near: list[Symbol] = []
        if rules.sight is Sight.FOLDER:
            folder = posixpath.dirname(path)
            near = [
                each
                for each in free
                if posixpath.dirname(each.path) == folder
                and _same_package(each.table.namespace, table.namespace)
            ]
            why = "defined in the same package"
        elif rules.sight is Sight.NAMESPACE:
            near = [each for each in free if _is_within(table.namespace, each.table.namespace)]
            why = "defined in the same namespace"
        if near:
            return _meaning(near, SURE, why)
        if rules.sight is Sight.WORKSPACE:
            return _shared(_nearest(path, free), LIKELY, "the definition of this name")
        return _shared(free, 0.25, "the definition of this name") if rules.sight is Sight.NAMESPACE else []

    # --- names with a receiver ----------------------------------------------------------------------

    def _member(self, path: str, table: PackedTable, reference: Reference) -> list[Meaning]:
        name = reference.name
        value = self._value(path, table, reference.enclosing, reference.line, reference.receiver, 0)
        is_self = reference.receiver in scoping_of(table.language).selves
        if value.what is _Is.UNKNOWN and is_self and (beside := self._beside(path, table, reference)):
            return _meaning(beside, LIKELY, "beside it in the same object")
        if value.what is _Is.ELSEWHERE:
            return []
        if value.what is _Is.MODULE:
            found = self.of_module(value.paths, name)
            return _meaning(found, SURE, f"member of the module `{reference.receiver}`")
        if value.what in (_Is.INSTANCE, _Is.TYPE):
            return self._of_types(value, name, reference.receiver)
        return self._guessed(path, table, reference)

    def _beside(self, path: str, table: PackedTable, reference: Reference) -> list[Symbol]:
        """The members of the object that the function around is a member of, where that object has no type."""
        methods = [number for number in table.scopes(reference.enclosing) if table.kind(number) == "method"]
        if not methods:
            return []
        around = table.definition(methods[-1])
        return [
            Symbol(path, number, table)
            for number in table.defining(reference.name)
            if (other := table.definition(number)).kind == "method"
            and (other.parent, other.owner) == (around.parent, around.owner)
        ]

    def _of_types(self, value: _Value, name: str, receiver: str) -> list[Meaning]:
        found: list[Meaning] = []
        for owner in value.symbols:
            if members := self._members_of_type(owner, name):
                found += _meaning(members, value.confidence, f"`{receiver}` is of type `{owner.name}`")
        if not found:
            for owner in value.symbols:
                below = self.overriding(owner, name)
                found += _shared(below, 0.45, f"of a type that extends `{owner.name}`")
        return found

    def _guessed(self, path: str, table: PackedTable, reference: Reference) -> list[Meaning]:
        """By the name alone: the type of the receiver is not known."""
        family = family_of(table.language)
        members = [
            each
            for each in self.tables.definitions(reference.name)
            if family_of(each.table.language) == family
            and (each.definition.owner or reference.kind is not ReferenceKind.CALL)
            and each.is_known_in(path)
            and each.kind not in ("module", "impl")
        ]
        rules = scoping_of(table.language)
        sure = 0.3 if reference.name in rules.common else rules.guess
        owners = {each.definition.owner for each in members}
        if len(owners) == 1:
            via = "the only member of this name"
            return _meaning(members, sure, via)
        return _shared(_nearest(path, members), sure, "one of the members of this name")

    # --- types --------------------------------------------------------------------------------------

    def _members_of_type(self, owner: Symbol, name: str) -> list[Symbol]:
        """The members of that name that a type has, or else those that it inherits."""
        for each in (owner, *self.ancestors(owner)):
            if found := self._own_members(each, name):
                return found
        return []

    def _own_members(self, owner: Symbol, name: str) -> list[Symbol]:
        own = [
            Symbol(owner.path, number, owner.table)
            for number in owner.table.defining(name)
            if owner.table.parent(number) == owner.number
        ]
        if own:
            return own
        title = owner.name
        found = [
            each
            for each in self.tables.definitions(name)
            if each.definition.owner == title
            and family_of(each.table.language) == family_of(owner.table.language)
            and (
                _parent(each) == TOP_LEVEL
                or each.table.kind(_parent(each)) in ("impl", "extension", "module")
            )
        ]
        same = [each for each in found if posixpath.dirname(each.path) == posixpath.dirname(owner.path)]
        return same or found

    def ancestors(self, owner: Symbol) -> tuple[Symbol, ...]:
        """The types that a type extends or implements, the nearest first."""
        if owner in self._ancestors:
            return self._ancestors[owner]
        self._ancestors[owner] = ()  # a circle ends here
        found: list[Symbol] = []
        for base in self.bases(owner):
            found += [base, *self.ancestors(base)]
            if len(found) > 60:
                break
        self._ancestors[owner] = tuple(dict.fromkeys(found))
        return self._ancestors[owner]

    def bases(self, owner: Symbol) -> list[Symbol]:
        """The types that a type names as what it extends or implements."""
        numbers = [(owner.path, owner.table, owner.number)]
        for number in owner.table.defining(owner.name):
            if owner.table.kind(number) in ("impl", "extension"):
                numbers.append((owner.path, owner.table, number))
        found = []
        for path, table, number in numbers:
            for reference in table.inherited(number):
                qualified = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                found += [each for each in self._named_types(path, table, qualified) if each != owner]
        return found

    def overridden(self, member: Symbol) -> list[Symbol]:
        """The members of the types above that a member stands for where it is called through them."""
        owner = self.type_of_member(member)
        above = self.ancestors(owner) if owner is not None else ()
        return [each for base in above for each in self._own_members(base, member.name)]

    def overriding(self, owner: Symbol, name: str) -> list[Symbol]:
        """The members of that name of types below a type."""
        return [
            each
            for each in self.tables.definitions(name)
            if (type_ := self.type_of_member(each)) is not None and owner in self.ancestors(type_)
        ][:_MOST_SHARED]

    def type_of_member(self, member: Symbol) -> Symbol | None:
        """The type that a member belongs to."""
        table = member.table
        for number in table.scopes(_parent(member)):
            if table.kind(number) in _TYPES:
                return Symbol(member.path, number, table)
        if owner := member.definition.owner:
            return next(iter(self._named_types(member.path, table, owner)), None)
        return None

    def _named_types(self, path: str, table: PackedTable, name: str) -> tuple[Symbol, ...]:
        """The types that a written name means in a file; none where it means one outside of the workspace."""
        key = (path, name)
        if key not in self._types:
            self._types[key] = ()
            found: list[Symbol] = []
            for each in self._find_types(path, table, name):
                found += [
                    each,
                    *(self._alias(each.path, each.table, each.name) if each.kind == "type" else ()),
                ]
            self._types[key] = tuple(dict.fromkeys(found))
        return self._types[key]

    def _find_types(self, path: str, table: PackedTable, name: str) -> list[Symbol]:
        first, _, last = name.rpartition(".")
        if first:
            value = self._value(path, table, TOP_LEVEL, 1 << 30, first, 0)
            if value.what is _Is.MODULE:
                return [each for each in self.of_module(value.paths, last) if each.kind in _TYPES]
            if value.what is _Is.TYPE:
                return [
                    each
                    for owner in value.symbols
                    for each in self._own_members(owner, last)
                    if each.kind in _TYPES
                ]
            if value.what is _Is.ELSEWHERE:
                return []
        found = [
            each.symbol for each in self._bare(path, table, TOP_LEVEL, last) if each.symbol.kind in _TYPES
        ]
        if found:
            return found
        inner = [
            Symbol(path, number, table) for number in table.defining(last) if table.kind(number) in _TYPES
        ]
        if inner or self._import_of(table, last) is not None:
            return inner
        every = [
            each
            for each in self.tables.definitions(last)
            if each.kind in _TYPES and family_of(each.table.language) == family_of(table.language)
        ]
        visible = (
            scoping_of(table.language).sight is not Sight.FILE or bool(first) or table.language == "rust"
        )
        return every if len(every) == 1 and visible else []

    # --- expressions --------------------------------------------------------------------------------

    def _value(
        self, path: str, table: PackedTable, scope: int, line: int, expression: str, depth: int
    ) -> _Value:
        """What an expression of `chunking.references.chains` is at a line of a definition."""
        if depth > _DEEPEST or expression in ("", UNKNOWN):
            return _UNKNOWN
        if expression.startswith(":"):
            return self._of_type(path, table, expression[1:])
        key = (path, scope, line, expression)
        if key not in self._values:
            self._values[key] = _UNKNOWN  # what leads back to itself is not known
            self._values[key] = self._evaluated(path, table, scope, line, expression, depth)
        return self._values[key]

    def _evaluated(
        self, path: str, table: PackedTable, scope: int, line: int, expression: str, depth: int
    ) -> _Value:
        parts = expression.split(".")
        value, used = self._first(path, table, scope, line, parts, depth)
        for part in parts[used:]:
            if value.what in (_Is.UNKNOWN, _Is.ELSEWHERE):
                return value
            value = self._step(value, part, depth)
        return value

    def _of_type(self, path: str, table: PackedTable, names: str) -> _Value:
        """An instance of a written type, or of one of several."""
        found: list[Symbol] = []
        is_collection = False
        for name in names.split("|"):
            if name.rpartition(".")[2] in scoping_of(table.language).selves:
                return _UNKNOWN
            name_alone = name.removesuffix("[]")
            found += self._named_types(path, table, name_alone) or self._alias(path, table, name_alone)
            is_collection = is_collection or name.endswith("[]")
        return _Value(_Is.INSTANCE, tuple(found), is_collection=is_collection) if found else _ELSEWHERE

    def _alias(self, path: str, table: PackedTable, name: str) -> tuple[Symbol, ...]:
        """The types that a variable stands for."""
        if (path, name) in self._aliases:
            return ()
        self._aliases.add((path, name))
        try:
            value = self._value(path, table, TOP_LEVEL, 1 << 30, name, 1)
        finally:
            self._aliases.discard((path, name))
        return value.symbols if value.what in (_Is.INSTANCE, _Is.TYPE) else ()

    def _first(
        self, path: str, table: PackedTable, scope: int, line: int, parts: Sequence[str], depth: int
    ) -> tuple[_Value, int]:
        """What an expression begins with, and how many of its parts that is."""
        rules = scoping_of(table.language)
        name, suffix = _suffix(parts[0])
        name = name.lstrip("$") if table.language == "php" else name
        if name in rules.selves or name in rules.supers:
            owner = self._type_around(path, table, scope)
            if owner is None:
                return _UNKNOWN, 1
            if name in rules.supers:
                bases = tuple(self.bases(owner))
                return (_Value(_Is.INSTANCE, bases) if bases else _ELSEWHERE), 1
            return _Value(_Is.INSTANCE, (owner,)), 1
        if name.startswith("@"):
            owner = self._type_around(path, table, scope)
            return (self._field(owner, name, depth) if owner is not None else _UNKNOWN), 1
        if (value := self._variable(path, table, scope, line, name, depth)) is not None:
            return self._suffixed(value, suffix, depth), 1
        for length in range(len(parts), 1, -1):  # import a.b
            dotted = ".".join(parts[:length])
            if table.language == "elixir" and (modules := self.tables.definitions(dotted)):
                return _Value(_Is.TYPE, modules), length
            imported = self._import_of(table, dotted)
            if imported is not None:
                paths = self.tables.targets(path, imported.spec)
                return (_Value(_Is.MODULE, paths=paths) if paths else _ELSEWHERE), length
        if rules.bare_members and (owner := self._type_around(path, table, scope)) is not None:
            value = self._field(owner, name, depth)
            if value.what is not _Is.UNKNOWN:
                return self._suffixed(value, suffix, depth), 1
        found = self._bare(path, table, scope, name)
        value = self._of_symbols(
            [each.symbol for each in found], min((each.confidence for each in found), default=SURE), depth
        )
        if value.what is not _Is.UNKNOWN or found:
            return self._suffixed(value, suffix, depth), 1
        if (imported := self._import_of(table, name)) is not None:
            return self._module(path, imported), 1
        return (self._package(path, table, name) or _UNKNOWN), 1

    def _module(self, path: str, imported: Import) -> _Value:
        """The module that an import means; what is not found in the workspace is elsewhere."""
        tag = imported.spec.partition(":")[0]
        spec = imported.spec
        if tag in _NAMESPACED:
            return _ELSEWHERE
        if tag == "py" and imported.member:
            spec = f"{spec}?{imported.member}"
        paths = self.tables.targets(path, spec)
        if imported.member and imported.member != DEFAULT:
            paths = tuple(each for each in paths if _module_name(each) == imported.member)
        return _Value(_Is.MODULE, paths=paths) if paths else _ELSEWHERE

    def _package(self, path: str, table: PackedTable, name: str) -> _Value | None:
        """A module that needs no import: Rust's of the same crate."""
        if table.language == "rust":
            for spec in (f"rs:self/{name}", f"rs:{name}"):
                paths = tuple(each for each in self.tables.targets(path, spec) if _module_name(each) == name)
                if paths:
                    return _Value(_Is.MODULE, paths=paths)
            if name == "crate":
                paths = self.tables.targets(path, "rs:crate")
                return _Value(_Is.MODULE, paths=paths)
            if name == "super":
                return _Value(_Is.MODULE, paths=self.tables.targets(path, "rs:super"))
            if name.islower() and not self.tables.definitions(name):
                return _ELSEWHERE if self._is_path_like(name) else None
        return None

    def _is_path_like(self, name: str) -> bool:
        return name in ("std", "core", "alloc")

    def _step(self, value: _Value, part: str, depth: int) -> _Value:
        """What a member of a value is."""
        name, suffix = _suffix(part)
        if value.what is _Is.MODULE:
            symbols = self.of_module(value.paths, name)
            if not symbols:
                below = tuple(target for path in value.paths for target in self._submodule(path, name))
                return _Value(_Is.MODULE, paths=below) if below else _UNKNOWN
            return self._suffixed(self._of_symbols(symbols, SURE, depth), suffix, depth)
        if value.is_collection or value.what is _Is.FUNCTION:
            return _UNKNOWN
        for owner in value.symbols:
            members = self._members_of_type(owner, name)
            callables = [each for each in members if each.kind in CALLABLE or each.kind in _TYPES]
            if callables and (suffix.startswith("()") or callables[0].kind in _TYPES):
                return self._suffixed(self._of_symbols(callables, value.confidence, depth), suffix, depth)
            found = self._field(owner, name, depth)
            if found.what is not _Is.UNKNOWN:
                return self._suffixed(found, suffix, depth)
            if callables:  # a property
                return self._suffixed(self._returned(callables[0], depth), suffix, depth)
        return _UNKNOWN

    def _submodule(self, path: str, name: str) -> tuple[str, ...]:
        language = table.language if (table := self.tables.table(path)) else ""
        if language == "rust":
            found = self.tables.targets(path, f"rs:self/{name}")
            return tuple(each for each in found if _module_name(each) == name)
        if language == "python" and path.endswith("__init__.py"):
            return tuple(each for each in self.tables.targets(path, f"py:./{name}") if each)
        return ()

    def _suffixed(self, value: _Value, suffix: str, depth: int) -> _Value:
        """A value after it was called or an element was taken of it."""
        while suffix:
            step, suffix = suffix[:2], suffix[2:]
            if value.what is _Is.FUNCTION:
                value = self._returned(value.symbols[0], depth) if step == "()" else _UNKNOWN
            elif value.what is _Is.TYPE:
                value = evolve(value, what=_Is.INSTANCE)
            elif value.what is _Is.INSTANCE and step == "[]":
                value = evolve(value, is_collection=False) if value.is_collection else _UNKNOWN
            elif value.what is _Is.INSTANCE:
                value = self._called(value, depth)
        return value

    def _called(self, value: _Value, depth: int) -> _Value:
        """What an instance returns that is called as a function."""
        for owner in value.symbols:
            for name in _CALLED:
                if members := self._members_of_type(owner, name):
                    return self._returned(members[-1], depth)
        return _UNKNOWN

    def _of_symbols(self, symbols: Sequence[Symbol], confidence: float, depth: int) -> _Value:
        types = tuple(each for each in symbols if each.kind in _TYPES)
        if types:
            return _Value(_Is.TYPE, types, confidence=confidence)
        functions = tuple(each for each in symbols if each.kind in CALLABLE)
        if functions:
            return _Value(_Is.FUNCTION, functions, confidence=confidence)
        for each in symbols:
            if each.kind == "module":
                return _Value(_Is.TYPE, (each,), confidence=confidence)
            if each.definition.type:
                return self._value(
                    each.path,
                    each.table,
                    _parent(each),
                    each.definition.line,
                    each.definition.type,
                    depth + 1,
                )
            value = self._variable(each.path, each.table, _parent(each), 1 << 30, each.name, depth + 1)
            if value is not None:
                return value
        return _UNKNOWN

    def _returned(self, function: Symbol, depth: int) -> _Value:
        definition = function.definition
        if function.kind == "constructor":
            owner = self.type_of_member(function)
            return _Value(_Is.INSTANCE, (owner,)) if owner is not None else _UNKNOWN
        if not definition.type:
            return _UNKNOWN
        name = definition.type[1:].removesuffix("[]")
        if name in ("Self", "self", "static", "this", definition.owner):
            owner = self.type_of_member(function)
            if owner is not None:
                return _Value(_Is.INSTANCE, (owner,), is_collection=definition.type.endswith("[]"))
        return self._value(
            function.path, function.table, _parent(function), definition.line, definition.type, depth + 1
        )

    def _variable(
        self, path: str, table: PackedTable, scope: int, line: int, name: str, depth: int
    ) -> _Value | None:
        """What a variable is: by its last assignment before the line, in the innermost scope that knows it; None for no such."""
        known = table.variables(name)
        if not known:
            return None
        for number in (*table.scopes(scope), TOP_LEVEL):
            if number >= 0 and table.kind(number) in _TYPES and not scoping_of(table.language).bare_members:
                continue
            here = [each for each in known if each.scope == number]
            if here:
                before = [each for each in here if each.line < line and each.type] or [
                    each for each in here if each.type
                ]
                if not before:
                    return _UNKNOWN
                chosen = before[-1]
                key = (path, number, f"{name} {chosen.type}")
                if key in self._evaluating:
                    return _UNKNOWN
                self._evaluating.add(key)
                try:
                    return self._value(path, table, number, chosen.line, chosen.type, depth + 1)
                finally:
                    self._evaluating.discard(key)
        return None

    def _field(self, owner: Symbol, name: str, depth: int) -> _Value:
        """What a field of a type is."""
        for each in (owner, *self.ancestors(owner)):
            for variable in each.table.variables(name):
                if variable.scope == each.number and variable.type:
                    key = (each.path, each.number, f".{name}")
                    if key in self._evaluating:
                        return _UNKNOWN
                    self._evaluating.add(key)
                    try:
                        scope = self._scope_of_line(each, variable.line)
                        return self._value(
                            each.path, each.table, scope, variable.line, variable.type, depth + 1
                        )
                    finally:
                        self._evaluating.discard(key)
        return _UNKNOWN

    def _scope_of_line(self, owner: Symbol, line: int) -> int:
        """The innermost definition of the type in which a field gets its value."""
        around = [each for each in owner.table.around(line) if each >= owner.number]
        return around[-1] if around else owner.number

    def _type_around(self, path: str, table: PackedTable, scope: int) -> Symbol | None:
        for number in table.scopes(scope):
            if table.kind(number) in _TYPES:
                return Symbol(path, number, table)
            definition = table.definition(number)
            title = definition.name if definition.kind in ("impl", "extension") else definition.owner
            if title:
                found = self._named_types(path, table, title)
                if found:
                    return found[0]
                if definition.kind in ("impl", "extension", "module"):
                    return Symbol(path, number, table)
        return None

    # --- imports ------------------------------------------------------------------------------------

    def _imported(self, path: str, table: PackedTable, name: str) -> list[Meaning]:
        """What a name in an import statement means."""
        found: list[Meaning] = []
        for each in table.imports:
            if name in (each.member, each.name) and each.spec:
                symbols = self._of_import(path, each, each.member or name)
                found += _meaning(symbols, SURE, f"imported from {_shown(each.spec)}")
        return found


_CALLED = ("__call__", "operator()", "invoke", "__invoke", "apply", "call")
"""Methods by which instances are called as functions are."""
_NAMESPACED = frozenset({"jvm", "cs", "php", "ex"})


def _parent(symbol: Symbol) -> int:
    return symbol.table.parent(symbol.number)


def _suffix(part: str) -> tuple[str, str]:
    """`foo()[]` → `foo`, `()[]`."""
    place = min((at for at in (part.find("("), part.find("[")) if at >= 0), default=len(part))
    return part[:place], part[place:]


def _meaning(symbols: Iterable[Symbol], confidence: float, via: str) -> list[Meaning]:
    return [Meaning(each, confidence, via) for each in symbols]


def _shared(symbols: Sequence[Symbol], confidence: float, via: str) -> list[Meaning]:
    """Several that are meant equally well: each has its share. Declarations and definitions of one thing are one."""
    owners = {
        (each.definition.owner, "" if each.kind in CALLABLE and not each.definition.owner else each.path)
        for each in symbols
    }
    count = max(1, len(owners))
    if count == 1:
        return _meaning(
            symbols,
            confidence,
            f"the only {via.removeprefix('the ').removeprefix('one of the ')}" if symbols else via,
        )
    return _meaning(symbols[: _MOST_SHARED * 4], confidence / count, f"one of {count} of this name")


def _nearest(path: str, symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols, those first whose files share most folders with `path`."""
    here = path.split("/")

    def distance(symbol: Symbol) -> tuple[int, str]:
        there = symbol.path.split("/")
        return -len(posixpath.commonprefix([here, there])), symbol.path

    return sorted(symbols, key=distance)


def _same_package(one: str, other: str) -> bool:
    return one.removesuffix("_test") == other.removesuffix("_test")


def _is_within(namespace: str, outer: str) -> bool:
    """Whether what the outer namespace defines is known in the namespace."""
    return namespace == outer or (namespace.startswith(f"{outer}/") and outer != "")


def _module_name(path: str) -> str:
    """What a file is called as a module."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    return posixpath.basename(posixpath.dirname(path)) if stem in ("__init__", "mod", "index") else stem


def _shown(spec: str) -> str:
    return f"`{spec.partition(':')[2]}`" if spec else "its file"


def _once(found: Sequence[Meaning]) -> list[Meaning]:
    best: dict[Symbol, Meaning] = {}
    for each in found:
        if each.symbol not in best or best[each.symbol].confidence < each.confidence:
            best[each.symbol] = each
    return sorted(best.values(), key=lambda each: (-each.confidence, each.symbol.path, each.symbol.number))
