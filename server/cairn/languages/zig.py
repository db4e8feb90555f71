"""Zig."""

from __future__ import annotations

from cairn.languages.imports import FILES, Imports, pattern
from cairn.languages.language import Language
from cairn.languages.syntax import NamedNode, Node, Syntax, named, text_of

_TYPES = {
    "struct_declaration": "struct", "enum_declaration": "enum", "union_declaration": "union",
    "opaque_declaration": "struct", "error_set_declaration": "enum",
}  # fmt: skip
_value = named("variable", "identifier", kinds={**_TYPES, "const": "constant"})


def _variable(node: Node) -> NamedNode | None:
    return None if text_of(node, "builtin_function").startswith("@import") else _value(node)


def _test(node: Node) -> NamedNode | None:
    return NamedNode(text_of(node, "string identifier").strip('"') or "test", "test", node)


_SYNTAX = Syntax(
    {"function_declaration": "function", "variable_declaration": _variable, "test_declaration": _test},
    wrappers=_TYPES,
)

ZIG = Language(
    "zig",
    endings="zig zon",
    syntax=_SYNTAX,
    imports=Imports(
        pattern("file", r"@import\(\"([^\"\n]+\.zig)\"\)", by_lines=False, relative=True), resolvers=FILES
    ),
)
