"""Python, Starlark, Ruby, Lua, shells, Perl, R, Julia, PowerShell and Vim script."""

from __future__ import annotations

from functools import partial

from attrs import evolve
from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Rule, Syntax, find, named, text_of, type_of, value_kind


def _python_assignment(node: Node) -> NamedNode | None:
    name = text_of(node, "left")
    # Names such as `__all__` only describe the module.
    if type_of(find(node, "left")) != "identifier" or name.startswith("__"):
        return None
    return NamedNode(name, value_kind(name), node)


def _python_docstring(node: Node) -> Node | None:
    body = node if node.type == "module" else find(node, "body")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "expression_statement":
            first = find(child, 0)
            return first if type_of(first) == "string" else None
        if child.type != "comment":
            return None
    return None


_PYTHON_RULES: dict[str, str | Rule] = {
    "function_definition": "function",
    "class_definition": "class",
    "assignment": _python_assignment,
    "type_alias_statement": named("type", "left", clean=lambda name: name.partition("[")[0]),
}
PYTHON = Syntax(
    _PYTHON_RULES,
    wrappers="decorated_definition expression_statement",
    sections=(
        "if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement block"
    ),
    leading="decorator",
    docstring=_python_docstring,
)


def _starlark_target(node: Node) -> NamedNode | None:
    """Recognise a build target such as `cc_library(name = "foo")`."""
    arguments = find(node, "arguments")
    for argument in arguments.named_children if arguments is not None else ():
        if text_of(argument, "name") == "name":
            return NamedNode(text_of(argument, "value").strip("\"'"), "target", node)
    return None


STARLARK = evolve(PYTHON, rules={**_PYTHON_RULES, "call": _starlark_target}, leading="")


_RUBY_TESTS = frozenset("describe context it specify feature scenario test should".split())


def _ruby_type(kind: str, node: Node) -> NamedNode | None:
    scope, _, name = text_of(node, "name").rpartition("::")
    return NamedNode(name, kind, node, scope)


def _ruby_constant(node: Node) -> NamedNode | None:
    left = find(node, "left")
    return NamedNode(text_of(left), "constant", node) if type_of(left) == "constant" else None


def _ruby_call(node: Node) -> NamedNode | None:
    """Recognise `define_method(:x)`, `private def x`, and test blocks."""
    method, first = text_of(node, "method"), find(node, "arguments", 0)
    if first is None:
        return None
    if first.type == "method":
        return NamedNode(text_of(first, "name"), "method", first)
    if method == "define_method":
        return NamedNode(text_of(first).lstrip(":").strip("\"'"), "method", node)
    if method in _RUBY_TESTS and find(node, "block") is not None:
        return NamedNode(text_of(first).strip("\"'"), "test", node)
    return None


_RUBY_VISIBILITIES = frozenset("private protected public module_function private_class_method".split())

RUBY = Syntax(
    {
        "method singleton_method": "method",
        "class": partial(_ruby_type, "class"),
        "module": partial(_ruby_type, "module"),
        "assignment": _ruby_constant,
        "call": _ruby_call,
    },
    wrappers="singleton_class body_statement",
    leading_if={"identifier": lambda node: text_of(node) in _RUBY_VISIBILITIES},
    separator="::",
)


def _lua_function(node: Node, assigned_to: Node | None = None) -> NamedNode | None:
    """Recognise a function that is named `f`, `M.f` or `M:f`."""
    name = assigned_to or find(node, "name")
    if type_of(name) == "identifier":
        return NamedNode(text_of(name), "function", node)
    kind = "method" if type_of(name) == "method_index_expression" else "function"
    last = text_of(name, "field") or text_of(name, "method")
    return NamedNode(last, kind, node, text_of(name, "table"))


def _lua_assignment(node: Node) -> NamedNode | None:
    name, value = find(node, "variable_list", 0), find(node, "expression_list", 0)
    if value is None or text_of(value).startswith(("require(", "require ", 'require"')):
        return None
    if value.type == "function_definition":
        return _lua_function(value, name)
    text = text_of(name)
    return NamedNode(text, value_kind(text), node) if type_of(name) == "identifier" else None


LUA = Syntax(
    {"function_declaration": _lua_function, "assignment_statement": _lua_assignment},
    wrappers="variable_declaration",
)


def _shell_variable(node: Node) -> NamedNode | None:
    name = text_of(node, "name")
    return NamedNode(name, value_kind(name), node) if name.isidentifier() else None


BASH = Syntax(
    {"function_definition": "function", "variable_assignment": _shell_variable},
    wrappers="declaration_command",
    sections="if_statement list",
)

POWERSHELL = Syntax(
    {
        "function_statement": named("function", "function_name"),
        "class_statement": named("class", "simple_name"),
        "enum_statement": named("enum", "simple_name"),
        "class_method_definition": named("method", "simple_name"),
    },
    wrappers="statement_list script_block script_block_body",
)


PERL = Syntax(
    {
        "function_definition subroutine_declaration_statement": "function",
        "class_statement": "class",
        "method_declaration_statement": "method",
        "package_statement": named("module", "package_name"),
    },
    separator="::",
)


def _r_assignment(node: Node) -> NamedNode | None:
    left, right = find(node, "lhs"), find(node, "rhs")
    if right is None or not any(child.type in ("<-", "<<-", "=") for child in node.children):
        return None
    name = text_of(left).strip("`\"'")
    kind = "function" if right.type == "function_definition" else value_kind(name)
    return NamedNode(name, kind, node) if type_of(left) in ("identifier", "string") else None


R = Syntax({"binary_operator": _r_assignment})


def _julia_head(kind: str, node: Node) -> NamedNode | None:
    """Name a definition by the text before its parameters and type parameters."""
    head = text_of(node, "signature type_head")
    owner, _, name = head.split("(")[0].split("{")[0].split("<:")[0].strip().rpartition(".")
    return NamedNode(name, kind, node, owner)


def _julia_assignment(node: Node) -> NamedNode | None:
    left = find(node, 0)
    if type_of(left) == "call_expression":
        return NamedNode(text_of(left, 0).rpartition(".")[2], "function", node)
    name = text_of(left)
    return NamedNode(name, value_kind(name), node) if type_of(left) == "identifier" else None


JULIA = Syntax(
    {
        "module_definition": "module",
        "function_definition": partial(_julia_head, "function"),
        "macro_definition": partial(_julia_head, "macro"),
        "struct_definition": partial(_julia_head, "struct"),
        "abstract_definition primitive_definition": partial(_julia_head, "type"),
        "assignment": _julia_assignment,
    },
    wrappers="const_statement macrocall_expression macro_argument_list",
    sections="block",
    leading="string_literal",
)

VIM = Syntax({"function_definition": named("function", "function_declaration", "name")})
