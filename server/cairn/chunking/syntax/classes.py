"""Languages whose files hold classes and their members: Java, Groovy, Kotlin, Scala, C#, PHP, Swift, Dart."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax.rules import (
    Found,
    Rule,
    Syntax,
    called,
    child_of_type,
    constant_or_variable,
    named,
    named_by,
    named_with_kind,
    nth_child,
    text_of,
)

# --- Java --------------------------------------------------------------------------------------------


def _java_field(node: Node) -> Found | None:
    name = text_of(_declarator_name(node))
    return Found(name, "constant" if name.isupper() else "field", node) if name else None


def _declarator_name(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    return declarator.child_by_field_name("name") if declarator is not None else None


JAVA = Syntax(
    {
        "class_declaration": named("class"),
        "interface_declaration": named("interface"),
        "enum_declaration": named("enum"),
        "record_declaration": named("class"),
        "annotation_type_declaration": named("interface"),
        "method_declaration": named("method"),
        "constructor_declaration": named("constructor"),
        "compact_constructor_declaration": named("constructor"),
        "field_declaration": _java_field,
        "constant_declaration": _java_field,
    },
    wrappers=frozenset({"enum_body_declarations"}),
)


# --- Groovy ------------------------------------------------------------------------------------------


def _groovy_function(node: Node) -> Found | None:
    name = node.child_by_field_name("function")
    if name is None:
        return None
    if name.type == "quoted_identifier":
        # Only Spock's features have sentences for names.
        return Found(text_of(name).strip("\"'"), "test", node)
    return Found(text_of(name), "function", node)


def _groovy_value(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("name"))
    return Found(name, constant_or_variable(name), node) if name else None


GROOVY = Syntax(
    {
        "class_definition": named_with_kind({"interface": "interface"}, "class"),
        "declaration": _groovy_value,
        "function_declaration": _groovy_function,
        "function_definition": _groovy_function,
    }
)


# --- Kotlin ------------------------------------------------------------------------------------------


def _kotlin_class(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("name"))
    if not name:
        return None
    kind = "class"
    if any(child.type == "interface" for child in node.children):
        kind = "interface"
    elif child_of_type(node, "enum_class_body") is not None:
        kind = "enum"
    return Found(name, kind, node)


def _kotlin_function(node: Node) -> Found | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    # The type before the name is an extension function's receiver.
    receiver = name.prev_named_sibling
    owner = ""
    if receiver is not None and receiver.type in ("user_type", "nullable_type"):
        owner = re.sub(r"<.*|\?", "", text_of(receiver), flags=re.DOTALL)
    return Found(text_of(name), "method" if owner else "function", node, owner)


def _kotlin_property(node: Node) -> Found | None:
    declared = child_of_type(node, "variable_declaration")
    name = text_of(nth_child(declared, 0)) if declared is not None else ""
    if not name:
        return None
    constant = name.isupper() or "const" in text_of(child_of_type(node, "modifiers")).split()
    return Found(name, "constant" if constant else "property", node)


KOTLIN = Syntax(
    {
        "class_declaration": _kotlin_class,
        "object_declaration": named("object"),
        "function_declaration": _kotlin_function,
        "secondary_constructor": called("constructor", "constructor"),
        "property_declaration": _kotlin_property,
        "type_alias": named_by("type", "identifier", "type_identifier"),
    },
    wrappers=frozenset({"companion_object", "class_body"}),
)


# --- Scala -------------------------------------------------------------------------------------------


def _scala_value(node: Node) -> Found | None:
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    name = text_of(pattern) if pattern is not None and pattern.type == "identifier" else ""
    if not name:
        return None
    # Constants are written like types: `val Timeout = …`.
    return Found(name, "constant" if name[0].isupper() else "property", node)


SCALA = Syntax(
    {
        "class_definition": named("class"),
        "object_definition": named("object"),
        "package_object": named("object"),
        "trait_definition": named("trait"),
        "enum_definition": named("enum"),
        "function_definition": named("function"),
        "function_declaration": named("function"),
        "val_definition": _scala_value,
        "var_definition": _scala_value,
        "val_declaration": _scala_value,
        "type_definition": named("type"),
        "given_definition": named("property"),
    },
    wrappers=frozenset({"extension_definition", "template_body", "with_template_body", "package_clause"}),
    leading=frozenset({"annotation"}),
)


# --- C# ----------------------------------------------------------------------------------------------


def _csharp_field(node: Node) -> Found | None:
    declaration = child_of_type(node, "variable_declaration")
    declarator = child_of_type(declaration, "variable_declarator") if declaration is not None else None
    if declarator is None:
        return None
    name = text_of(declarator.child_by_field_name("name") or nth_child(declarator, 0))
    constant = any(text_of(child) == "const" for child in node.named_children if child.type == "modifier")
    return Found(name, "constant" if constant else "field", node) if name else None


CSHARP = Syntax(
    {
        "class_declaration": named("class"),
        "struct_declaration": named("struct"),
        "record_declaration": named("class"),
        "record_struct_declaration": named("struct"),
        "interface_declaration": named("interface"),
        "enum_declaration": named("enum"),
        "delegate_declaration": named("type"),
        "method_declaration": named("method"),
        "local_function_statement": named("function"),
        "constructor_declaration": named("constructor"),
        "destructor_declaration": named("method"),
        "property_declaration": named("property"),
        "event_declaration": named("property"),
        "indexer_declaration": called("this[]", "property"),
        "field_declaration": _csharp_field,
        "event_field_declaration": _csharp_field,
    },
    wrappers=frozenset({"global_statement"}),
    sections=frozenset({"namespace_declaration", "declaration_list", "preproc_if", "preproc_else"}),
)


# --- PHP ---------------------------------------------------------------------------------------------


def _php_property(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("name")).lstrip("$")
    return Found(name, "field", node) if name else None


PHP = Syntax(
    {
        "class_declaration": named("class"),
        "interface_declaration": named("interface"),
        "trait_declaration": named("trait"),
        "enum_declaration": named("enum"),
        "method_declaration": named("method"),
        "function_definition": named("function"),
        "const_element": named_by("constant", "name"),
        "property_element": _php_property,
    },
    wrappers=frozenset({"const_declaration", "property_declaration"}),
    sections=frozenset({"namespace_definition", "compound_statement", "if_statement"}),
    separator="::",
)


# --- Swift -------------------------------------------------------------------------------------------


def _swift_property(node: Node) -> Found | None:
    pattern = node.child_by_field_name("name")
    if pattern is None:
        return None
    name = text_of(pattern.child_by_field_name("bound_identifier") or pattern)
    return Found(name, "property", node) if name.isidentifier() else None


def _swift_type(node: Node) -> Found | None:
    found = named_with_kind(
        {"struct": "struct", "enum": "enum", "extension": "extension", "actor": "class"}, "class"
    )(node)
    if found is None or found.kind != "extension":
        return found
    return Found(re.sub(r"<.*", "", found.name, flags=re.DOTALL), "extension", node)


SWIFT = Syntax(
    {
        "class_declaration": _swift_type,
        "protocol_declaration": named("interface"),
        "function_declaration": named("function"),
        "protocol_function_declaration": named("method"),
        "init_declaration": called("init", "constructor"),
        "deinit_declaration": called("deinit", "method"),
        "subscript_declaration": called("subscript", "method"),
        "property_declaration": _swift_property,
        "protocol_property_declaration": _swift_property,
        "typealias_declaration": named("type"),
        "associatedtype_declaration": named("type"),
    },
    sections=frozenset({"if_config_declaration"}),
)


# --- Dart --------------------------------------------------------------------------------------------


def _dart_constructor(node: Node) -> Found | None:
    """`Foo.named`: the names before the parameters."""
    names = [text_of(child) for child in node.named_children if child.type == "identifier"]
    return Found(names[-1], "constructor", node) if names else None


def _dart_variables(kind: str) -> Rule:
    def rule(node: Node) -> Found | None:
        name = text_of(child_of_type(node, "identifier"))
        return Found(name, kind, node) if name else None

    return rule


DART = Syntax(
    {
        "class_definition": named("class"),
        "mixin_declaration": named_by("class", "identifier"),
        "extension_declaration": named("extension"),
        "extension_type_declaration": named("class"),
        "enum_declaration": named("enum"),
        "type_alias": named_by("type", "type_identifier", "identifier"),
        "function_signature": named("function"),
        "getter_signature": named("property"),
        "setter_signature": named("property"),
        "constructor_signature": _dart_constructor,
        "constant_constructor_signature": _dart_constructor,
        "factory_constructor_signature": _dart_constructor,
        "redirecting_factory_constructor_signature": _dart_constructor,
        "static_final_declaration": _dart_variables("constant"),
        "initialized_identifier": _dart_variables("variable"),
    },
    wrappers=frozenset(
        {
            *("method_signature", "declaration", "static_final_declaration_list"),
            *("initialized_identifier_list", "class_body"),
        }
    ),
    leading=frozenset(
        {
            "annotation",
            "const_builtin",
            "final_builtin",
            "late_builtin",
            "static",
            "type_identifier",
            "inferred_type",
        }
    ),
    detached_bodies=frozenset({"function_body"}),
)
