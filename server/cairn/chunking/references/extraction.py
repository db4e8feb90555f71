"""Makes a file's symbol table from its syntax tree.

A query of tree-sitter finds the nodes, in C: to visit each node of a tree from here would take ten times as long. The
queries are in `queries/`, one for each language; definitions come from the tables that chunking has of a language. A query
captures the node of a name as

- `@call`, `@inherit`, `@decorate`, `@write` or `@read`, by what it is written for, with its receiver as `@on`;
- `@bind`, if it becomes known there, in the innermost definition, or `@field`, if in the innermost type, with its written type as
  `@type`, or what it is made of as `@value`, or what its value is an element of as `@item`, or the type of its elements as
  `@item_type`;

`@skip` a name that means nothing elsewhere, `@returns` a function's written return type, and `@import` a whole import. Where patterns overlap, the one that says most counts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from attrs import define, field, evolve
from tree_sitter import Language, Node, Query, QueryCursor, QueryError, Tree

from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES
from cairn.chunking.references.chains import LITERAL, UNKNOWN, chain, type_expression
from cairn.chunking.references.imports import import_names, namespace_of
from cairn.chunking.references.model import (
    TOP_LEVEL,
    Definition,
    Import,
    Reference,
    ReferenceKind,
    SymbolTable,
    Variable,
)
from cairn.chunking.syntax import syntax_of
from cairn.chunking.syntax.rules import NamedNode, Syntax

_MOST = 40_000
"""Names of one file that are kept. A generated file of 20,000 definitions has more references than anyone asks for."""

_KINDS = {
    "call": ReferenceKind.CALL,
    "inherit": ReferenceKind.INHERIT,
    "decorate": ReferenceKind.DECORATE,
    "write": ReferenceKind.WRITE,
    "read": ReferenceKind.READ,
}
_TYPES = CONTAINERS - {"module"}
_SCOPES = CALLABLE | CONTAINERS
_MATCHES = 200_000


def symbol_table(language: str, tree: Tree, source: bytes) -> SymbolTable | None:
    """What the tree says of names; None for a language without a query."""
    query = _query(language, tree.language)
    if query is None:
        return None
    return _Extraction(language, query, source).table(tree.root_node)


@cache
def _query(language: str, grammar: Language) -> Query | None:
    text = _query_text(language)
    if text is None:
        return None
    types = sorted(syntax_of(language).rules)
    known = [f"({each})" for each in types if grammar.id_for_node_kind(each, True) is not None]
    return Query(grammar, f"[{' '.join(known)}] @definition\n{text}")


_SAME = {"tsx": "typescript"}
_EXTENDS = {"typescript": "javascript", "cpp": "c"}


def _query_text(language: str) -> str | None:
    """The query of a language after that of the language it grew out of."""
    language = _SAME.get(language, language)
    place = files("cairn.chunking.references") / "queries" / f"{language}.scm"
    if not place.is_file():
        return None
    base = _EXTENDS.get(language)
    return (f"{_query_text(base)}\n" if base else "") + place.read_text(encoding="utf-8")


@define(eq=False)
class _Scope:
    """A definition while the table is made."""

    number: int
    definition: Definition
    start: int
    end: int
    """Of its bytes."""
    bound: set[str] = field(factory=set)
    """Names that it makes known to what is in it."""


@define(eq=False)
class _Extraction:
    language: str
    query: Query
    source: bytes
    _scopes: list[_Scope] = field(factory=list, init=False)
    _starts: list[int] = field(factory=list, init=False)
    _names: set[int] = field(factory=set, init=False)
    """Bytes at which the name of a definition begins."""
    _rows: list[bytes] | None = field(default=None, init=False)

    def table(self, root: Node) -> SymbolTable:
        cursor = QueryCursor(self.query)
        definitions: list[tuple[Node, NamedNode]] = []
        bindings: list[tuple[int, Node, str, bool]] = []
        returns: list[Node] = []
        imports: list[Node] = []
        uses: dict[int, tuple[ReferenceKind, Node, Node | None]] = {}
        skipped: set[int] = set()
        rules = syntax_of(self.language).rules
        for _, found in cursor.matches(root):
            if "skip" in found:
                skipped.update(node.start_byte for node in found["skip"])
            elif "read" in found:
                node = found["read"][0]
                uses.setdefault(node.start_byte, (ReferenceKind.READ, node, _first(found, "on")))
            elif "definition" in found:
                node = found["definition"][0]
                if (named := rules[node.type](node)) is not None and named.name and named.kind != "test":
                    definitions.append((node, named))
            elif "import" in found:
                imports.append(found["import"][0])
            elif "returns" in found:
                returns.append(found["returns"][0])
            elif "bind" in found or "field" in found:
                is_field = "field" in found
                expression = _expression(found)
                bindings += [
                    (node.start_byte, node, expression, is_field)
                    for node in found["field" if is_field else "bind"]
                ]
            else:
                for capture, kind in _KINDS.items():
                    if capture in found:
                        node = found[capture][0]
                        known = uses.get(node.start_byte)
                        if known is None or kind < known[0]:
                            uses[node.start_byte] = (kind, node, _first(found, "on"))
        for start in skipped:
            uses.pop(start, None)
        self._define(definitions)
        self._return(returns)
        variables = self._bind(bindings, uses)
        made = [name for node in imports for name in self._imported(node)]
        references = self._refer(uses, imports)
        wanted = {reference.name for reference in references}
        for reference in references:
            wanted.update(re.findall(r"[\w$@]+", reference.receiver))
        for variable in variables:
            wanted.update(re.findall(r"[\w$@]+", variable.type))
        return SymbolTable(
            self.language,
            tuple(scope.definition for scope in self._scopes),
            tuple(references),
            tuple(each for each in variables if each.name in wanted),
            tuple(made),
            namespace_of(self.language, self.source),
        )

    # --- definitions --------------------------------------------------------------------------------

    def _define(self, found: list[tuple[Node, NamedNode]]) -> None:
        found.sort(key=lambda each: (each[1].node.start_byte, -each[1].node.end_byte))
        open_scopes: list[_Scope] = []
        seen: set[tuple[int, str]] = set()
        for node, named in found[:_MOST]:
            start, end = node.start_byte, node.end_byte
            while open_scopes and open_scopes[-1].end <= start:
                open_scopes.pop()
            if named.kind in VALUES and any(scope.definition.kind in CALLABLE for scope in open_scopes):
                continue
            place = self._place_of_name(node, named)
            if (place, named.name) in seen:
                continue
            seen.add((place, named.name))
            parent = open_scopes[-1] if open_scopes else None
            kind, owner = named.kind, named.owner
            if parent is not None and parent.definition.kind in _TYPES:
                kind = {"function": "method", "variable": "field"}.get(kind, kind)
            if not owner and parent is not None and parent.definition.kind in CONTAINERS:
                owner = parent.definition.name
            line, character = self._position(place)
            definition = Definition(
                named.name,
                kind,
                owner,
                parent.number if parent is not None else TOP_LEVEL,
                node.start_point[0],
                _last_row(node) + 1,
                line,
                character,
                is_private=self.language in ("c", "cpp") and not owner and self._is_static(node),
                is_declaration=node.type in _DECLARATIONS and named.kind in CALLABLE,
            )
            scope = _Scope(len(self._scopes), definition, start, end)
            self._scopes.append(scope)
            self._starts.append(start)
            self._names.add(place)
            if kind in _SCOPES:
                open_scopes.append(scope)

    def _place_of_name(self, node: Node, named: NamedNode) -> int:
        """The byte at which the name of a definition begins."""
        shown = node.child_by_field_name("name") or named.node.child_by_field_name("name")
        name = named.name.encode()
        if shown is not None and self.source[shown.start_byte : shown.end_byte] == name:
            return shown.start_byte
        start, end = named.node.start_byte, named.node.end_byte
        text = self.source[start : min(end, start + 2_000)]
        word = rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])"
        match = (re.search(word + rb"\s*(?:<[^<>]*>)?\s*\(", text) if named.kind in CALLABLE else None) or re.search(word, text)
        return start + (match.start() if match else 0)

    def _is_static(self, node: Node) -> bool:
        return any(
            child.type == "storage_class_specifier" and self._text(child) == "static" for child in node.children[:3]
        )

    def _return(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            scope = self._enclosing(node.start_byte)
            if scope is not None and not scope.definition.type and scope.definition.kind in CALLABLE:
                written = type_expression(self._text(node))
                scope.definition = evolve(scope.definition, type=written)

    # --- variables ----------------------------------------------------------------------------------

    def _bind(
        self,
        found: Sequence[tuple[int, Node, str, bool]],
        uses: dict[int, tuple[ReferenceKind, Node, Node | None]],
    ) -> list[Variable]:
        variables: dict[tuple[int, str, str], Variable] = {}
        for _, bound, expression, is_field in found:
            node = _declared(bound)
            if node is None:
                continue
            start = node.start_byte
            name = self._text(node).lstrip("$") if self.language == "php" else self._text(node)
            scope = self._enclosing(start)
            if is_field:
                while scope is not None and scope.definition.kind not in _TYPES:
                    scope = self._scopes[scope.definition.parent] if scope.definition.parent >= 0 else None
                if scope is None:
                    continue
            elif scope is not None:
                if scope.definition.kind in CALLABLE:
                    if start not in self._names:
                        scope.bound.add(name)
                        uses.pop(start, None)
                elif scope.definition.kind in VALUES | {"type"}:
                    number = scope.definition.parent
                    scope = self._scopes[number] if number >= 0 else None
            number = scope.number if scope is not None else TOP_LEVEL
            key = (number, name, expression)
            if key not in variables:
                variables[key] = Variable(number, name, node.start_point[0], expression)
        return list(variables.values())

    # --- references ---------------------------------------------------------------------------------

    def _refer(
        self, uses: Mapping[int, tuple[ReferenceKind, Node, Node | None]], imports: Sequence[Node]
    ) -> list[Reference]:
        references: list[Reference] = []
        spans = [(node.start_byte, node.end_byte) for node in imports]
        starts = [start for start, _ in spans]
        names = self._names
        for start in sorted(uses)[:_MOST]:
            if start in names:
                continue
            kind, node, on = uses[start]
            name = self.source[start : node.end_byte].decode("utf-8", "replace")
            if self.language == "php":
                name = name.lstrip("$")
            scope = self._enclosing(start)
            if on is None and scope is not None and self._is_local(scope, name):
                continue
            if spans:
                place = bisect_right(starts, start) - 1
                if place >= 0 and start < spans[place][1]:
                    kind, on = ReferenceKind.IMPORT, None
            receiver = "" if on is None else chain(self._text(on))
            line, character = self._position(start, node.start_point)
            number = scope.number if scope is not None else TOP_LEVEL
            references.append(Reference(name, kind, line, character, number, receiver))
        return references

    def _is_local(self, scope: _Scope | None, name: str) -> bool:
        while scope is not None:
            if name in scope.bound:
                return True
            scope = self._scopes[scope.definition.parent] if scope.definition.parent >= 0 else None
        return False

    def _imported(self, node: Node) -> Iterator[Import]:
        return import_names(self.language, self._text(node))

    # --- places -------------------------------------------------------------------------------------

    def _enclosing(self, start: int) -> _Scope | None:
        """The innermost definition around a byte."""
        place = bisect_right(self._starts, start) - 1
        if place < 0:
            return None
        scope: _Scope | None = self._scopes[place]
        while scope is not None and scope.end <= start:
            number = scope.definition.parent
            scope = self._scopes[number] if number >= 0 else None
        return scope

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _position(self, start: int, point: Any = None) -> tuple[int, int]:
        """Line and character of a byte."""
        if point is None:
            line_start = self.source.rfind(b"\n", 0, start) + 1
            row = self._row_of(line_start)
            column = start - line_start
        else:
            row, column = point
        if self._rows is None:
            self._rows = [] if self.source.isascii() else self.source.split(b"\n")
        if not self._rows:
            return row, column
        before = self._rows[row][:column]
        return row, column if before.isascii() else len(before.decode("utf-8", "replace").encode("utf-16-le")) // 2

    def _row_of(self, line_start: int) -> int:
        return self.source.count(b"\n", 0, line_start)


_DECLARATIONS = frozenset(
    "declaration field_declaration function_signature function_signature_item abstract_method_signature".split()
)


def _first(found: Mapping[str, list[Node]], capture: str) -> Node | None:
    nodes = found.get(capture)
    return nodes[0] if nodes else None


def _expression(found: Mapping[str, list[Node]]) -> str:
    """The type of what is bound, as an expression of `chains`; "" where it is not known."""
    if (written := _first(found, "type")) is not None:
        return type_expression(_node_text(written))
    if (written := _first(found, "item_type")) is not None:
        expression = type_expression(_node_text(written))
        return f"{expression}[]" if expression else ""
    for capture, suffix in (("value", ""), ("item", "[]")):
        if (node := _first(found, capture)) is not None:
            expression = chain(_node_text(node))
            if expression in (UNKNOWN, LITERAL):
                return expression if expression == LITERAL else ""
            return expression + suffix
    return ""


def _node_text(node: Node) -> str:
    text = node.text
    return text.decode("utf-8", "replace") if text else ""


def _declared(node: Node) -> Node | None:
    """The name in a declarator of C; None for a function's."""
    while node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None or (node.type == "function_declarator" and inner.type != "parenthesized_declarator"):
            return None
        node = inner
    return node


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row
