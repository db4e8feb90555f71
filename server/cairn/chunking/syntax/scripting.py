"""Python, Starlark, Ruby, Lua, shells, Perl, R, Julia, PowerShell and Vim script."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import (
    NamedNode,
    Rule,
    Syntax,
    child_of_type,
    constant_or_variable,
    field_of,
    named_by,
    nth_child,
    text_of,
)

# --- Python ------------------------------------------------------------------------------------------


def _python_assignment(node: Node) -> NamedNode | None:
    left = field_of(node, "left")
    if left is None or left.type != "identifier":
        return None
    name = text_of(left)
    # `__all__` and its like say something about the module, they are not its own names.
    return None if name.startswith("__") else NamedNode(name, constant_or_variable(name), node)


def _python_type_alias(node: Node) -> NamedNode | None:
    return rules.definition(text_of(field_of(node, "left")).partition("[")[0], "type", node)


def _python_docstring(node: Node) -> Node | None:
    body = node if node.type == "module" else field_of(node, "body")
    # A comment may come first.
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "expression_statement":
            first = nth_child(child, 0)
            return first if first is not None and first.type == "string" else None
        if child.type != "comment":
            return None
    return None


_PYTHON_NAMES = {"function": "function_definition", "class": "class_definition"}
_PYTHON_RULES: dict[str, Rule] = {
    "assignment": _python_assignment,
    "type_alias_statement": _python_type_alias,
}
_PYTHON_SECTIONS = (
    "if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement block"
)

PYTHON = Syntax(
    _PYTHON_NAMES,
    _PYTHON_RULES,
    wrappers="decorated_definition expression_statement",
    sections=_PYTHON_SECTIONS,
    leading="decorator",
    docstring=_python_docstring,
)


def _starlark_target(node: Node) -> NamedNode | None:
    """`cc_library(name = "foo")`: a build target."""
    arguments = field_of(node, "arguments")
    for argument in arguments.named_children if arguments is not None else ():
        if text_of(field_of(argument, "name")) == "name":
            return rules.definition(text_of(field_of(argument, "value")).strip("\"'"), "target", node)
    return None


STARLARK = Syntax(
    _PYTHON_NAMES,
    {**_PYTHON_RULES, "call": _starlark_target},
    wrappers="decorated_definition expression_statement",
    sections=_PYTHON_SECTIONS,
    docstring=_python_docstring,
)


# --- Ruby --------------------------------------------------------------------------------------------

_RUBY_TESTS = frozenset("describe context it specify feature scenario test should".split())


def _ruby_type(kind: str) -> Rule:
    def rule(node: Node) -> NamedNode | None:
        scope, _, name = text_of(field_of(node, "name")).rpartition("::")
        return rules.definition(name, kind, node, scope)

    return rule


def _ruby_constant(node: Node) -> NamedNode | None:
    left = field_of(node, "left")
    return (
        NamedNode(text_of(left), "constant", node) if left is not None and left.type == "constant" else None
    )


def _ruby_call(node: Node) -> NamedNode | None:
    """`define_method(:x)`, `private def x`, and test blocks."""
    method = text_of(field_of(node, "method"))
    first = nth_child(field_of(node, "arguments"), 0)
    if first is None:
        return None
    if first.type == "method":
        return NamedNode(text_of(field_of(first, "name")), "method", first)
    if method == "define_method":
        return NamedNode(text_of(first).lstrip(":").strip("\"'"), "method", node)
    if method in _RUBY_TESTS and field_of(node, "block") is not None:
        return NamedNode(text_of(first).strip("\"'"), "test", node)
    return None


def _ruby_visibility(node: Node) -> bool:
    return node.text in (b"private", b"protected", b"public", b"module_function", b"private_class_method")


RUBY = Syntax(
    {"method": "method singleton_method"},
    {
        "class": _ruby_type("class"),
        "module": _ruby_type("module"),
        "assignment": _ruby_constant,
        "call": _ruby_call,
    },
    wrappers="singleton_class body_statement",
    leading_if={"identifier": _ruby_visibility},
    separator="::",
)


# --- Lua ---------------------------------------------------------------------------------------------


def _lua_function(node: Node) -> NamedNode | None:
    return _lua_named(field_of(node, "name"), node)


def _lua_named(name: Node | None, node: Node) -> NamedNode | None:
    """`f`, `M.f` or `M:f`."""
    if name is None:
        return None
    if name.type == "identifier":
        return NamedNode(text_of(name), "function", node)
    last = field_of(name, "field") or field_of(name, "method")
    kind = "method" if name.type == "method_index_expression" else "function"
    return rules.definition(text_of(last), kind, node, text_of(field_of(name, "table")))


def _lua_assignment(node: Node) -> NamedNode | None:
    name = nth_child(child_of_type(node, "variable_list"), 0)
    value = nth_child(child_of_type(node, "expression_list"), 0)
    if name is None or value is None or text_of(value).startswith(("require(", "require ", 'require"')):
        return None
    if value.type == "function_definition":
        return _lua_named(name, value)
    text = text_of(name)
    return NamedNode(text, constant_or_variable(text), node) if name.type == "identifier" else None


LUA = Syntax(
    rules={"function_declaration": _lua_function, "assignment_statement": _lua_assignment},
    wrappers="variable_declaration",
)


# --- shells ------------------------------------------------------------------------------------------


def _shell_variable(node: Node) -> NamedNode | None:
    name = text_of(field_of(node, "name"))
    return NamedNode(name, constant_or_variable(name), node) if name.isidentifier() else None


BASH = Syntax(
    {"function": "function_definition"},
    {"variable_assignment": _shell_variable},
    wrappers="declaration_command",
    sections="if_statement list",
)

POWERSHELL = Syntax(
    rules={
        "function_statement": named_by("function", "function_name"),
        "class_statement": named_by("class", "simple_name"),
        "enum_statement": named_by("enum", "simple_name"),
        "class_method_definition": named_by("method", "simple_name"),
    },
    wrappers="statement_list script_block script_block_body",
)


# --- the others ----------------------------------------------------------------------------------------

PERL = Syntax(
    {
        "function": "function_definition subroutine_declaration_statement",
        "class": "class_statement",
        "method": "method_declaration_statement",
    },
    {"package_statement": named_by("module", "package_name")},
    separator="::",
)


def _r_assignment(node: Node) -> NamedNode | None:
    left, right = field_of(node, "lhs"), field_of(node, "rhs")
    if left is None or right is None or not any(child.type in ("<-", "<<-", "=") for child in node.children):
        return None
    name = text_of(left).strip("`\"'")
    kind = "function" if right.type == "function_definition" else constant_or_variable(name)
    return NamedNode(name, kind, node) if left.type in ("identifier", "string") else None


R = Syntax(rules={"binary_operator": _r_assignment})


def _julia_head(kind: str) -> Rule:
    """The name is what stands before parameters and type parameters."""

    def rule(node: Node) -> NamedNode | None:
        head = text_of(child_of_type(node, "signature", "type_head"))
        owner, _, name = head.split("(")[0].split("{")[0].split("<:")[0].strip().rpartition(".")
        return rules.definition(name, kind, node, owner)

    return rule


def _julia_assignment(node: Node) -> NamedNode | None:
    left = nth_child(node, 0)
    if left is not None and left.type == "call_expression":
        return rules.definition(text_of(nth_child(left, 0)).rpartition(".")[2], "function", node)
    name = text_of(left)
    is_name = left is not None and left.type == "identifier"
    return NamedNode(name, constant_or_variable(name), node) if is_name else None


JULIA = Syntax(
    {"module": "module_definition"},
    {
        "function_definition": _julia_head("function"),
        "macro_definition": _julia_head("macro"),
        "struct_definition": _julia_head("struct"),
        "abstract_definition": _julia_head("type"),
        "primitive_definition": _julia_head("type"),
        "assignment": _julia_assignment,
    },
    wrappers="const_statement macrocall_expression macro_argument_list",
    sections="block",
    leading="string_literal",
)


def _vim_function(node: Node) -> NamedNode | None:
    name = field_of(child_of_type(node, "function_declaration"), "name")
    return rules.definition(text_of(name), "function", node)


VIM = Syntax(rules={"function_definition": _vim_function})
