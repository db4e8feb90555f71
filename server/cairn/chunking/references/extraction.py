"""Build a file's symbol table from its syntax tree.

Definitions come from the language's `Syntax`, and all other names from its queries (see `patterns`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from attrs import define, evolve, field
from tree_sitter import Node, Tree

from cairn.chunking.outline import CALLABLE, CONTAINERS, TYPES, VALUES
from cairn.chunking.references.chains import LITERAL, UNKNOWN, chain, type_expression
from cairn.chunking.references.patterns import (
    Patterns,
    Scope,
    Sweep,
    declared_name,
    first,
    head_of_call,
    is_accessor,
    is_static,
    occurrences,
    patterns_of,
)
from cairn.chunking.references.symbol_table import (
    EVERYWHERE,
    RECEIVER,
    TOP_LEVEL,
    Definition,
    Reference,
    ReferenceKind,
    SymbolTable,
    Variable,
    namespace,
    type_parameter,
)
from cairn.languages.imports import DEFAULT, Import
from cairn.languages.language import Language
from cairn.languages.registry import facts_of
from cairn.languages.syntax import PROTOTYPE, NamedNode, last_row

_MOST = 40_000
"""The maximum number of names to keep for each file. A generated file of 20,000 definitions has more names
than users search for."""

_LONGEST_CLOSURE = 20_000
"""The number of bytes at the beginning of an unnamed function in which it has variables of its own."""

_LONGEST_HEAD = 500
"""The number of bytes at the beginning of a definition in which its name is searched for."""

_KINDS = {
    "read": ReferenceKind.READ,
    "write": ReferenceKind.WRITE,
    "decorate": ReferenceKind.DECORATE,
    "inherit": ReferenceKind.INHERIT,
    "call": ReferenceKind.CALL,
    "announce": ReferenceKind.ANNOUNCE,
}
_NAME = re.compile(r"[\w$@]+")
_DOT = re.compile(rb"\s*(?:\?\.|!\.|&\.|\.|->|\?->|::|\\)\s*\$?")
_SCOPES = CALLABLE | CONTAINERS


def symbol_table(
    language: str, tree: Tree, source: bytes, *, definitions_only: bool = False
) -> SymbolTable | None:
    """Return the symbol table of the tree, or None for a language without a query. The definitions alone,
    with the same numbers, take a quarter of the time."""
    patterns = patterns_of(language, tree.language)
    if patterns is None:
        return None
    extraction = _Extraction(language, patterns, source)
    return extraction.definitions(tree.root_node) if definitions_only else extraction.table(tree.root_node)


@define(eq=False)
class _Extraction:
    language: str
    patterns: Patterns
    source: bytes
    facts: Language = field(init=False)
    _scopes: list[Scope] = field(factory=list, init=False)
    _starts: list[int] = field(factory=list, init=False)
    _names: set[int] = field(factory=set, init=False)
    """The byte offsets at which the names of definitions begin."""
    _imports: list[tuple[int, int]] = field(factory=list, init=False)
    """The byte offsets of the beginning and the end of each import."""
    _closures: list[tuple[int, int, int]] = field(factory=list, init=False)
    """The byte offsets of the beginning and the end, and the last row, of each function without a name."""
    _aliases: set[str] = field(factory=set, init=False)
    """The names of variables that may hold a function."""
    _exported: list[Import] = field(factory=list, init=False)
    """The names under which the file exports definitions of other names."""
    _rows: list[bytes] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.facts = facts_of(self.language)

    def definitions(self, root: Node) -> SymbolTable:
        self._define(self.patterns.defining(root))
        return SymbolTable(self.language, tuple(scope.definition for scope in self._scopes))

    def table(self, root: Node) -> SymbolTable:
        captures = self.patterns.captures(root)
        self._define(captures.get("definition", []))
        self._return(captures.get("returns", ()), captures.get("result", ()))
        skipped = {node.start_byte for node in captures.get("skip", ())}
        imports = sorted(captures.get("import", ()), key=lambda node: node.start_byte)
        self._imports = [(node.start_byte, node.end_byte) for node in imports]
        self._closures = sorted(
            (node.start_byte, node.end_byte, last_row(node)) for node in captures.get("closure", ())
        )
        variables = self._bind(self.patterns.matches(root), skipped)
        uses: dict[int, tuple[ReferenceKind, Node]] = {}
        for capture, kind in _KINDS.items():  # The most specific kind comes last and wins.
            uses |= {node.start_byte: (kind, node) for node in captures.get(capture, ())}
        for start in skipped.union(self._names):
            uses.pop(start, None)
        names = [
            Import(DEFAULT, None, self._text(node))
            for node in sorted(captures.get("default", ()), key=lambda node: node.start_byte)
        ]
        names += self._exported
        names += [name for node in imports for name in self._imported(self._text(node))]
        references = self._refer(uses, self._receivers(captures.get("on", ())))
        if texts := captures.get("text"):
            references += [call for node in texts for call in self._calls_in(node)]
            references.sort(key=attrgetter("line", "character"))
        wanted = {reference.name for reference in references}
        expressions = {each.receiver for each in references}.union(each.type for each in variables)
        expressions.update(scope.definition.type for scope in self._scopes)
        wanted.update(_NAME.findall(" ".join(expressions)), [RECEIVER])
        return SymbolTable(
            self.language,
            tuple(scope.definition for scope in self._scopes),
            tuple(references),
            tuple(
                each
                for each in variables
                if "." in each.name or each.name.strip("<>") in wanted or not self._is_local(each)
            ),
            tuple(names),
            self._namespace(),
        )

    def _imported(self, statement: str) -> Iterator[Import]:
        """Yield the names that an import statement adds to the file."""
        for each in self.facts.imports.names(statement):
            if each.name:
                yield each
            package, dot, _ = each.name.partition(".")
            if dot and each.module is not None:  # `import a.b` of Python adds `a`.
                yield Import(package, each.module._replace(name=package))

    def _namespace(self) -> str:
        if not self.facts.imports.namespace:
            return ""
        return self.facts.imports.namespace_of(self.source.decode("utf-8", "replace"))

    def _receivers(self, nodes: Iterable[Node]) -> dict[int, Node]:
        """Return the receivers, by the byte offset of the name after the receiver's dot."""
        receivers = {}
        for node in nodes:
            end = node.end_byte
            if self.source[end : end + 1] == b"." and not self.source[end + 1 : end + 2].isspace():
                receivers[end + 1] = node
            elif match := _DOT.match(self.source, end):
                receivers[match.end()] = node
        return receivers

    def _define(self, nodes: list[Node]) -> None:
        rules = self.facts.syntax.rules if self.facts.syntax is not None else {}
        nodes.sort(key=lambda node: (node.start_byte, -node.end_byte))
        open_scopes: list[Scope] = []
        seen: set[tuple[int, str]] = set()
        in_function = False
        holder: Scope | None = None
        for node in nodes[:_MOST]:
            start, end = node.start_byte, node.end_byte
            while open_scopes and open_scopes[-1].end <= start:
                open_scopes.pop()
                in_function = any(scope.definition.kind in CALLABLE for scope in open_scopes)
            if in_function and node.type in _VALUES_ALONE:
                continue
            named = rules[node.type](node)
            if named is None or not named.name or named.kind == "test":
                continue
            if in_function and named.kind in VALUES:
                continue
            place = self._place_of_name(node, named)
            if (place, named.name) in seen:
                continue
            seen.add((place, named.name))
            parent = open_scopes[-1] if open_scopes else None
            kind, owner = "function" if named.kind == PROTOTYPE else named.kind, named.owner
            if kind == "method" and holder is not None and _is_member(node, holder):
                parent = holder
                owner = owner or holder.definition.name
            if self.language != "c" and parent is not None and parent.definition.kind in CONTAINERS:
                owner = owner or parent.definition.name
                if parent.definition.kind in TYPES:
                    kind = {"function": "method", "variable": "field"}.get(kind, kind)
            row, character = self._position(node, place)
            definition = Definition(
                named.name,
                kind,
                owner,
                parent.number if parent is not None else TOP_LEVEL,
                node.start_point[0],
                last_row(node) + 1,
                row,
                character,
                is_private=self.language in ("c", "cpp") and not owner and is_static(node),
                is_declaration=node.type in _DECLARATIONS and named.kind in CALLABLE,
                is_accessor=is_accessor(node, self.language),
            )
            scope = Scope(len(self._scopes), definition, start, end)
            self._scopes.append(scope)
            self._starts.append(start)
            self._names.add(place)
            if kind in VALUES and kind == named.kind:
                holder = scope
            if kind in _SCOPES:
                open_scopes.append(scope)
                in_function = in_function or kind in CALLABLE

    def _place_of_name(self, node: Node, named: NamedNode) -> int:
        """Return the byte offset at which the name of a definition begins."""
        shown = node.child_by_field_name("name") or named.node.child_by_field_name("name")
        name = named.name.encode()
        if shown is not None and self.source[shown.start_byte : shown.end_byte] == name:
            return shown.start_byte
        start = named.node.start_byte
        head = self.source[start : min(named.node.end_byte, start + _LONGEST_HEAD)]
        places = list(occurrences(name, head))
        if named.kind in CALLABLE:  # `struct foo *foo(…)`
            own = [at for at in places if b"{" not in head[:at]]  # A body may call another `foo`.
            places = [at for at in own if head[at + len(name) :].lstrip()[:1] in (b"(", b"<")] or places
        return start + (places[0] if places else 0)

    def _return(self, written: Sequence[Node], results: Sequence[Node]) -> None:
        """Set the return type of each function: the written type, or the value returned at its end."""
        # The first written type is the function's. If a macro hides a brace, `else` may look like one.
        in_order = sorted(written, key=lambda node: node.start_byte)
        returned = {node.start_byte: type_expression(self._text(node)) for node in in_order}
        for node in sorted(results, key=lambda each: -each.start_byte):
            value = chain(head_of_call(node))
            returned[node.start_byte] = "" if value == UNKNOWN else value
        for start, type_ in returned.items():
            scope = self._enclosing(start)
            if not type_ or scope is None or scope.definition.type:
                continue
            if scope.definition.kind in CALLABLE:
                scope.definition = evolve(scope.definition, type=type_)

    def _bind(
        self, matches: Sequence[tuple[int, Mapping[str, Sequence[Node]]]], skipped: set[int]
    ) -> list[Variable]:
        """Return the variables. Add the byte offsets of names that are local to a function to `skipped`."""
        variables: dict[tuple[int, str, str, int], Variable] = {}
        found = (
            (node, capture == "field", self._expression(match))
            for _, match in matches
            for capture in ("bind", "field")
            for node in match.get(capture, ())
        )
        for bound, is_field, expression in found:
            node = declared_name(bound)
            if node is None or self._is_imported(node.start_byte):
                continue
            start = node.start_byte
            if start in self._names and not expression:
                continue  # The name is a function's, which already is a definition.
            name = self._text(node).removeprefix(self.facts.sigil)
            scope = self._enclosing(start)
            if is_field:
                while scope is not None and scope.definition.kind not in TYPES:
                    scope = self._parent(scope)
                if scope is None:
                    continue
            elif scope is not None:
                if scope.definition.kind in CALLABLE:
                    if start not in self._names:
                        scope.bound.add(name)
                        skipped.add(start)
                elif scope.definition.kind in VALUES | {"type"}:
                    scope = self._parent(scope)
            number = scope.number if scope is not None else TOP_LEVEL
            end = EVERYWHERE if is_field else self._end_of_closure(start, scope)
            if _FUNCTION.fullmatch(expression) and expression != name:
                self._aliases.add(name)
            key = (number, name, expression, end)
            if key not in variables:
                variables[key] = Variable(number, name, node.start_point[0], expression, end)
        others = (match for _, match in matches if "bind" not in match and "field" not in match)
        declared = [each for match in others for each in self._declared(match, skipped)]
        return [*dict.fromkeys(declared), *variables.values()]

    def _declared(self, match: Mapping[str, Sequence[Node]], skipped: set[int]) -> Iterator[Variable]:
        """Yield the type parameters and the namespaces of a match."""
        if (name := first(match, "generic")) is not None:
            scope = self._enclosing(name.start_byte)
            if scope is not None and scope.definition.kind in VALUES:  # `T = TypeVar("T", bound=X)`
                scope = self._parent(scope)
            number = scope.number if scope is not None else TOP_LEVEL
            text = self._text(name)
            if scope is not None and scope.definition.kind in CALLABLE:
                scope.bound.add(text)
                skipped.add(name.start_byte)
            yield Variable(number, type_parameter(text), name.start_point[0], self._expression(match))
        if (extended := first(match, "receiver")) is not None:
            scope = self._enclosing(extended.start_byte)
            number = scope.number if scope is not None else TOP_LEVEL
            type_ = type_expression(self._text(extended))
            yield Variable(number, RECEIVER, extended.start_point[0], type_)
        if (member := first(match, "member")) is not None:
            yield from self._filled(match, member)
        if (name := first(match, "namespace")) is not None and (body := first(match, "body")) is not None:
            for part in _NAME.findall(self._text(name)):
                yield Variable(TOP_LEVEL, namespace(part), body.start_point[0], "", last_row(body))

    def _filled(self, match: Mapping[str, Sequence[Node]], member: Node) -> Iterator[Variable]:
        """Yield a member of a literal or a variable, if it can be a function."""
        expression = chain(self._text(first(match, "value") or member).removeprefix("&"))
        scope = self._enclosing(member.start_byte)
        while scope is not None and scope.definition.kind in VALUES:
            scope = self._parent(scope)
        number = scope.number if scope is not None else TOP_LEVEL
        is_local = scope is not None and expression.partition(".")[0] in scope.bound - self._aliases
        if is_local or expression == UNKNOWN or expression.startswith(":") or "(" in expression:
            return
        name, row = self._text(member), member.start_point[0]
        if "exports" in match:
            self._exported.append(Import(name, None, expression))
            return
        if (node := first(match, "holder")) is not None and (holder := declared_name(node)) is not None:
            yield Variable(number, f"{self._text(holder)}.{name}", row, expression)
        if (written := first(match, "of")) is not None:
            type_ = type_expression(self._text(written)).rpartition(".")[2].removeprefix(":")
            yield Variable(number, f":{type_}.{name}", row, expression)
        elif node is None:
            yield Variable(number, f":.{name}", row, expression)

    def _end_of_closure(self, start: int, scope: Scope | None) -> int:
        """Return the last row of the innermost unnamed function around a byte offset, or EVERYWHERE."""
        outside = scope.start if scope is not None else -1
        for place in range(bisect_right(self._closures, (start, 1 << 62)) - 1, -1, -1):
            first, end, row = self._closures[place]
            if first <= outside or start - first > _LONGEST_CLOSURE:
                break
            if start < end:
                return row
        return EVERYWHERE

    def _is_imported(self, start: int) -> bool:
        place = bisect_right(self._imports, (start, 1 << 62)) - 1
        return place >= 0 and start < self._imports[place][1]

    def _refer(
        self, uses: Mapping[int, tuple[ReferenceKind, Node]], receivers: Mapping[int, Node]
    ) -> list[Reference]:
        references: list[Reference] = []
        spans = iter(self._imports)
        nowhere = (len(self.source), len(self.source))
        imported = next(spans, nowhere)
        sigil = self.facts.sigil
        text = self.source.decode() if self.source.isascii() else None
        scopes = Sweep(self._scopes)
        # The offsets are sorted, so rows can be counted. Reading the row of each node takes longer.
        line, line_start = 0, 0
        line_end = self._end_of_line(0)
        for start in sorted(uses)[:_MOST]:
            if start >= scopes.next_change:
                scopes.move_to(start)
            kind, node = uses[start]
            on = receivers.get(start)
            end = node.end_byte
            name = text[start:end] if text is not None else self.source[start:end].decode("utf-8", "replace")
            if sigil:
                name = name.removeprefix(sigil)
            while imported[1] <= start < nowhere[1]:
                imported = next(spans, nowhere)
            if imported[0] <= start:
                kind, on = ReferenceKind.IMPORT, None
            elif on is None and name in scopes.local:  # noqa: SIM102
                if kind is not ReferenceKind.CALL or name not in self._aliases:
                    continue
            if kind is ReferenceKind.INHERIT and self._is_in_function(scopes.number):
                kind = ReferenceKind.READ  # The type of a local object.
            receiver = "" if on is None else chain(self._text(on))
            while line_end < start:
                line, line_start = line + 1, line_end + 1
                line_end = self._end_of_line(line_start)
            character = start - line_start
            if text is None:
                character = self._character(line, character)
            references.append(Reference(name, kind, line, character, scopes.number, receiver))
        return references

    def _is_in_function(self, number: int) -> bool:
        return number >= 0 and self._scopes[number].definition.kind in CALLABLE

    def _calls_in(self, node: Node) -> Iterator[Reference]:
        scope = self._enclosing(node.start_byte)
        for match in _CALL.finditer(self.source, node.start_byte, node.end_byte):
            name, start = match[1].decode(), match.start()
            if name not in _NOT_CALLED:
                number = scope.number if scope is not None else TOP_LEVEL
                yield Reference(name, ReferenceKind.CALL, *self._position(node, start), number)

    def _is_local(self, variable: Variable) -> bool:
        """Return whether only the enclosing function can refer to the variable."""
        number = variable.scope
        return number >= 0 and self._scopes[number].definition.kind in CALLABLE

    def _expression(self, found: Mapping[str, Sequence[Node]]) -> str:
        """Return the type of a bound name, as an expression of `chains`; "" if unknown."""
        written, value = first(found, "type"), first(found, "value")
        if written is not None and not (value is not None and _FUNCTION_TYPE.match(self._text(written))):
            return type_expression(self._text(written))
        if (written := first(found, "item_type")) is not None:
            expression = type_expression(self._text(written))
            return f"{expression}[]" if expression else ""
        for capture, suffix in (("value", ""), ("item", "[]")):
            if (node := first(found, capture)) is not None:
                expression = chain(head_of_call(node))
                if expression == UNKNOWN:
                    return ""
                return expression if expression == LITERAL else expression + suffix
        return ""

    def _enclosing(self, start: int) -> Scope | None:
        place = bisect_right(self._starts, start) - 1
        if place < 0:
            return None
        scope: Scope | None = self._scopes[place]
        while scope is not None and scope.end <= start:
            scope = self._parent(scope)
        return scope

    def _parent(self, scope: Scope) -> Scope | None:
        number = scope.definition.parent
        return self._scopes[number] if number >= 0 else None

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _end_of_line(self, start: int) -> int:
        end = self.source.find(b"\n", start)
        return end if end >= 0 else len(self.source)

    def _position(self, node: Node, place: int) -> tuple[int, int]:
        """Return the row and the character (in UTF-16 code units) of a byte offset in a node."""
        row = node.start_point[0] + self.source.count(b"\n", node.start_byte, place)
        return row, self._character(row, place - self.source.rfind(b"\n", 0, place) - 1)

    def _character(self, row: int, column: int) -> int:
        """Return the character, in UTF-16 code units, of a byte offset in a row."""
        if self._rows is None:
            self._rows = [] if self.source.isascii() else self.source.split(b"\n")
        before = self._rows[row][:column] if self._rows else b""
        return column if before.isascii() else len(before.decode("utf-8", "replace").encode("utf-16-le")) // 2


_FUNCTION_TYPE = re.compile(r"(?:unsafe\s+)?(?:extern\s+(?:\"\w+\"\s+)?)?fn\b")
_FUNCTION = re.compile(r"[^\W\d][\w$]*(?:\.[\w$]+)*(?:\.bind\(\))?")
"""The expression of what may be a function."""


def _is_member(method: Node, holder: Scope) -> bool:
    """Whether a method belongs to the object literal that is a variable's value."""
    around = method.parent if method.start_byte < holder.end and method.type in _MEMBERS else None
    while around is not None and around.type in _LITERALS:
        around = around.parent
    return around is not None and around.start_byte == holder.start and around.type == "variable_declarator"


_MEMBERS = frozenset({"method_definition", "pair"})
_LITERALS = frozenset({"object", "as_expression", "satisfies_expression", "parenthesized_expression"})
_CALL = re.compile(rb"(?<![\w.>#])([A-Za-z_]\w*)[ \t]*\(")
_NOT_CALLED = frozenset(
    "if while for switch return sizeof defined do else case typeof alignof _Static_assert".split()
)
_VALUES_ALONE = frozenset({"assignment", "declaration", "var_spec", "const_spec"})
"""The types of nodes that only define values. Inside a function, these are variables and not definitions."""
_DECLARATIONS = frozenset(
    """
    declaration field_declaration function_signature function_signature_item abstract_method_signature
    """.split()
)
