"""JavaScript and TypeScript: functions are values, and much is defined by assigning to a property."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import NamedNode, Rule, Syntax, field_of, named_by, nth_child, text_of

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_TEST_CALLS = frozenset({"describe", "context", "suite", "it", "test", "specify"})
_STRINGS = frozenset({"string", "template_string"})


def _value_kind(value: Node | None) -> str:
    """`function` or `class` for a value that is one, "" for data."""
    while value is not None and value.type == "assignment_expression":
        # a = b = function …
        value = field_of(value, "right")
    if value is not None and value.type == "call_expression":
        # A function in a wrapper: memo(() => …), asyncHandler(async () => …). Method calls such as
        # list.map(…) give data.
        callee, first = field_of(value, "function"), nth_child(field_of(value, "arguments"), 0)
        is_wrapper = callee is not None and callee.type == "identifier"
        return "function" if is_wrapper and first is not None and first.type in _FUNCTIONS else ""
    if value is not None and value.type == "class":
        return "class"
    return "function" if value is not None and value.type in _FUNCTIONS else ""


def _variable(node: Node) -> NamedNode | None:
    name, value = field_of(node, "name"), field_of(node, "value")
    if name is None or name.type != "identifier" or text_of(value).startswith(("require(", "await imp")):
        return None
    kind = _value_kind(value)
    if not kind:
        declaration = node.parent.children if node.parent is not None else []
        kind = "constant" if declaration and declaration[0].type == "const" else "variable"
    return NamedNode(text_of(name), kind, node)


def _assignment(node: Node) -> NamedNode | None:
    """`module.exports.x = …`, `app.handle = function …`, `Foo.prototype.bar = …`."""
    left, right = field_of(node, "left"), field_of(node, "right")
    if left is None or right is None:
        return None
    kind = _value_kind(right)
    target = text_of(left)
    if target in ("module.exports", "exports"):
        if right.type == "assignment_expression":
            return _assignment(right)
        return rules.definition(text_of(field_of(right, "name")) if kind else "", kind, node)
    if left.type != "member_expression":
        return None
    name, owner = text_of(field_of(left, "property")), text_of(field_of(left, "object"))
    if owner in ("module.exports", "exports"):
        return NamedNode(name, kind or "variable", node)
    if not kind or "(" in owner or "\n" in owner:
        return None
    parts = [part for part in owner.split(".") if part not in ("prototype", "this")]
    return NamedNode(name, "method" if kind == "function" else kind, node, parts[-1] if parts else "")


def _pair(node: Node) -> NamedNode | None:
    """A function in an object: `{ name: function () {} }`."""
    if not _value_kind(field_of(node, "value")):
        return None
    return rules.definition(text_of(field_of(node, "key")).strip("'\"`"), "method", node)


def _field(name_field: str) -> Rule:
    def rule(node: Node) -> NamedNode | None:
        kind = "method" if _value_kind(field_of(node, "value")) == "function" else "field"
        return rules.definition(text_of(field_of(node, name_field)), kind, node)

    return rule


def _test(node: Node) -> NamedNode | None:
    """`describe("router", () => …)`: a name for headings, not a symbol."""
    callee, first = field_of(node, "function"), nth_child(field_of(node, "arguments"), 0)
    if callee is not None and callee.type == "member_expression":
        callee = field_of(callee, "object")
    if text_of(callee) not in _TEST_CALLS or first is None or first.type not in _STRINGS:
        return None
    return NamedNode(text_of(first)[1:-1], "test", node)


_NAMES = {
    "function": "function_declaration generator_function_declaration",
    "class": "class_declaration",
    "method": "method_definition",
}
_RULES: dict[str, Rule] = {
    "field_definition": _field("property"),
    "variable_declarator": _variable,
    "assignment_expression": _assignment,
    "pair": _pair,
    "call_expression": _test,
}
_WRAPPERS = "export_statement expression_statement lexical_declaration variable_declaration"

JAVASCRIPT = Syntax(_NAMES, _RULES, wrappers=_WRAPPERS, leading="decorator")

TYPESCRIPT = Syntax(
    {
        "function": f"{_NAMES['function']} function_signature",
        "class": f"{_NAMES['class']} abstract_class_declaration",
        "method": f"{_NAMES['method']} method_signature abstract_method_signature",
        "interface": "interface_declaration",
        "type": "type_alias_declaration",
        "enum": "enum_declaration",
        "module": "internal_module",
    },
    {
        **_RULES,
        "public_field_definition": _field("name"),
        "module": named_by("module", "identifier", "nested_identifier", "string"),
    },
    wrappers=f"{_WRAPPERS} ambient_declaration",
    leading="decorator",
)
