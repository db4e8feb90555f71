"""JavaScript and TypeScript, where functions are values and many definitions assign to a property."""

from __future__ import annotations

from functools import partial

from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Rule, Syntax, find, named, text_of, type_of

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_TEST_CALLS = frozenset({"describe", "context", "suite", "it", "test", "specify"})
_STRINGS = frozenset({"string", "template_string"})


def _value_kind(value: Node | None) -> str:
    """Return `function` or `class` if the value is one, "" for data."""
    while type_of(value) == "assignment_expression":
        # Follow `a = b = function …`.
        value = find(value, "right")
    if type_of(value) == "call_expression":
        # A call such as `memo(() => …)` may wrap a function, but a method call, `list.map(…)`, returns data.
        if type_of(find(value, "function")) != "identifier":
            return ""
        value = find(value, "arguments", 0)
    elif type_of(value) == "class":
        return "class"
    return "function" if type_of(value) in _FUNCTIONS else ""


def _variable(node: Node) -> NamedNode | None:
    name, value = find(node, "name"), find(node, "value")
    if type_of(name) != "identifier" or text_of(value).startswith(("require(", "await imp")):
        return None
    kind = _value_kind(value)
    if not kind:
        declaration = node.parent.children if node.parent is not None else []
        kind = "constant" if declaration and declaration[0].type == "const" else "variable"
    return NamedNode(text_of(name), kind, node)


def _assignment(node: Node) -> NamedNode | None:
    """Name `module.exports.x = …`, `app.handle = function …`, `Foo.prototype.bar = …`."""
    left, right = find(node, "left"), find(node, "right")
    if left is None or right is None:
        return None
    kind = _value_kind(right)
    if text_of(left) in ("module.exports", "exports"):
        if right.type == "assignment_expression":
            return _assignment(right)
        return NamedNode(text_of(right, "name"), kind, node) if kind else None
    if left.type != "member_expression":
        return None
    name, owner = text_of(left, "property"), text_of(left, "object")
    if owner in ("module.exports", "exports"):
        return NamedNode(name, kind or "variable", node)
    if not kind or "(" in owner or "\n" in owner:
        return None
    parts = [part for part in owner.split(".") if part not in ("prototype", "this")]
    return NamedNode(name, "method" if kind == "function" else kind, node, parts[-1] if parts else "")


def _pair(node: Node) -> NamedNode | None:
    """Name a function in an object: `{ name: function () {} }`."""
    if not _value_kind(find(node, "value")):
        return None
    return NamedNode(text_of(node, "key").strip("'\"`"), "method", node)


def _field(name_field: str, node: Node) -> NamedNode | None:
    kind = "method" if _value_kind(find(node, "value")) == "function" else "field"
    return NamedNode(text_of(node, name_field), kind, node)


def _test(node: Node) -> NamedNode | None:
    """Name a test such as `describe("router", () => …)`. The name is for headings, and is not a symbol."""
    callee, first = find(node, "function"), find(node, "arguments", 0)
    if type_of(callee) == "member_expression":
        callee = find(callee, "object")
    is_test = type_of(callee) == "identifier" and text_of(callee) in _TEST_CALLS
    return NamedNode(text_of(first)[1:-1], "test", node) if is_test and type_of(first) in _STRINGS else None


_RULES: dict[str, str | Rule] = {
    "function_declaration generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "field_definition": partial(_field, "property"),
    "variable_declarator": _variable,
    "assignment_expression": _assignment,
    "pair": _pair,
    "call_expression": _test,
}
_WRAPPERS = "export_statement expression_statement lexical_declaration variable_declaration"

JAVASCRIPT = Syntax(_RULES, wrappers=_WRAPPERS, leading="decorator")

TYPESCRIPT = Syntax(
    {
        **_RULES,
        "function_signature": "function",
        "abstract_class_declaration": "class",
        "method_signature abstract_method_signature": "method",
        "interface_declaration": "interface",
        "type_alias_declaration": "type",
        "enum_declaration": "enum",
        "internal_module": "module",
        "public_field_definition": partial(_field, "name"),
        "module": named("module", "identifier nested_identifier string"),
    },
    wrappers=f"{_WRAPPERS} ambient_declaration",
    leading="decorator",
)
