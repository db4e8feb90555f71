"""Go, Rust, Zig and Fortran."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import NamedNode, Rule, Syntax, child_of_type, field_of, named, text_of

# --- Go ----------------------------------------------------------------------------------------------

_GO_TYPES = {"struct_type": "struct", "interface_type": "interface"}


def _go_type(node: Node) -> NamedNode | None:
    shape = field_of(node, "type")
    kind = _GO_TYPES.get(shape.type, "type") if shape is not None else "type"
    return rules.definition(text_of(field_of(node, "name")), kind, node)


def _go_method(node: Node) -> NamedNode | None:
    # `(f *Foo[T])`: the receiver's type without pointer, name and type parameters.
    receiver = text_of(field_of(node, "receiver")).strip("()").partition("[")[0].split()
    owner = receiver[-1].lstrip("*") if receiver else ""
    return rules.definition(text_of(field_of(node, "name")), "method", node, owner)


GO = Syntax(
    {
        "function": "function_declaration",
        "type": "type_alias",
        "constant": "const_spec",
        "variable": "var_spec",
        "method": "method_elem",
    },
    {"method_declaration": _go_method, "type_spec": _go_type},
    wrappers="type_declaration const_declaration var_declaration var_spec_list interface_type struct_type",
)


# --- Rust --------------------------------------------------------------------------------------------


def _rust_impl(node: Node) -> NamedNode | None:
    implementer = text_of(field_of(node, "type"))
    name = re.sub(r"<.*", "", implementer, flags=re.DOTALL).rpartition("::")[2].strip("&( ")
    return rules.definition(name or implementer, "impl", node)


def _rust_module(node: Node) -> NamedNode | None:
    # `mod x;` points to another file.
    return named("module")(node) if field_of(node, "body") is not None else None


def _rust_constant(node: Node) -> NamedNode | None:
    found = named("constant")(node)
    return found if found is not None and found.name != "_" else None


RUST = Syntax(
    {
        "function": "function_item function_signature_item",
        "struct": "struct_item",
        "union": "union_item",
        "enum": "enum_item",
        "trait": "trait_item",
        "macro": "macro_definition",
        "constant": "static_item",
        "type": "type_item associated_type",
    },
    {"impl_item": _rust_impl, "mod_item": _rust_module, "const_item": _rust_constant},
    sections="foreign_mod_item declaration_list",
    leading="attribute_item",
    separator="::",
)


# --- Zig ---------------------------------------------------------------------------------------------

_ZIG_TYPES = {
    "struct_declaration": "struct", "enum_declaration": "enum", "union_declaration": "union",
    "opaque_declaration": "struct", "error_set_declaration": "enum",
}  # fmt: skip


def _zig_variable(node: Node) -> NamedNode | None:
    name, shape = text_of(child_of_type(node, "identifier")), child_of_type(node, *_ZIG_TYPES)
    if shape is not None:
        return rules.definition(name, _ZIG_TYPES[shape.type], node)
    if text_of(child_of_type(node, "builtin_function")).startswith("@import"):
        return None
    constant = any(child.type == "const" for child in node.children)
    return rules.definition(name, "constant" if constant else "variable", node)


def _zig_test(node: Node) -> NamedNode | None:
    return NamedNode(text_of(child_of_type(node, "string", "identifier")).strip('"') or "test", "test", node)


ZIG = Syntax(
    {"function": "function_declaration"},
    {"variable_declaration": _zig_variable, "test_declaration": _zig_test},
    wrappers=_ZIG_TYPES,
)


# --- Fortran -----------------------------------------------------------------------------------------


def _fortran_unit(kind: str) -> Rule:
    """A program unit; its first line is a node of its own, which has the name."""

    def rule(node: Node) -> NamedNode | None:
        statement = rules.nth_child(node, 0)
        name = field_of(statement, "name") or child_of_type(statement, "name")
        return rules.definition(text_of(name), kind, node)

    return rule


FORTRAN = Syntax(
    rules={
        "module": _fortran_unit("module"),
        "program": _fortran_unit("module"),
        "subroutine": _fortran_unit("function"),
        "function": _fortran_unit("function"),
        "derived_type_definition": _fortran_unit("struct"),
    },
    wrappers="internal_procedures",
)
