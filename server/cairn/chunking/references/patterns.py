"""The tree-sitter queries that find names in a syntax tree.

Queries run in C; visiting each node from Python would take ten times as long. Each language has its own, in
which patterns that bind a name follow the line `; Bindings`. A query captures a name's node as

- `@call`, `@inherit`, `@decorate`, `@announce`, `@write` or `@read`, by its purpose, and the receiver before
  the name's dot as `@on`;
- `@bind` if the innermost definition binds it, `@field` if the innermost type does, together with its written
  type (`@type`), its value (`@value`), the collection that its value is an element of (`@item`), or the type
  of its elements (`@item_type`);
- `@generic` for a type parameter, together with its bound (`@type`), and `@namespace` for a namespace,
  together with the code in it (`@body`); `@receiver` for the type that an extension method extends;
- `@member` for a member of a literal or a variable, together with its value (`@value`; without one, the
  variable of the same name), and the variable (`@holder`) or the type (`@of`) that it is a member of;
- `@skip` if it has no meaning elsewhere, `@default` if it is the module's only export.

A query also captures code without a syntax tree (`@text`), functions without a name (`@closure`), a
function's written return type (`@returns`), the value that it returns at its end (`@result`), and whole
imports (`@import`). Where patterns overlap, the most specific purpose wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache

from attrs import define, field, frozen
from tree_sitter import Language, Node, Query, QueryCursor

from cairn.chunking.references.chains import LONGEST, UNKNOWN
from cairn.chunking.references.symbol_table import TOP_LEVEL, Definition
from cairn.languages.registry import facts_of

_DEEPEST = 1_000
"""The deepest level of a tree that is searched. A query visits all ancestors of each node, so that it would
take 12 s for a chain of calls of 100 kB."""


_BINDINGS = "; Bindings\n"


@frozen
class Patterns:
    """The queries of a language."""

    names: Query
    """The patterns that do not bind a name, for `captures`, which is three times as fast as `matches`."""
    bindings: Query
    definitions: Query
    """The patterns of definitions alone."""

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Return the nodes of each capture that does not bind a name, in no order."""
        return _cursor(self.names).captures(root)

    def defining(self, root: Node) -> list[Node]:
        """Return the nodes of definitions, in no order."""
        return _cursor(self.definitions).captures(root).get("definition", [])

    def matches(self, root: Node) -> list[tuple[int, dict[str, list[Node]]]]:
        return _cursor(self.bindings).matches(root)


def _cursor(query: Query) -> QueryCursor:
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_DEEPEST)
    return cursor


@cache
def patterns_of(language: str, grammar: Language) -> Patterns | None:
    facts = facts_of(language)
    if facts.syntax is None or not facts.queries:
        return None
    types = [each for each in sorted(facts.syntax.rules) if grammar.id_for_node_kind(each, True) is not None]
    parts = [part.partition(_BINDINGS) for part in facts.queries]
    names, bindings = ("\n".join(part[half] for part in parts) for half in (0, 2))
    definitions = " ".join(f"({each})" for each in types)
    defining = f"[{definitions}] @definition\n"
    return Patterns(Query(grammar, defining + names), Query(grammar, bindings), Query(grammar, defining))


_CALLED = ("function", "constructor", "type", "name")
"""The fields of a call that may contain the called expression."""
_ACCESSOR = re.compile(rb"property\b|\.(?:setter|getter|deleter)\b|\breify\b")


def occurrences(word: bytes, text: bytes) -> Iterator[int]:
    """Yield the offsets of the whole word `word`. Compiling a pattern for each word would take longer."""
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at] if at else b"", text[at + len(word) : at + len(word) + 1]
        if not (_is_letter(before) or _is_letter(after)):
            yield at
        at = text.find(word, at + 1)


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte in (b"_", b"$")


def declared_name(node: Node) -> Node | None:
    """Return the name in a declarator in C; None for a function's declarator."""
    while node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None or (node.type == "function_declarator" and inner.type != "parenthesized_declarator"):
            return None
        node = inner
    return node


def head_of_call(node: Node) -> str:
    """Return the text of an expression. For one that is too long, return what it calls, followed by `()`."""
    calls = ""
    while node.end_byte - node.start_byte >= LONGEST:
        called = next(filter(None, map(node.child_by_field_name, _CALLED)), None)
        calls = "()" if called is not None else calls
        inner = called or next(iter(node.named_children), None)
        if inner is None:
            return UNKNOWN
        node = inner
    return (node.text or b"").decode("utf-8", "replace") + calls


def first(found: Mapping[str, Sequence[Node]], capture: str) -> Node | None:
    nodes = found.get(capture)
    return nodes[0] if nodes else None


def is_static(node: Node) -> bool:
    return any(
        child.type == "storage_class_specifier" and child.text == b"static" for child in node.children[:3]
    )


def is_accessor(node: Node, language: str) -> bool:
    """Return whether reading or writing a member calls the function: `@property`, `get x()` of JavaScript."""
    if language != "python":
        return node.type == "method_definition" and any(
            child.type in ("get", "set") for child in node.children
        )
    around = node.parent  # This searches the tree, so the fast check comes first.
    if around is None or around.type != "decorated_definition":
        return False
    return any(_ACCESSOR.search(each.text or b"") for each in around.children if each.type == "decorator")


@define(eq=False)
class Scope:
    """A definition in a symbol table that is being built."""

    number: int
    definition: Definition
    start: int
    end: int
    bound: set[str] = field(factory=set)
    """The names that the definition binds for the code inside."""


@define(eq=False)
class Sweep:
    """The innermost definition around a place that moves forward through the file."""

    scopes: Sequence[Scope]
    number: int = TOP_LEVEL
    local: Set[str] = frozenset()
    """The names that the definitions around the place bind for the code inside."""
    next_change: int = 0
    """The byte offset of the next place with other enclosing definitions."""
    _coming: int = 0
    _around: list[Scope] = field(factory=list)

    def move_to(self, place: int) -> None:
        around, scopes = self._around, self.scopes
        while self._coming < len(scopes) and scopes[self._coming].start <= place:
            around.append(scopes[self._coming])
            self._coming += 1
        around[:] = [scope for scope in around if scope.end > place]
        self.number = around[-1].number if around else TOP_LEVEL
        # Most places are inside just one definition, whose names need not be copied. Copying is slow.
        self.local = around[0].bound if len(around) == 1 else set().union(*(scope.bound for scope in around))
        ends = [scope.end for scope in around]
        coming = [scopes[self._coming].start] if self._coming < len(scopes) else []
        self.next_change = min([*ends, *coming], default=1 << 62)
