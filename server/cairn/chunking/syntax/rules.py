"""What a language's tables are made of: rules that recognise a definition in a syntax tree and name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from attrs import field, frozen
from tree_sitter import Node

PROTOTYPE = "prototype"
"""The kind of a function that is announced; its definition is elsewhere."""


@frozen
class NamedNode:
    """A definition: its name, its kind, and the node that its body hangs on."""

    name: str
    """Only a test is found without one: what a rule returns with "" for a name otherwise is dropped."""
    kind: str
    node: Node
    owner: str = ""
    """The type that it belongs to where the tree does not say so: a receiver, `Owner::name`, `owner.name`."""


Rule = Callable[[Node], NamedNode | None]

COMMENTS = frozenset(
    """
    comment comments line_comment block_comment multiline_comment doc_comment documentation_comment haddock
    html_comment js_comment shebang
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
    """How definitions look in one language. Several node types are given as one string with spaces between."""

    rules: Mapping[str, Rule] = field(factory=dict, converter=_by_type)
    """Node types → what they define: a kind, for those whose name is in their field `name`, or a rule."""
    wrappers: frozenset[str] = field(default="", converter=_types)
    """Node types that stand around definitions and add nothing to them: `export`, decorated, declaration lists."""
    sections: frozenset[str] = field(default="", converter=_types)
    """Wrappers outside functions only, where they stand around whole parts of a file: `#ifdef`, `if TYPE_CHECKING`."""
    leading: frozenset[str] = field(default="", converter=_types)
    """Node types that belong to the definition after them, besides comments."""
    leading_if: Mapping[str, Callable[[Node], bool]] = field(factory=dict)
    """Node types of which some belong to the definition after them."""
    separator: str = "."
    """Stands between the names of a qualified name."""
    docstring: Callable[[Node], Node | None] = lambda _: None
    """The node that documents a definition (or a whole file) from inside it."""
    detached_bodies: frozenset[str] = field(default="", converter=_types)
    """Node types of bodies that stand beside the head they belong to, not inside it."""
    clauses: bool = False
    """Whether one function may be written as several definitions of the same name."""


# --- looking into nodes, each of which may be missing ------------------------------------------------


def find(node: Node | None, *steps: str | int) -> Node | None:
    """The node that `steps` lead to, None where one leads nowhere.

    Each step goes to the named child of that number, to the field of that name or, without such a field, to the first
    child of one of the types in the step.
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
    """The text of a node, or of the one that `steps` lead to; "" for none."""
    found = find(node, *steps)
    text = found.text if found is not None else None
    return text.decode("utf-8", "replace") if text else ""


def type_of(node: Node | None) -> str:
    """The type of a node, "" for none."""
    return node.type if node is not None else ""


# --- rules -------------------------------------------------------------------------------------------


def named(kind: str, *steps: str | int, kinds: Mapping[str, str] | None = None, needs: str = "") -> Rule:
    """A definition whose name is in the field `name`, or where `steps` lead.

    It is of another kind than `kind` if it has a child of one of the types in `kinds`: a keyword, a shape. Without a
    field `needs`, a body or a value, it is only mentioned and not defined.
    """
    path, others = steps or ("name",), (kinds or {}).items()

    def rule(node: Node) -> NamedNode | None:
        if needs and find(node, needs) is None:
            return None
        types = {child.type for child in node.children} if others else ()
        shown = next((other for child_type, other in others if child_type in types), kind)
        return NamedNode(text_of(node, *path), shown, node)

    return rule


def called(name: str, kind: str) -> Rule:
    """A definition that has one name in every program: a constructor, a destructor."""
    return lambda node: NamedNode(name, kind, node)


def value(kind: str, *steps: str | int) -> Rule:
    """A definition of a value: a constant if its name is in capitals, of `kind` otherwise."""

    def rule(node: Node) -> NamedNode | None:
        name = text_of(node, *steps)
        return NamedNode(name, value_kind(name, kind), node)

    return rule


def value_kind(name: str, otherwise: str = "variable") -> str:
    """`constant` for a name in capitals, by convention."""
    return "constant" if name.isupper() else otherwise


# --- languages without tables -----------------------------------------------------------------------

_GENERIC_ENDINGS = ("_definition", "_declaration", "_item", "_statement", "_def", "_decl", "_spec")
# The first part that a node type's name holds says the kind.
_GENERIC_KINDS = {
    "constructor": "constructor", "method": "method", "function": "function", "procedure": "function",
    "subroutine": "function", "macro": "macro", "interface": "interface", "struct": "struct", "record": "struct",
    "enum": "enum", "trait": "trait", "protocol": "interface", "class": "class", "contract": "class",
    "library": "module", "module": "module", "namespace": "module", "event": "type", "type": "type",
    "const": "constant",
}  # fmt: skip


def generic_rule(node_type: str) -> Rule | None:
    """The rule that a node type's name suggests: `function_definition` with a `name` is a function."""
    if not node_type.endswith(_GENERIC_ENDINGS):
        return None
    return next((named(kind) for part, kind in _GENERIC_KINDS.items() if part in node_type), None)
