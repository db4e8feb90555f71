"""What a language's tables are made of: rules that recognise a definition in a syntax tree and name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from attrs import field, frozen
from tree_sitter import Node


@frozen
class NamedNode:
    """A definition: its name, its kind, and the node that its body hangs on."""

    name: str
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


@frozen
class Syntax:
    """How definitions look in one language. Node types may be given as one string with spaces between."""

    names: Mapping[str, str] = field(factory=dict)
    """Kind → node types of definitions of this kind whose name is in their field `name`."""
    rules: Mapping[str, Rule] = field(factory=dict)
    """Node type → what it defines, for those that need more than a look at the field `name`."""
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

    def all_rules(self) -> dict[str, Rule]:
        """Node type → rule, those of `names` included."""
        by_name = {each: named(kind) for kind, types in self.names.items() for each in types.split()}
        return {**by_name, **self.rules}


# --- looking into nodes, each of which may be missing ------------------------------------------------


def text_of(node: Node | None) -> str:
    """The text of a node, "" for none."""
    text = node.text if node is not None else None
    return text.decode("utf-8", "replace") if text else ""


def field_of(node: Node | None, *path: str) -> Node | None:
    """The node in a field, or in a field of a field."""
    for name in path:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def nth_child(node: Node | None, index: int) -> Node | None:
    """The named child at `index`, None if there are fewer."""
    return node.named_child(index) if node is not None and index < node.named_child_count else None


def child_of_type(node: Node | None, *types: str) -> Node | None:
    """The first named child of one of the types."""
    return next(
        (child for child in (node.named_children if node is not None else ()) if child.type in types), None
    )


# --- rules -------------------------------------------------------------------------------------------


def definition(name: str, kind: str, node: Node, owner: str = "") -> NamedNode | None:
    """What a rule returns: nothing is defined by what has no name."""
    return NamedNode(name, kind, node, owner) if name else None


def named(kind: str, *path: str) -> Rule:
    """A definition whose name is in the field `name`, or where the path of fields leads."""
    return lambda node: definition(text_of(field_of(node, *(path or ("name",)))), kind, node)


def named_by(kind: str, *types: str) -> Rule:
    """A definition whose name is its first child of one of the types."""
    return lambda node: definition(text_of(child_of_type(node, *types)), kind, node)


def called(name: str, kind: str) -> Rule:
    """A definition that has one name in every program: a constructor, a destructor."""
    return lambda node: NamedNode(name, kind, node)


def named_with_kind(kinds: Mapping[str, str], default: str) -> Rule:
    """A definition whose kind is said by a keyword among its children: `interface`, `enum`."""

    def rule(node: Node) -> NamedNode | None:
        kind = next((kinds[child.type] for child in node.children if child.type in kinds), default)
        return definition(text_of(field_of(node, "name")), kind, node)

    return rule


def constant_or_variable(name: str) -> str:
    """`constant` for a name in capitals, by convention."""
    return "constant" if name.isupper() else "variable"


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
