"""JavaScript and TypeScript: functions are values, and much is defined by assigning to a property."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import Found, Rule, Syntax, named, named_by, nth_child, text_of

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_TEST_CALLS = frozenset({"describe", "context", "suite", "it", "test", "specify"})
_STRINGS = frozenset({"string", "template_string"})


def _value_kind(value: Node | None) -> str:
    """`function` or `class` for a value that is one, "" for data."""
    while value is not None and value.type == "assignment_expression":
        # a = b = function …
        value = value.child_by_field_name("right")
    if value is None:
        return ""
    if value.type in _FUNCTIONS:
        return "function"
    if value.type == "class":
        return "class"
    if value.type == "call_expression":
        # A function in a wrapper: memo(() => …), asyncHandler(async () => …). Method calls such as
        # list.map(…) give data.
        callee, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
        if callee is not None and arguments is not None and callee.type == "identifier":
            first = nth_child(arguments, 0)
            if first is not None and first.type in _FUNCTIONS:
                return "function"
    return ""


def _variable(node: Node) -> Found | None:
    name = node.child_by_field_name("name")
    if name is None or name.type != "identifier":
        return None
    value = node.child_by_field_name("value")
    if value is not None and text_of(value)[:9].startswith(("require(", "await imp")):
        return None
    kind = _value_kind(value)
    if not kind:
        declaration = node.parent.children if node.parent is not None else []
        kind = "constant" if declaration and declaration[0].type == "const" else "variable"
    return Found(text_of(name), kind, node)


def _assignment(node: Node) -> Found | None:
    """`module.exports.x = …`, `app.handle = function …`, `Foo.prototype.bar = …`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return None
    kind = _value_kind(right)
    target = text_of(left)
    if target in ("module.exports", "exports"):
        if right.type == "assignment_expression":
            return _assignment(right)
        name = text_of(right.child_by_field_name("name")) if kind else ""
        return Found(name, kind, node) if name else None
    if left.type != "member_expression":
        return None
    name = text_of(left.child_by_field_name("property"))
    owner = text_of(left.child_by_field_name("object"))
    if owner in ("module.exports", "exports"):
        return Found(name, kind or "variable", node)
    if not kind or "(" in owner or "\n" in owner:
        return None
    parts = [part for part in owner.split(".") if part not in ("prototype", "this")]
    return Found(name, "method" if kind == "function" else kind, node, parts[-1] if parts else "")


def _pair(node: Node) -> Found | None:
    """A function in an object: `{ name: function () {} }`."""
    if not _value_kind(node.child_by_field_name("value")):
        return None
    name = text_of(node.child_by_field_name("key")).strip("'\"`")
    return Found(name, "method", node) if name else None


def _field(name_field: str) -> Rule:
    def rule(node: Node) -> Found | None:
        name = text_of(node.child_by_field_name(name_field))
        is_function = _value_kind(node.child_by_field_name("value")) == "function"
        return Found(name, "method" if is_function else "field", node) if name else None

    return rule


def _test(node: Node) -> Found | None:
    """`describe("router", () => …)`: a name for headings, not a symbol."""
    callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if callee is None or arguments is None:
        return None
    if callee.type == "member_expression":
        callee = callee.child_by_field_name("object")
    if text_of(callee) not in _TEST_CALLS:
        return None
    first = nth_child(arguments, 0)
    if first is None or first.type not in _STRINGS:
        return None
    return Found(text_of(first)[1:-1], "test", node)


_JAVASCRIPT_RULES: dict[str, Rule] = {
    "function_declaration": named("function"),
    "generator_function_declaration": named("function"),
    "class_declaration": named("class"),
    "method_definition": named("method"),
    "field_definition": _field("property"),
    "variable_declarator": _variable,
    "assignment_expression": _assignment,
    "pair": _pair,
    "call_expression": _test,
}
_WRAPPERS = frozenset(
    {"export_statement", "expression_statement", "lexical_declaration", "variable_declaration"}
)

JAVASCRIPT = Syntax(_JAVASCRIPT_RULES, wrappers=_WRAPPERS, leading=frozenset({"decorator"}))

TYPESCRIPT = Syntax(
    {
        **_JAVASCRIPT_RULES,
        "abstract_class_declaration": named("class"),
        "public_field_definition": _field("name"),
        "interface_declaration": named("interface"),
        "type_alias_declaration": named("type"),
        "enum_declaration": named("enum"),
        "internal_module": named("module"),
        "module": named_by("module", "identifier", "nested_identifier", "string"),
        "function_signature": named("function"),
        "method_signature": named("method"),
        "abstract_method_signature": named("method"),
    },
    wrappers=_WRAPPERS | {"ambient_declaration"},
    leading=frozenset({"decorator"}),
)
