"""Schemas, queries, styles and build files: SQL, Protocol Buffers, GraphQL, HCL, CSS, Make, CMake."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import NamedNode, Rule, Syntax, child_of_type, field_of, named_by, text_of

# --- SQL ---------------------------------------------------------------------------------------------


def _sql_object(kind: str) -> Rule:
    def rule(node: Node) -> NamedNode | None:
        reference = child_of_type(node, "object_reference")
        schema, name = (text_of(field_of(reference, part)).strip('"`[]') for part in ("schema", "name"))
        return rules.definition(name, kind, node, schema)

    return rule


SQL = Syntax(
    rules={
        **dict.fromkeys(("create_table", "create_view", "create_materialized_view"), _sql_object("table")),
        **dict.fromkeys(("create_function", "create_procedure", "create_trigger"), _sql_object("function")),
        "create_type": _sql_object("type"),
    },
    wrappers="statement",
)


# --- interface definitions -------------------------------------------------------------------------------

PROTO = Syntax(
    rules={
        "message": named_by("struct", "message_name"),
        "enum": named_by("enum", "enum_name"),
        "service": named_by("interface", "service_name"),
        "rpc": named_by("method", "rpc_name"),
    },
    wrappers="message_body",
)

_GRAPHQL_KINDS = {
    "object_type_definition": "struct", "input_object_type_definition": "struct", "enum_type_definition": "enum",
    "interface_type_definition": "interface", "scalar_type_definition": "type", "union_type_definition": "type",
    "directive_definition": "function", "operation_definition": "function", "fragment_definition": "function",
}  # fmt: skip

GRAPHQL = Syntax(
    rules={node_type: named_by(kind, "name") for node_type, kind in _GRAPHQL_KINDS.items()},
    wrappers=(
        "document definition type_system_definition type_definition "
        "type_system_extension type_extension executable_definition"
    ),
    docstring=lambda node: child_of_type(node, "description"),
)


# --- configuration with named blocks -------------------------------------------------------------------


def _hcl_block(node: Node) -> NamedNode | None:
    """`resource "aws_instance" "web"` → `web` of `aws_instance`."""
    labels = [text_of(child).strip('"') for child in node.named_children if child.type == "string_lit"]
    if not labels:
        return None
    keyword = text_of(rules.nth_child(node, 0))
    return NamedNode(labels[-1], keyword or "block", node, ".".join(labels[:-1]))


HCL = Syntax(rules={"block": _hcl_block}, wrappers="config_file", sections="body")


def _cmake_definition(kind: str) -> Rule:
    def rule(node: Node) -> NamedNode | None:
        match = re.match(r"\w+\s*\(\s*([\w.-]+)", text_of(rules.nth_child(node, 0)))
        return NamedNode(match.group(1), kind, node) if match else None

    return rule


CMAKE = Syntax(rules={"function_def": _cmake_definition("function"), "macro_def": _cmake_definition("macro")})


def _make_rule(node: Node) -> NamedNode | None:
    name = text_of(child_of_type(node, "targets"))
    return NamedNode(name, "target", node) if re.fullmatch(r"[\w./-]+", name) and name[0] != "." else None


MAKE = Syntax(
    {"variable": "variable_assignment", "function": "define_directive"},
    {"rule": _make_rule},
    sections="conditional",
)


# --- styles ------------------------------------------------------------------------------------------


def _css_rule(node: Node) -> NamedNode | None:
    selectors = " ".join(text_of(child_of_type(node, "selectors")).split())
    return NamedNode(selectors, "rule", node) if selectors and len(selectors) <= 60 else None


CSS = Syntax(rules={"rule_set": _css_rule}, sections="media_statement supports_statement block")

SCSS = Syntax(
    rules={
        "rule_set": _css_rule,
        "mixin_statement": named_by("function", "name", "identifier"),
        "function_statement": named_by("function", "name", "identifier"),
        "placeholder": named_by("rule", "name", "identifier"),
    },
    sections="media_statement supports_statement",
)
