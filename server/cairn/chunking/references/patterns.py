"""The tree-sitter queries that find names in a syntax tree.

Queries run in C; visiting each node from Python would take ten times as long. Each language has its own, in
which patterns that bind a name follow the line `; Bindings`. A query captures a name's node as

- `@call`, `@inherit`, `@decorate`, `@announce`, `@write` or `@read`, by its purpose, and the receiver before
  the name's dot as `@on`;
- `@bind` if the innermost definition binds it, `@field` if the innermost type does, together with its written
  type (`@type`), its value (`@value`), the collection that its value is an element of (`@item`), or the type
  of its elements (`@item_type`);
- `@skip` if it has no meaning elsewhere, `@default` if it is the module's only export.

A query also captures code without a syntax tree (`@text`), functions without a name (`@closure`), a
function's written return type (`@returns`), the value that it returns at its end (`@result`), and whole
imports (`@import`). Where patterns overlap, the most specific purpose wins.
"""

from __future__ import annotations

from functools import cache

from attrs import frozen
from tree_sitter import Language, Node, Query, QueryCursor

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

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Return the nodes of each capture that does not bind a name, in no order."""
        return _cursor(self.names).captures(root)

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
    return Patterns(Query(grammar, f"[{definitions}] @definition\n{names}"), Query(grammar, bindings))
