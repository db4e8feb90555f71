"""The queries of tree-sitter that find names in a syntax tree.

A query finds the nodes, in C: to visit each node of a tree from here would take ten times as long. They are in
`queries/`, a file for each language; those that bind a name stand after a line of their own. A query captures the node of a name as

- `@call`, `@inherit`, `@decorate`, `@announce`, `@write` or `@read`, by what it is written for, and a receiver, which ends before the dot
  before the name, as `@on`;
- `@bind`, if it becomes known there, in the innermost definition, or `@field`, if in the innermost type, with its written type as
  `@type`, or what it is made of as `@value`, or what its value is an element of as `@item`, or the type of its elements as
  `@item_type`;
- `@skip`, if it means nothing elsewhere, and `@default`, if it is all that its module exports.

Besides it captures code that the grammar has no tree of as `@text`, a function without a name as `@closure`, a function's written return type as `@returns`, what it returns at its end as `@result`, and a whole import
as `@import`. Where patterns overlap, the one that says most counts.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from attrs import frozen
from tree_sitter import Language, Node, Query, QueryCursor

from cairn.chunking.syntax import syntax_of

_DEEPEST = 1_000
"""Levels of a tree that are looked at: for each node a query goes through all that are above it, so that 100 kB of one chain of
calls would take 12 s."""


@frozen
class Patterns:
    """The queries of a language."""

    names: Query
    """The patterns that bind nothing. They match almost every name: to be told the nodes of each capture is enough, and costs a
    third of a match for each."""
    bindings: Query

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """The nodes of each capture that binds nothing, in no order."""
        return _cursor(self.names).captures(root)

    def matches(self, root: Node) -> list[tuple[int, dict[str, list[Node]]]]:
        """The matches of the patterns that bind a name."""
        return _cursor(self.bindings).matches(root)


def _cursor(query: Query) -> QueryCursor:
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_DEEPEST)
    return cursor


@cache
def patterns_of(language: str, grammar: Language) -> Patterns | None:
    """The patterns of a language; None for one without."""
    texts = _texts(language)
    if texts is None:
        return None
    types = sorted(syntax_of(language).rules)
    known = [f"({each})" for each in types if grammar.id_for_node_kind(each, True) is not None]
    names, bindings = texts
    return Patterns(Query(grammar, f"[{' '.join(known)}] @definition\n{names}"), Query(grammar, bindings))


_PARTS = {
    "javascript": ("ecmascript", "jsx", "javascript"),
    "typescript": ("ecmascript", "typescript"),
    "tsx": ("ecmascript", "jsx", "typescript"),
    "cpp": ("c", "cpp"),
}
"""Languages whose queries share a part."""


_BINDINGS = "; Bindings\n"
"""The line before the patterns that bind a name."""


def _texts(language: str) -> tuple[str, str] | None:
    """The patterns that bind nothing, and those that do."""
    folder = files("cairn.chunking.references") / "queries"
    parts = [folder / f"{part}.scm" for part in _PARTS.get(language, (language,))]
    if not parts[0].is_file():
        return None
    texts = [part.read_text(encoding="utf-8").partition(_BINDINGS) for part in parts]
    return "\n".join(names for names, _, _ in texts), "\n".join(bindings for _, _, bindings in texts)
