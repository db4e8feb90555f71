"""Go, Rust, Zig and Fortran."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Syntax, named, text_of


def _go_method(node: Node) -> NamedNode | None:
    # For `(f *Foo[T])`, the owner is the receiver's type without pointer, name and type parameters.
    receiver = text_of(node, "receiver").strip("()").partition("[")[0].split()
    owner = receiver[-1].lstrip("*") if receiver else ""
    return NamedNode(text_of(node, "name"), "method", node, owner)


GO = Syntax(
    {
        "function_declaration": "function",
        "type_alias": "type",
        "const_spec": "constant",
        "var_spec": "variable",
        "method_elem": "method",
        "method_declaration": _go_method,
        "type_spec": named("type", kinds={"struct_type": "struct", "interface_type": "interface"}),
    },
    wrappers="type_declaration const_declaration var_declaration var_spec_list interface_type struct_type",
)


def _rust_impl(node: Node) -> NamedNode | None:
    implementer = text_of(node, "type")
    name = implementer.partition("<")[0].rpartition("::")[2].strip("&( ")
    return NamedNode(name or implementer, "impl", node)


RUST = Syntax(
    {
        "function_item function_signature_item": "function",
        "struct_item": "struct",
        "union_item": "union",
        "enum_item": "enum",
        "trait_item": "trait",
        "macro_definition": "macro",
        "static_item": "constant",
        "type_item associated_type": "type",
        "impl_item": _rust_impl,
        # `mod x;` refers to another file.
        "mod_item": named("module", needs="body"),
        "const_item": named("constant", clean=lambda name: "" if name == "_" else name),
    },
    sections="foreign_mod_item declaration_list",
    leading="attribute_item",
    separator="::",
)


_ZIG_TYPES = {
    "struct_declaration": "struct", "enum_declaration": "enum", "union_declaration": "union",
    "opaque_declaration": "struct", "error_set_declaration": "enum",
}  # fmt: skip
_zig_value = named("variable", "identifier", kinds={**_ZIG_TYPES, "const": "constant"})


def _zig_variable(node: Node) -> NamedNode | None:
    return None if text_of(node, "builtin_function").startswith("@import") else _zig_value(node)


def _zig_test(node: Node) -> NamedNode | None:
    return NamedNode(text_of(node, "string identifier").strip('"') or "test", "test", node)


ZIG = Syntax(
    {
        "function_declaration": "function",
        "variable_declaration": _zig_variable,
        "test_declaration": _zig_test,
    },
    wrappers=_ZIG_TYPES,
)


# The first line of a program unit is a separate node, which has the name.
FORTRAN = Syntax(
    {
        "module program": named("module", 0, "name"),
        "subroutine function": named("function", 0, "name"),
        "derived_type_definition": named("struct", 0, "name"),
    },
    wrappers="internal_procedures",
)
