"""Fortran, Julia and R."""

from __future__ import annotations

from functools import partial

from cairn.languages.imports import FILES, Imports, pattern
from cairn.languages.language import Language
from cairn.languages.syntax import NamedNode, Node, Syntax, find, named, text_of, type_of, value_kind

# The first line of a program unit is a separate node, which has the name.
_FORTRAN = Syntax(
    {
        "module program": named("module", 0, "name"),
        "subroutine function": named("function", 0, "name"),
        "derived_type_definition": named("struct", 0, "name"),
    },
    wrappers="internal_procedures",
)


def _r_assignment(node: Node) -> NamedNode | None:
    left, right = find(node, "lhs"), find(node, "rhs")
    if right is None or not any(child.type in ("<-", "<<-", "=") for child in node.children):
        return None
    name = text_of(left).strip("`\"'")
    kind = "function" if right.type == "function_definition" else value_kind(name)
    return NamedNode(name, kind, node) if type_of(left) in ("identifier", "string") else None


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


_JULIA = Syntax(
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

FORTRAN = Language("fortran", endings="f f03 f08 f77 f90 f95 for", syntax=_FORTRAN)
JULIA = Language(
    "julia",
    endings="jl",
    interpreters="julia",
    syntax=_JULIA,
    imports=Imports(pattern("file", r"[ \t]*include\([ \t]*\"([^\"\n]+)\"", relative=True), resolvers=FILES),
)
R = Language(
    "r",
    endings="r",
    interpreters="rscript",
    syntax=Syntax({"binary_operator": _r_assignment}),
    imports=Imports(pattern("file", r"[ \t]*source\([ \t]*[\"']([^\"'\n]+)"), resolvers=FILES),
)
