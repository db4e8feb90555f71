"""Python, Starlark, Ruby, Lua, shells, Perl, R, Julia, PowerShell and Vim script."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import (
    Found,
    Rule,
    Syntax,
    child_of_type,
    constant_or_variable,
    named,
    named_by,
    nth_child,
    text_of,
)

# --- Python ------------------------------------------------------------------------------------------


def _python_assignment(node: Node) -> Found | None:
    left = node.child_by_field_name("left")
    if left is None or left.type != "identifier":
        return None
    name = text_of(left)
    # `__all__` and its like say something about the module, they are not its own names.
    return None if name.startswith("__") else Found(name, constant_or_variable(name), node)


def _python_type_alias(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("left")).partition("[")[0]
    return Found(name, "type", node) if name else None


def _python_docstring(node: Node) -> Node | None:
    body = node if node.type == "module" else node.child_by_field_name("body")
    # A comment may come first.
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "expression_statement":
            first = nth_child(child, 0)
            return first if first is not None and first.type == "string" else None
        if child.type != "comment":
            return None
    return None


PYTHON = Syntax(
    {
        "function_definition": named("function"),
        "class_definition": named("class"),
        "assignment": _python_assignment,
        "type_alias_statement": _python_type_alias,
    },
    wrappers=frozenset({"decorated_definition", "expression_statement"}),
    sections=frozenset(
        {
            *("if_statement", "else_clause", "elif_clause", "try_statement", "except_clause"),
            *("finally_clause", "with_statement", "block"),
        }
    ),
    leading=frozenset({"decorator"}),
    docstring=_python_docstring,
)


def _starlark_target(node: Node) -> Found | None:
    """`cc_library(name = "foo")`: a build target."""
    arguments = node.child_by_field_name("arguments")
    for argument in arguments.named_children if arguments is not None else ():
        if text_of(argument.child_by_field_name("name")) == "name":
            name = text_of(argument.child_by_field_name("value")).strip("\"'")
            return Found(name, "target", node) if name else None
    return None


STARLARK = Syntax(
    {**PYTHON.rules, "call": _starlark_target},
    wrappers=PYTHON.wrappers,
    sections=PYTHON.sections,
    docstring=_python_docstring,
)


# --- Ruby --------------------------------------------------------------------------------------------

_RUBY_TESTS = frozenset({"describe", "context", "it", "specify", "feature", "scenario", "test", "should"})


def _ruby_type(kind: str) -> Rule:
    def rule(node: Node) -> Found | None:
        scope, _, name = text_of(node.child_by_field_name("name")).rpartition("::")
        return Found(name, kind, node, scope) if name else None

    return rule


def _ruby_constant(node: Node) -> Found | None:
    left = node.child_by_field_name("left")
    if left is None or left.type != "constant":
        return None
    return Found(text_of(left), "constant", node)


def _ruby_call(node: Node) -> Found | None:
    """`define_method(:x)`, `private def x`, and test blocks."""
    method = text_of(node.child_by_field_name("method"))
    arguments = node.child_by_field_name("arguments")
    first = nth_child(arguments, 0) if arguments is not None else None
    if first is None:
        return None
    if first.type == "method":
        return Found(text_of(first.child_by_field_name("name")), "method", first)
    if method == "define_method":
        return Found(text_of(first).lstrip(":").strip("\"'"), "method", node)
    if method in _RUBY_TESTS and node.child_by_field_name("block") is not None:
        return Found(text_of(first).strip("\"'"), "test", node)
    return None


def _ruby_visibility(node: Node) -> bool:
    return node.text in (b"private", b"protected", b"public", b"module_function", b"private_class_method")


RUBY = Syntax(
    {
        "class": _ruby_type("class"),
        "module": _ruby_type("module"),
        "method": named("method"),
        "singleton_method": named("method"),
        "assignment": _ruby_constant,
        "call": _ruby_call,
    },
    wrappers=frozenset({"singleton_class", "body_statement"}),
    leading_if={"identifier": _ruby_visibility},
    separator="::",
)


# --- Lua ---------------------------------------------------------------------------------------------


def _lua_function(node: Node) -> Found | None:
    return _lua_named(node.child_by_field_name("name"), node)


def _lua_named(name: Node | None, node: Node) -> Found | None:
    """`f`, `M.f` or `M:f`."""
    if name is None:
        return None
    if name.type == "identifier":
        return Found(text_of(name), "function", node)
    owner = text_of(name.child_by_field_name("table"))
    last = name.child_by_field_name("field") or name.child_by_field_name("method")
    kind = "method" if name.type == "method_index_expression" else "function"
    return Found(text_of(last), kind, node, owner) if last is not None else None


def _lua_assignment(node: Node) -> Found | None:
    names, values = child_of_type(node, "variable_list"), child_of_type(node, "expression_list")
    name = nth_child(names, 0) if names is not None else None
    value = nth_child(values, 0) if values is not None else None
    if name is None or value is None or text_of(value)[:8].startswith(("require(", "require ", 'require"')):
        return None
    if value.type == "function_definition":
        return _lua_named(name, value)
    return (
        Found(text_of(name), constant_or_variable(text_of(name)), node) if name.type == "identifier" else None
    )


LUA = Syntax(
    {"function_declaration": _lua_function, "assignment_statement": _lua_assignment},
    wrappers=frozenset({"variable_declaration"}),
)


# --- shells ------------------------------------------------------------------------------------------


def _shell_variable(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("name"))
    return Found(name, constant_or_variable(name), node) if name.isidentifier() else None


BASH = Syntax(
    {"function_definition": named("function"), "variable_assignment": _shell_variable},
    wrappers=frozenset({"declaration_command"}),
    sections=frozenset({"if_statement", "list"}),
)

POWERSHELL = Syntax(
    {
        "function_statement": named_by("function", "function_name"),
        "class_statement": named_by("class", "simple_name"),
        "enum_statement": named_by("enum", "simple_name"),
        "class_method_definition": named_by("method", "simple_name"),
    },
    wrappers=frozenset({"statement_list", "script_block", "script_block_body"}),
)


# --- the others ----------------------------------------------------------------------------------------

PERL = Syntax(
    {
        "function_definition": named("function"),
        "subroutine_declaration_statement": named("function"),
        "package_statement": named_by("module", "package_name"),
        "class_statement": named("class"),
        "method_declaration_statement": named("method"),
    },
    separator="::",
)


def _r_assignment(node: Node) -> Found | None:
    left, right = node.child_by_field_name("lhs"), node.child_by_field_name("rhs")
    if left is None or right is None or not any(child.type in ("<-", "<<-", "=") for child in node.children):
        return None
    name = text_of(left).strip("`\"'")
    kind = "function" if right.type == "function_definition" else constant_or_variable(name)
    return Found(name, kind, node) if left.type in ("identifier", "string") else None


R = Syntax({"binary_operator": _r_assignment})


def _julia_head(kind: str) -> Rule:
    """The name is what stands before parameters and type parameters."""

    def rule(node: Node) -> Found | None:
        head = child_of_type(node, "signature", "type_head")
        name = text_of(head).split("(")[0].split("{")[0].split("<:")[0].strip()
        owner, _, name = name.rpartition(".")
        return Found(name, kind, node, owner) if name else None

    return rule


def _julia_assignment(node: Node) -> Found | None:
    left = nth_child(node, 0)
    if left is None:
        return None
    if left.type == "call_expression":
        name = text_of(nth_child(left, 0)).rpartition(".")[2]
        return Found(name, "function", node) if name else None
    name = text_of(left)
    return Found(name, constant_or_variable(name), node) if left.type == "identifier" else None


JULIA = Syntax(
    {
        "module_definition": named("module"),
        "function_definition": _julia_head("function"),
        "macro_definition": _julia_head("macro"),
        "struct_definition": _julia_head("struct"),
        "abstract_definition": _julia_head("type"),
        "primitive_definition": _julia_head("type"),
        "assignment": _julia_assignment,
    },
    wrappers=frozenset({"const_statement", "macrocall_expression", "macro_argument_list"}),
    sections=frozenset({"block"}),
    leading=frozenset({"string_literal"}),
)


def _vim_function(node: Node) -> Found | None:
    declaration = child_of_type(node, "function_declaration")
    name = text_of(declaration.child_by_field_name("name")) if declaration is not None else ""
    return Found(name, "function", node) if name else None


VIM = Syntax({"function_definition": _vim_function})
