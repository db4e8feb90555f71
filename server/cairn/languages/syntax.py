"""The vocabulary of a language's tables: rules that recognise a definition in a syntax tree and name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from attrs import field, frozen

if TYPE_CHECKING:
    import tree_sitter

Node: TypeAlias = "tree_sitter.Node"
"""A node of a syntax tree. Only a process that parses imports the parser."""
PROTOTYPE = "prototype"
"""The kind of a declared function whose definition is elsewhere."""


class NamedNode(NamedTuple):
    """The name and the kind of a definition, and the node that has its body."""

    name: str
    """The name; "" for some tests. Other definitions without a name are dropped."""
    kind: str
    node: Node
    owner: str = ""
    """The type that the definition belongs to, if the node is outside it: a receiver's, or `Owner::name`."""


Rule = Callable[[Node], NamedNode | None]

COMMENTS = frozenset(
    """
    comment comments line_comment block_comment multiline_comment doc_comment documentation_comment haddock
    html_comment js_comment single_line_comment shebang
    """.split()
)


def _types(types: str | Iterable[str]) -> frozenset[str]:
    return frozenset(types.split() if isinstance(types, str) else types)


def _by_type(rules: Mapping[str, str | Rule]) -> dict[str, Rule]:
    return {
        node_type: named(rule) if isinstance(rule, str) else rule
        for node_types, rule in rules.items()
        for node_type in node_types.split()
    }


@frozen
class Syntax:
    """The node types of definitions in one language. A string may name several, with spaces between."""

    rules: Mapping[str, Rule] = field(factory=dict, converter=_by_type)
    """For node types of definitions, the kind, if the node's field `name` has the name, or else a rule."""
    wrappers: frozenset[str] = field(default="", converter=_types)
    """Node types that only surround definitions: `export`, decorated definitions, declaration lists."""
    sections: frozenset[str] = field(default="", converter=_types)
    """Node types of parts of a file that are wrappers outside functions: `#ifdef`, `if TYPE_CHECKING`."""
    leading: frozenset[str] = field(default="", converter=_types)
    """Node types, besides comments, that belong to the next definition."""
    leading_if: Mapping[str, Callable[[Node], bool]] = field(factory=dict)
    """Node types of which some nodes belong to the next definition, each with the test for such nodes."""
    separator: str = "."
    docstring: Callable[[Node], Node | None] = lambda _: None
    """A function that returns the node inside a definition (or a whole file) that documents it."""
    detached_bodies: frozenset[str] = field(default="", converter=_types)
    """Node types of bodies that follow their head instead of being inside it."""
    clauses: bool = False
    """Whether several definitions of the same name may form one function."""


def find(node: Node | None, *steps: str | int) -> Node | None:
    """Return the node to which `steps` lead from a node; None if a step leads nowhere.

    A number selects that named child. A text selects the field of that name or, without such a field, the
    first child of one of the types in the text.
    """
    for step in steps:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.named_child(step) if step < node.named_child_count else None
        else:
            node = node.child_by_field_name(step) or _first_child(node, _split(step))
    return node


_split = cache(str.split)


def _first_child(node: Node, types: list[str]) -> Node | None:
    for child in node.named_children:
        if child.type in types:
            return child
    return None


def text_of(node: Node | None, *steps: str | int) -> str:
    """Return the text of a node, or of the node to which `steps` lead; "" if there is no node."""
    found = find(node, *steps)
    text = found.text if found is not None else None
    return text.decode("utf-8", "replace") if text else ""


def last_row(node: Node) -> int:
    """Return the last row with text of the node. Some nodes include the line end after them."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def type_of(node: Node | None) -> str:
    return node.type if node is not None else ""


def named(
    kind: str,
    *steps: str | int,
    kinds: Mapping[str, str] | None = None,
    needs: str = "",
    clean: Callable[[str], str] = str,
) -> Rule:
    """Return a rule for a definition whose name is in the field `name`, or where `steps` lead.

    A child of one of the types in `kinds`, such as a keyword, changes the definition's kind. A node without
    the field `needs`, such as a body, does not define the name. `clean` edits the name, or returns "" for a
    name that does not count.
    """
    path, others = steps or ("name",), (kinds or {}).items()

    def rule(node: Node) -> NamedNode | None:
        if needs and find(node, needs) is None:
            return None
        types = {child.type for child in node.children} if others else ()
        shown = next((other for child_type, other in others if child_type in types), kind)
        return NamedNode(clean(text_of(node, *path)), shown, node)

    return rule


def called(name: str, kind: str) -> Rule:
    """Return a rule for a definition that always has the same name, such as a constructor."""
    return lambda node: NamedNode(name, kind, node)


def value(kind: str, *steps: str | int) -> Rule:
    """Return a rule for a value, which is a constant if its name is in capitals, and otherwise of `kind`."""

    def rule(node: Node) -> NamedNode | None:
        name = text_of(node, *steps)
        return NamedNode(name, value_kind(name, kind), node)

    return rule


def value_kind(name: str, otherwise: str = "variable") -> str:
    """Return `constant` for a name in capitals, the convention for constants, or else `otherwise`."""
    return "constant" if name.isupper() else otherwise


_GENERIC_ENDINGS = ("_definition", "_declaration", "_item", "_statement", "_def", "_decl", "_spec")
# The first part that the name of a node type contains decides the kind.
_GENERIC_KINDS = {
    "constructor": "constructor", "method": "method", "function": "function", "procedure": "function",
    "subroutine": "function", "macro": "macro", "interface": "interface", "struct": "struct",
    "record": "struct", "enum": "enum", "trait": "trait", "protocol": "interface", "class": "class",
    "contract": "class", "library": "module", "module": "module", "namespace": "module", "event": "type",
    "type": "type", "const": "constant",
}  # fmt: skip


def generic_rule(node_type: str) -> Rule | None:
    """Return the rule that a node type's name suggests: `function_definition` with a `name` is a function."""
    if not node_type.endswith(_GENERIC_ENDINGS):
        return None
    return next((named(kind) for part, kind in _GENERIC_KINDS.items() if part in node_type), None)
