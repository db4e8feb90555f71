"""Go, Rust, Zig and Fortran."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax.rules import Found, Rule, Syntax, called, child_of_type, named, nth_child, text_of

# --- Go ----------------------------------------------------------------------------------------------

_GO_TYPES = {"struct_type": "struct", "interface_type": "interface"}


def _go_type(node: Node) -> Found | None:
    name, shape = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return None
    return Found(text_of(name), _GO_TYPES.get(shape.type, "type") if shape is not None else "type", node)


def _go_method(node: Node) -> Found | None:
    # `(f *Foo[T])`: the receiver's type without pointer, name and type parameters.
    receiver = text_of(node.child_by_field_name("receiver")).strip("()").partition("[")[0]
    name = text_of(node.child_by_field_name("name"))
    owner = receiver.split()[-1].lstrip("*") if receiver.split() else ""
    return Found(name, "method", node, owner) if name else None


GO = Syntax(
    {
        "function_declaration": named("function"),
        "method_declaration": _go_method,
        "type_spec": _go_type,
        "type_alias": named("type"),
        "const_spec": named("constant"),
        "var_spec": named("variable"),
        "method_elem": named("method"),
    },
    wrappers=frozenset(
        {
            *("type_declaration", "const_declaration", "var_declaration", "var_spec_list"),
            *("interface_type", "struct_type"),
        }
    ),
)


# --- Rust --------------------------------------------------------------------------------------------


def _rust_impl(node: Node) -> Found | None:
    implementer = text_of(node.child_by_field_name("type"))
    name = re.sub(r"<.*", "", implementer, flags=re.DOTALL).rpartition("::")[2].strip("&( ")
    return Found(name or implementer, "impl", node) if implementer else None


def _rust_module(node: Node) -> Found | None:
    # `mod x;` points to another file.
    return named("module")(node) if node.child_by_field_name("body") is not None else None


def _rust_constant(node: Node) -> Found | None:
    found = named("constant")(node)
    return found if found is not None and found.name != "_" else None


RUST = Syntax(
    {
        "function_item": named("function"),
        "function_signature_item": named("function"),
        "struct_item": named("struct"),
        "union_item": named("union"),
        "enum_item": named("enum"),
        "trait_item": named("trait"),
        "impl_item": _rust_impl,
        "mod_item": _rust_module,
        "macro_definition": named("macro"),
        "const_item": _rust_constant,
        "static_item": named("constant"),
        "type_item": named("type"),
        "associated_type": named("type"),
    },
    sections=frozenset({"foreign_mod_item", "declaration_list"}),
    leading=frozenset({"attribute_item"}),
    separator="::",
)


# --- Zig ---------------------------------------------------------------------------------------------

_ZIG_TYPES = {
    "struct_declaration": "struct",
    "enum_declaration": "enum",
    "union_declaration": "union",
    "opaque_declaration": "struct",
    "error_set_declaration": "enum",
}


def _zig_variable(node: Node) -> Found | None:
    name = child_of_type(node, "identifier")
    if name is None:
        return None
    shape = child_of_type(node, *_ZIG_TYPES)
    if shape is not None:
        return Found(text_of(name), _ZIG_TYPES[shape.type], node)
    if text_of(child_of_type(node, "builtin_function")).startswith("@import"):
        return None
    constant = any(child.type == "const" for child in node.children)
    return Found(text_of(name), "constant" if constant else "variable", node)


def _zig_test(node: Node) -> Found | None:
    name = text_of(child_of_type(node, "string", "identifier")).strip('"')
    return Found(name, "test", node) if name else called("test", "test")(node)


ZIG = Syntax(
    {
        "function_declaration": named("function"),
        "variable_declaration": _zig_variable,
        "test_declaration": _zig_test,
    },
    wrappers=frozenset(_ZIG_TYPES),
)


# --- Fortran -----------------------------------------------------------------------------------------


def _fortran_unit(kind: str) -> Rule:
    """A program unit; its first line is a node of its own, which has the name."""

    def rule(node: Node) -> Found | None:
        statement = nth_child(node, 0)
        name = (
            text_of(statement.child_by_field_name("name") or child_of_type(statement, "name"))
            if statement
            else ""
        )
        return Found(name, kind, node) if name else None

    return rule


FORTRAN = Syntax(
    {
        "module": _fortran_unit("module"),
        "program": _fortran_unit("module"),
        "subroutine": _fortran_unit("function"),
        "function": _fortran_unit("function"),
        "derived_type_definition": _fortran_unit("struct"),
    },
    wrappers=frozenset({"internal_procedures"}),
)
