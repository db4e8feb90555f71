"""Schemas, queries, styles and build files: SQL, Protocol Buffers, GraphQL, HCL, CSS, Make, CMake."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax.rules import (
    Found,
    Rule,
    Syntax,
    child_of_type,
    named,
    named_by,
    nth_child,
    text_of,
)

# --- SQL ---------------------------------------------------------------------------------------------


def _sql_object(kind: str) -> Rule:
    def rule(node: Node) -> Found | None:
        reference = child_of_type(node, "object_reference")
        schema = text_of(reference.child_by_field_name("schema")) if reference is not None else ""
        name = text_of(reference.child_by_field_name("name")) if reference is not None else ""
        return Found(name.strip('"`[]'), kind, node, schema.strip('"`[]')) if name else None

    return rule


SQL = Syntax(
    {
        "create_table": _sql_object("table"),
        "create_view": _sql_object("table"),
        "create_materialized_view": _sql_object("table"),
        "create_function": _sql_object("function"),
        "create_procedure": _sql_object("function"),
        "create_trigger": _sql_object("function"),
        "create_type": _sql_object("type"),
    },
    wrappers=frozenset({"statement"}),
)


# --- interface definitions -------------------------------------------------------------------------------

PROTO = Syntax(
    {
        "message": named_by("struct", "message_name"),
        "enum": named_by("enum", "enum_name"),
        "service": named_by("interface", "service_name"),
        "rpc": named_by("method", "rpc_name"),
    },
    wrappers=frozenset({"message_body"}),
)

_GRAPHQL_KINDS = {
    "object_type_definition": "struct", "input_object_type_definition": "struct", "enum_type_definition": "enum",
    "interface_type_definition": "interface", "scalar_type_definition": "type", "union_type_definition": "type",
    "directive_definition": "function", "operation_definition": "function", "fragment_definition": "function",
}  # fmt: skip

GRAPHQL = Syntax(
    {node_type: named_by(kind, "name") for node_type, kind in _GRAPHQL_KINDS.items()},
    wrappers=frozenset(
        {
            *("document", "definition", "type_system_definition", "type_definition"),
            *("type_system_extension", "type_extension", "executable_definition"),
        }
    ),
    docstring=lambda node: child_of_type(node, "description"),
)


# --- configuration with named blocks -------------------------------------------------------------------


def _hcl_block(node: Node) -> Found | None:
    """`resource "aws_instance" "web"` → `web` of `aws_instance`."""
    labels = [text_of(child).strip('"') for child in node.named_children if child.type == "string_lit"]
    keyword = text_of(nth_child(node, 0))
    if not labels:
        return None
    return Found(labels[-1], keyword or "block", node, ".".join(labels[:-1]))


HCL = Syntax({"block": _hcl_block}, wrappers=frozenset({"config_file"}), sections=frozenset({"body"}))


def _cmake_definition(kind: str) -> Rule:
    def rule(node: Node) -> Found | None:
        match = re.match(r"\w+\s*\(\s*([\w.-]+)", text_of(nth_child(node, 0)))
        return Found(match.group(1), kind, node) if match else None

    return rule


CMAKE = Syntax({"function_def": _cmake_definition("function"), "macro_def": _cmake_definition("macro")})


def _make_rule(node: Node) -> Found | None:
    name = text_of(child_of_type(node, "targets"))
    return Found(name, "target", node) if re.fullmatch(r"[\w./-]+", name) and name[0] != "." else None


def _make_variable(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("name"))
    return Found(name, "variable", node) if name else None


MAKE = Syntax(
    {"rule": _make_rule, "variable_assignment": _make_variable, "define_directive": named("function")},
    sections=frozenset({"conditional"}),
)


# --- styles ------------------------------------------------------------------------------------------


def _css_rule(node: Node) -> Found | None:
    selectors = " ".join(text_of(child_of_type(node, "selectors")).split())
    return Found(selectors, "rule", node) if selectors and len(selectors) <= 60 else None


CSS = Syntax({"rule_set": _css_rule}, sections=frozenset({"media_statement", "supports_statement", "block"}))

SCSS = Syntax(
    {
        "rule_set": _css_rule,
        "mixin_statement": named_by("function", "name", "identifier"),
        "function_statement": named_by("function", "name", "identifier"),
        "placeholder": named_by("rule", "name", "identifier"),
    },
    sections=frozenset({"media_statement", "supports_statement"}),
)
