"""Schemas, queries, styles and build files: SQL, Protocol Buffers, GraphQL, HCL, CSS, Make, CMake."""

from __future__ import annotations

import re
from functools import partial

from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Syntax, find, named, text_of


def _sql_object(kind: str, node: Node) -> NamedNode | None:
    reference = find(node, "object_reference")
    schema, name = (text_of(reference, part).strip('"`[]') for part in ("schema", "name"))
    return NamedNode(name, kind, node, schema)


SQL = Syntax(
    {
        "create_table create_view create_materialized_view": partial(_sql_object, "table"),
        "create_function create_procedure create_trigger": partial(_sql_object, "function"),
        "create_type": partial(_sql_object, "type"),
    },
    wrappers="statement",
)


PROTO = Syntax(
    {
        "message": named("struct", "message_name"),
        "enum": named("enum", "enum_name"),
        "service": named("interface", "service_name"),
        "rpc": named("method", "rpc_name"),
    },
    wrappers="message_body",
)

GRAPHQL = Syntax(
    {
        "object_type_definition input_object_type_definition": "struct",
        "enum_type_definition": "enum",
        "interface_type_definition": "interface",
        "scalar_type_definition union_type_definition": "type",
        "directive_definition operation_definition": "function",
    },
    wrappers=(
        "document definition type_system_definition type_definition "
        "type_system_extension type_extension executable_definition"
    ),
    docstring=lambda node: find(node, "description"),
)


def _hcl_block(node: Node) -> NamedNode | None:
    """Name `resource "aws_instance" "web"` as `web` of `aws_instance`."""
    labels = [text_of(child).strip('"') for child in node.named_children if child.type == "string_lit"]
    if not labels:
        return None
    return NamedNode(labels[-1], text_of(node, 0) or "block", node, ".".join(labels[:-1]))


HCL = Syntax({"block": _hcl_block}, wrappers="config_file", sections="body")


def _cmake_definition(kind: str, node: Node) -> NamedNode | None:
    match = re.match(r"\w+\s*\(\s*([\w.-]+)", text_of(node, 0))
    return NamedNode(match.group(1), kind, node) if match else None


CMAKE = Syntax(
    {"function_def": partial(_cmake_definition, "function"), "macro_def": partial(_cmake_definition, "macro")}
)


def _make_rule(node: Node) -> NamedNode | None:
    name = text_of(node, "targets")
    return NamedNode(name, "target", node) if re.fullmatch(r"(?!\.)[\w./-]+", name) else None


MAKE = Syntax(
    {"variable_assignment": "variable", "define_directive": "function", "rule": _make_rule},
    sections="conditional",
)


def _css_rule(node: Node) -> NamedNode | None:
    selectors = " ".join(text_of(node, "selectors").split())
    return NamedNode(selectors, "rule", node) if len(selectors) <= 60 else None


CSS = Syntax({"rule_set": _css_rule}, sections="media_statement supports_statement block")

SCSS = Syntax(
    {
        "rule_set": _css_rule,
        "mixin_statement function_statement": named("function", "name identifier"),
        "placeholder": named("rule", "name identifier"),
    },
    sections="media_statement supports_statement",
)
