"""C, C++ and Objective-C: names hide inside declarators."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.syntax.rules import Found, Rule, Syntax, child_of_type, named, nth_child, text_of

_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name", "operator_cast"}
)


# Macros between keywords make the parser take these for names.
_KEYWORDS = frozenset(
    {"namespace", "class", "struct", "enum", "union", "friend", "void", "if", "return", "else"}
)


def _declared(node: Node) -> tuple[str, str, bool]:
    """Name, owner (`Owner::name`) and whether a function is declared, of a node with a `declarator`."""
    owner, is_function = "", False
    at = node.child_by_field_name("declarator")
    while at is not None:
        if at.type in _NAMES:
            name = text_of(at)
            return ("", "", False) if name in _KEYWORDS else (name, owner, is_function)
        if at.type == "qualified_identifier":
            if scope := text_of(at.child_by_field_name("scope")):
                owner = re.sub(r"<.*", "", scope, flags=re.DOTALL).strip()
            at = at.child_by_field_name("name")
        elif at.type in ("template_function", "template_method", "template_type", "dependent_name"):
            at = at.child_by_field_name("name") or _first(at)
        else:
            if at.type == "function_declarator":
                is_function = True
            elif at.type == "parenthesized_declarator":
                # A pointer to a function, or a name in needless parentheses.
                is_function = False
            at = at.child_by_field_name("declarator") or _first(at)
    return "", "", False


def _first(node: Node) -> Node | None:
    return nth_child(node, 0)


def _function(node: Node) -> Found | None:
    name, owner, _ = _declared(node)
    if not name:
        return None
    # `operator bool() const` → `operator bool`
    name = " ".join(name.partition("(")[0].split()) or name
    return Found(name, "method" if owner else "function", node, owner)


def _declaration(node: Node) -> Found | None:
    name, owner, is_function = _declared(node)
    if not name or owner:
        return None
    if not is_function:
        constant = any(
            text_of(child) in ("const", "constexpr", "constinit") for child in node.named_children[:3]
        )
        return Found(name, "constant" if constant else "variable", node)
    # A forward declaration for the file's own use is not where anybody wants to land.
    if text_of(child_of_type(node, "storage_class_specifier")) == "static":
        return None
    return Found(name, "function", node)


def _member(node: Node) -> Found | None:
    """A class member: a method's declaration; data members are left to the class's text."""
    name, _, is_function = _declared(node)
    return Found(name, "method", node) if name and is_function else None


def _with_body(kind: str) -> Rule:
    """A type that is defined here, not merely mentioned."""

    def rule(node: Node) -> Found | None:
        name = node.child_by_field_name("name")
        if name is None or node.child_by_field_name("body") is None:
            return None
        while name.type in ("template_type", "qualified_identifier"):
            inner = name.child_by_field_name("name")
            if inner is None:
                break
            name = inner
        return Found(text_of(name), kind, node)

    return rule


_TYPE_KINDS = {"struct_specifier": "struct", "union_specifier": "union", "enum_specifier": "enum"}


def _typedef(node: Node) -> Found | None:
    name, _, _ = _declared(node)
    inner = node.child_by_field_name("type")
    kind = _TYPE_KINDS.get(inner.type, "type") if inner is not None else "type"
    return Found(name, kind, node) if name else None


def _macro_constant(node: Node) -> Found | None:
    # A macro without a value is an include guard or a switch.
    if node.child_by_field_name("value") is None:
        return None
    return named("constant")(node)


_C_RULES: dict[str, Rule] = {
    "function_definition": _function,
    "declaration": _declaration,
    "struct_specifier": _with_body("struct"),
    "union_specifier": _with_body("union"),
    "enum_specifier": _with_body("enum"),
    "type_definition": _typedef,
    "preproc_def": _macro_constant,
    "preproc_function_def": named("macro"),
}
_C_SECTIONS = frozenset(
    {
        *("preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "preproc_elifdef"),
        *("linkage_specification", "declaration_list"),
    }
)

C = Syntax(
    _C_RULES, sections=_C_SECTIONS, leading=frozenset({"attribute_declaration", "attribute_specifier"})
)

CPP = Syntax(
    {
        **_C_RULES,
        "class_specifier": _with_body("class"),
        "field_declaration": _member,
        "alias_declaration": named("type"),
        "concept_definition": named("type"),
    },
    wrappers=frozenset({"template_declaration", "export_declaration"}),
    sections=_C_SECTIONS | {"namespace_definition"},
    leading=frozenset(
        {"attribute_declaration", "template_parameter_list", "requires_clause", "access_specifier"}
    ),
    separator="::",
)


def _objc_type(kind: str) -> Rule:
    def rule(node: Node) -> Found | None:
        name = text_of(child_of_type(node, "identifier"))
        return Found(name, kind, node) if name else None

    return rule


def _objc_method(node: Node) -> Found | None:
    """A selector as it is written in messages: `doX:with:`."""
    parts, has_parameters = [], False
    for child in node.named_children:
        if child.type == "identifier":
            parts.append(text_of(child))
        elif child.type == "method_parameter":
            has_parameters = True
    if not parts:
        return None
    return Found(":".join(parts) + (":" if has_parameters else ""), "method", node)


OBJC = Syntax(
    {
        **_C_RULES,
        "class_interface": _objc_type("class"),
        "category_interface": _objc_type("extension"),
        "class_implementation": _objc_type("impl"),
        "category_implementation": _objc_type("extension"),
        "protocol_declaration": _objc_type("interface"),
        "method_declaration": _objc_method,
        "method_definition": _objc_method,
    },
    wrappers=frozenset({"implementation_definition"}),
    sections=_C_SECTIONS,
)
