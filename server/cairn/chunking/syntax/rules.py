"""What a language's tables are made of: rules that recognise a definition in a syntax tree and name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen
from tree_sitter import Node


@frozen
class Found:
    """A definition: its name, its kind, and the node that its body hangs on."""

    name: str
    kind: str
    node: Node
    owner: str = ""
    """The type that it belongs to where the tree does not say so: a receiver, `Owner::name`, `owner.name`."""


Rule = Callable[[Node], Found | None]
Test = Callable[[Node], bool]


COMMENTS = frozenset(
    {
        *("comment", "comments", "line_comment", "block_comment", "multiline_comment", "doc_comment"),
        *("documentation_comment", "haddock", "html_comment", "js_comment", "shebang"),
    }
)


def no_docstring(node: Node) -> None:
    """For languages that document definitions from outside only."""


@frozen
class Syntax:
    """How definitions look in one language."""

    rules: Mapping[str, Rule] = field(factory=dict)
    """Node type → what it defines."""
    wrappers: frozenset[str] = frozenset()
    """Node types that stand around definitions and add nothing to them: `export`, decorated, declaration lists."""
    sections: frozenset[str] = frozenset()
    """Wrappers outside functions only, where they stand around whole parts of a file: `#ifdef`, `if TYPE_CHECKING`."""
    leading: frozenset[str] = frozenset()
    """Node types that belong to the definition after them, besides comments."""
    leading_if: Mapping[str, Test] = field(factory=dict)
    """Node types of which some belong to the definition after them."""
    separator: str = "."
    """Stands between the names of a qualified name."""
    docstring: Callable[[Node], Node | None] = no_docstring
    """The node that documents a definition (or a whole file) from inside it."""
    detached_bodies: frozenset[str] = frozenset()
    """Node types of bodies that stand beside the head they belong to, not inside it."""
    clauses: bool = False
    """Whether one function may be written as several definitions of the same name."""


def text_of(node: Node | None) -> str:
    """The text of a node, "" for none."""
    text = node.text if node is not None else None
    return text.decode("utf-8", "replace") if text else ""


def nth_child(node: Node, index: int) -> Node | None:
    """The named child at `index`, None if there are fewer."""
    return node.named_child(index) if index < node.named_child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """The first named child of one of the types."""
    return next((child for child in node.named_children if child.type in types), None)


def named(kind: str, name: str = "name") -> Rule:
    """A definition whose name is in a field."""

    def rule(node: Node) -> Found | None:
        text = text_of(node.child_by_field_name(name))
        return Found(text, kind, node) if text else None

    return rule


def named_by(kind: str, *types: str) -> Rule:
    """A definition whose name is its first child of one of the types."""

    def rule(node: Node) -> Found | None:
        text = text_of(child_of_type(node, *types))
        return Found(text, kind, node) if text else None

    return rule


def called(name: str, kind: str) -> Rule:
    """A definition that has one name in every program: a constructor, a destructor."""
    return lambda node: Found(name, kind, node)


def named_with_kind(kinds: Mapping[str, str], default: str, name: str = "name") -> Rule:
    """A definition whose kind is said by a keyword among its children: `interface`, `enum`."""

    def rule(node: Node) -> Found | None:
        text = text_of(node.child_by_field_name(name))
        if not text:
            return None
        kind = next((kinds[child.type] for child in node.children if child.type in kinds), default)
        return Found(text, kind, node)

    return rule


def constant_or_variable(name: str) -> str:
    """`constant` for a name in capitals, by convention."""
    return "constant" if name.isupper() else "variable"


# --- languages without tables -----------------------------------------------------------------------

_GENERIC_ENDINGS = ("_definition", "_declaration", "_item", "_statement", "_def", "_decl", "_spec")
_GENERIC_KINDS: Sequence[tuple[str, str]] = (
    ("constructor", "constructor"),
    ("method", "method"),
    ("function", "function"),
    ("procedure", "function"),
    ("subroutine", "function"),
    ("macro", "macro"),
    ("interface", "interface"),
    ("struct", "struct"),
    ("record", "struct"),
    ("enum", "enum"),
    ("trait", "trait"),
    ("protocol", "interface"),
    ("class", "class"),
    ("contract", "class"),
    ("library", "module"),
    ("module", "module"),
    ("namespace", "module"),
    ("event", "type"),
    ("type", "type"),
    ("const", "constant"),
)


def generic_rule(node_type: str) -> Rule | None:
    """The rule that a node type's name suggests: `function_definition` with a `name` is a function."""
    if not node_type.endswith(_GENERIC_ENDINGS):
        return None
    for part, kind in _GENERIC_KINDS:
        if part in node_type:
            return named(kind)
    return None
