"""Languages whose files hold classes and their members: Java, Groovy, Kotlin, Scala, C#, PHP, Swift, Dart."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import (
    NamedNode,
    Syntax,
    called,
    child_of_type,
    constant_or_variable,
    field_of,
    named_by,
    named_with_kind,
    nth_child,
    text_of,
)

# --- Java --------------------------------------------------------------------------------------------


def _java_field(node: Node) -> NamedNode | None:
    name = text_of(field_of(node, "declarator", "name"))
    return rules.definition(name, "constant" if name.isupper() else "field", node)


JAVA = Syntax(
    {
        "class": "class_declaration record_declaration",
        "interface": "interface_declaration annotation_type_declaration",
        "enum": "enum_declaration",
        "method": "method_declaration",
        "constructor": "constructor_declaration compact_constructor_declaration",
    },
    {"field_declaration": _java_field, "constant_declaration": _java_field},
    wrappers="enum_body_declarations",
)


# --- Groovy ------------------------------------------------------------------------------------------


def _groovy_function(node: Node) -> NamedNode | None:
    name = field_of(node, "function")
    if name is not None and name.type == "quoted_identifier":
        # Only Spock's features have sentences for names.
        return NamedNode(text_of(name).strip("\"'"), "test", node)
    return rules.definition(text_of(name), "function", node)


def _groovy_value(node: Node) -> NamedNode | None:
    name = text_of(field_of(node, "name"))
    return rules.definition(name, constant_or_variable(name), node)


GROOVY = Syntax(
    rules={
        "class_definition": named_with_kind({"interface": "interface"}, "class"),
        "declaration": _groovy_value,
        "function_declaration": _groovy_function,
        "function_definition": _groovy_function,
    }
)


# --- Kotlin ------------------------------------------------------------------------------------------


def _kotlin_class(node: Node) -> NamedNode | None:
    default = "enum" if child_of_type(node, "enum_class_body") is not None else "class"
    return named_with_kind({"interface": "interface"}, default)(node)


def _kotlin_function(node: Node) -> NamedNode | None:
    name = field_of(node, "name")
    # The type before the name is an extension function's receiver.
    receiver = name.prev_named_sibling if name is not None else None
    owner = ""
    if receiver is not None and receiver.type in ("user_type", "nullable_type"):
        owner = re.sub(r"<.*|\?", "", text_of(receiver), flags=re.DOTALL)
    return rules.definition(text_of(name), "method" if owner else "function", node, owner)


def _kotlin_property(node: Node) -> NamedNode | None:
    name = text_of(nth_child(child_of_type(node, "variable_declaration"), 0))
    constant = name.isupper() or "const" in text_of(child_of_type(node, "modifiers")).split()
    return rules.definition(name, "constant" if constant else "property", node)


KOTLIN = Syntax(
    {"object": "object_declaration"},
    {
        "class_declaration": _kotlin_class,
        "function_declaration": _kotlin_function,
        "secondary_constructor": called("constructor", "constructor"),
        "property_declaration": _kotlin_property,
        "type_alias": named_by("type", "identifier", "type_identifier"),
    },
    wrappers="companion_object class_body",
)


# --- Scala -------------------------------------------------------------------------------------------


def _scala_value(node: Node) -> NamedNode | None:
    pattern = field_of(node, "pattern") or field_of(node, "name")
    name = text_of(pattern) if pattern is not None and pattern.type == "identifier" else ""
    # Constants are written like types: `val Timeout = …`.
    return rules.definition(name, "constant" if name[:1].isupper() else "property", node)


SCALA = Syntax(
    {
        "class": "class_definition",
        "object": "object_definition package_object",
        "trait": "trait_definition",
        "enum": "enum_definition",
        "function": "function_definition function_declaration",
        "type": "type_definition",
        "property": "given_definition",
    },
    dict.fromkeys(("val_definition", "var_definition", "val_declaration"), _scala_value),
    wrappers="extension_definition template_body with_template_body package_clause",
    leading="annotation",
)


# --- C# ----------------------------------------------------------------------------------------------


def _csharp_field(node: Node) -> NamedNode | None:
    declarator = child_of_type(child_of_type(node, "variable_declaration"), "variable_declarator")
    name = text_of(field_of(declarator, "name") or nth_child(declarator, 0))
    constant = any(text_of(child) == "const" for child in node.named_children if child.type == "modifier")
    return rules.definition(name, "constant" if constant else "field", node)


CSHARP = Syntax(
    {
        "class": "class_declaration record_declaration",
        "struct": "struct_declaration record_struct_declaration",
        "interface": "interface_declaration",
        "enum": "enum_declaration",
        "type": "delegate_declaration",
        "method": "method_declaration destructor_declaration",
        "function": "local_function_statement",
        "constructor": "constructor_declaration",
        "property": "property_declaration event_declaration",
    },
    {
        "indexer_declaration": called("this[]", "property"),
        "field_declaration": _csharp_field,
        "event_field_declaration": _csharp_field,
    },
    wrappers="global_statement",
    sections="namespace_declaration declaration_list preproc_if preproc_else",
)


# --- PHP ---------------------------------------------------------------------------------------------


def _php_property(node: Node) -> NamedNode | None:
    return rules.definition(text_of(field_of(node, "name")).lstrip("$"), "field", node)


PHP = Syntax(
    {
        "class": "class_declaration",
        "interface": "interface_declaration",
        "trait": "trait_declaration",
        "enum": "enum_declaration",
        "method": "method_declaration",
        "function": "function_definition",
    },
    {"const_element": named_by("constant", "name"), "property_element": _php_property},
    wrappers="const_declaration property_declaration",
    sections="namespace_definition compound_statement if_statement",
    separator="::",
)


# --- Swift -------------------------------------------------------------------------------------------

_SWIFT_KINDS = {"struct": "struct", "enum": "enum", "extension": "extension", "actor": "class"}


def _swift_property(node: Node) -> NamedNode | None:
    name = text_of(field_of(node, "name", "bound_identifier") or field_of(node, "name"))
    return NamedNode(name, "property", node) if name.isidentifier() else None


def _swift_type(node: Node) -> NamedNode | None:
    found = named_with_kind(_SWIFT_KINDS, "class")(node)
    if found is None or found.kind != "extension":
        return found
    return NamedNode(re.sub(r"<.*", "", found.name, flags=re.DOTALL), "extension", node)


SWIFT = Syntax(
    {
        "interface": "protocol_declaration",
        "function": "function_declaration",
        "method": "protocol_function_declaration",
        "type": "typealias_declaration associatedtype_declaration",
    },
    {
        "class_declaration": _swift_type,
        "init_declaration": called("init", "constructor"),
        "deinit_declaration": called("deinit", "method"),
        "subscript_declaration": called("subscript", "method"),
        "property_declaration": _swift_property,
        "protocol_property_declaration": _swift_property,
    },
    sections="if_config_declaration",
)


# --- Dart --------------------------------------------------------------------------------------------


def _dart_constructor(node: Node) -> NamedNode | None:
    """`Foo.named`: the names before the parameters."""
    names = [text_of(child) for child in node.named_children if child.type == "identifier"]
    return NamedNode(names[-1], "constructor", node) if names else None


DART = Syntax(
    {
        "class": "class_definition extension_type_declaration",
        "extension": "extension_declaration",
        "enum": "enum_declaration",
        "function": "function_signature",
        "property": "getter_signature setter_signature",
    },
    {
        "mixin_declaration": named_by("class", "identifier"),
        "type_alias": named_by("type", "type_identifier", "identifier"),
        "constructor_signature": _dart_constructor,
        "constant_constructor_signature": _dart_constructor,
        "factory_constructor_signature": _dart_constructor,
        "redirecting_factory_constructor_signature": _dart_constructor,
        "static_final_declaration": named_by("constant", "identifier"),
        "initialized_identifier": named_by("variable", "identifier"),
    },
    wrappers="method_signature declaration static_final_declaration_list initialized_identifier_list class_body",
    leading="annotation const_builtin final_builtin late_builtin static type_identifier inferred_type",
    detached_bodies="function_body",
)
