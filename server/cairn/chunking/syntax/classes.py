"""Languages whose files contain classes with members: Java, Groovy, Kotlin, Scala, C#, PHP, Swift, Dart."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Syntax, called, find, named, text_of, type_of, value

JAVA = Syntax(
    {
        "class_declaration record_declaration": "class",
        "interface_declaration annotation_type_declaration": "interface",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "constructor_declaration compact_constructor_declaration": "constructor",
        "field_declaration constant_declaration": value("field", "declarator", "name"),
    },
    wrappers="enum_body_declarations",
)


def _groovy_function(node: Node) -> NamedNode | None:
    kind = "test" if type_of(find(node, "function")) == "quoted_identifier" else "function"
    return NamedNode(text_of(node, "function").strip("\"'"), kind, node)


GROOVY = Syntax(
    {
        "class_definition": named("class", kinds={"interface": "interface"}),
        "declaration": value("variable", "name"),
        "function_declaration function_definition": _groovy_function,
    }
)


def _kotlin_function(node: Node) -> NamedNode | None:
    name = find(node, "name")
    # The type before the name is the receiver of an extension function.
    receiver = name.prev_named_sibling if name is not None else None
    owner = ""
    if type_of(receiver) in ("user_type", "nullable_type"):
        owner = text_of(receiver).partition("<")[0].replace("?", "")
    return NamedNode(text_of(name), "method" if owner else "function", node, owner)


def _kotlin_property(node: Node) -> NamedNode | None:
    name = text_of(node, "variable_declaration", 0)
    constant = name.isupper() or "const" in text_of(node, "modifiers").split()
    return NamedNode(name, "constant" if constant else "property", node)


KOTLIN = Syntax(
    {
        "object_declaration": "object",
        "class_declaration": named("class", kinds={"interface": "interface", "enum_class_body": "enum"}),
        "function_declaration": _kotlin_function,
        "secondary_constructor": called("constructor", "constructor"),
        "property_declaration": _kotlin_property,
        "type_alias": named("type", "identifier type_identifier"),
    },
    wrappers="companion_object class_body",
)


def _scala_value(node: Node) -> NamedNode | None:
    pattern = find(node, "pattern") or find(node, "name")
    name = text_of(pattern) if type_of(pattern) == "identifier" else ""
    # The names of constants are capitalised like those of types: `val Timeout = …`.
    return NamedNode(name, "constant" if name[:1].isupper() else "property", node)


SCALA = Syntax(
    {
        "class_definition": "class",
        "object_definition package_object": "object",
        "trait_definition": "trait",
        "enum_definition": "enum",
        "function_definition function_declaration": "function",
        "type_definition": "type",
        "given_definition": "property",
        "val_definition var_definition val_declaration": _scala_value,
    },
    wrappers="extension_definition template_body with_template_body package_clause",
    leading="annotation",
)


def _csharp_field(node: Node) -> NamedNode | None:
    declarator = find(node, "variable_declaration", "variable_declarator")
    name = text_of(declarator, "name") or text_of(declarator, 0)
    constant = any(text_of(child) == "const" for child in node.named_children if child.type == "modifier")
    return NamedNode(name, "constant" if constant else "field", node)


CSHARP = Syntax(
    {
        "class_declaration record_declaration": "class",
        "struct_declaration record_struct_declaration": "struct",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "delegate_declaration": "type",
        "method_declaration destructor_declaration": "method",
        "local_function_statement": "function",
        "constructor_declaration": "constructor",
        "property_declaration event_declaration": "property",
        "indexer_declaration": called("this[]", "property"),
        "field_declaration event_field_declaration": _csharp_field,
    },
    wrappers="global_statement",
    sections="namespace_declaration declaration_list preproc_if preproc_else",
)


PHP = Syntax(
    {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "trait_declaration": "trait",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "function_definition": "function",
        "const_element": "constant",
        "property_element": named("field", clean=lambda name: name.lstrip("$")),
    },
    wrappers="const_declaration property_declaration",
    sections="namespace_definition compound_statement if_statement",
    separator="::",
)


_SWIFT_KINDS = {"struct": "struct", "enum": "enum", "extension": "extension", "actor": "class"}


def _swift_property(node: Node) -> NamedNode | None:
    name = text_of(node, "name", "bound_identifier") or text_of(node, "name")
    return NamedNode(name, "property", node) if name.isidentifier() else None


SWIFT = Syntax(
    {
        "protocol_declaration": "interface",
        "function_declaration": "function",
        "protocol_function_declaration": "method",
        "typealias_declaration associatedtype_declaration": "type",
        "class_declaration": named("class", kinds=_SWIFT_KINDS, clean=lambda name: name.partition("<")[0]),
        "init_declaration": called("init", "constructor"),
        "deinit_declaration": called("deinit", "method"),
        "subscript_declaration": called("subscript", "method"),
        "property_declaration protocol_property_declaration": _swift_property,
    },
    sections="if_config_declaration",
)


def _dart_constructor(node: Node) -> NamedNode | None:
    """Name a constructor `Foo.named` by its last part."""
    names = [text_of(child) for child in node.named_children if child.type == "identifier"]
    return NamedNode(names[-1], "constructor", node) if names else None


DART = Syntax(
    {
        "class_definition extension_type_declaration": "class",
        "extension_declaration": "extension",
        "enum_declaration": "enum",
        "function_signature": "function",
        "getter_signature setter_signature": "property",
        "mixin_declaration": named("class", "identifier"),
        "type_alias": named("type", "type_identifier identifier"),
        "constructor_signature constant_constructor_signature": _dart_constructor,
        "factory_constructor_signature redirecting_factory_constructor_signature": _dart_constructor,
        "static_final_declaration": named("constant", "identifier"),
        "initialized_identifier": named("variable", "identifier"),
    },
    wrappers=(
        "method_signature declaration static_final_declaration_list initialized_identifier_list class_body"
    ),
    leading="annotation const_builtin final_builtin late_builtin static type_identifier inferred_type",
    detached_bodies="function_body",
)
