"""C, C++ and Objective-C, which nest names inside declarators."""

from __future__ import annotations

from functools import partial

from tree_sitter import Node

from cairn.chunking.syntax.rules import PROTOTYPE, NamedNode, Rule, Syntax, find, named, text_of, type_of

_NAMES = frozenset(
    "identifier field_identifier type_identifier operator_name destructor_name operator_cast".split()
)
# If macros are between keywords, the parser takes these keywords for names.
_KEYWORDS = frozenset("namespace class struct enum union friend void if return else".split())

_TYPE_KINDS = {"struct_specifier": "struct", "union_specifier": "union", "enum_specifier": "enum"}


def _declared(node: Node) -> tuple[str, str, bool]:
    """Return the name and owner (`Owner::name`) in a `declarator`, and whether it declares a function."""
    owner, is_function = "", False
    at = find(node, "declarator")
    while at is not None:
        if at.type in _NAMES:
            name = text_of(at)
            return ("", "", False) if name in _KEYWORDS else (name, owner, is_function)
        if at.type == "qualified_identifier":
            if scope := text_of(at, "scope"):
                owner = scope.partition("<")[0].strip()
            at = find(at, "name")
        elif at.type in ("template_function", "template_method", "template_type", "dependent_name"):
            at = find(at, "name") or find(at, 0)
        else:
            if at.type == "function_declarator":
                is_function = True
            elif at.type == "parenthesized_declarator":
                # This is a pointer to a function, or a name in needless parentheses.
                is_function = False
            at = find(at, "declarator") or find(at, 0)
    return "", "", False


def _function(node: Node) -> NamedNode | None:
    name, owner, _ = _declared(node)
    # `operator bool() const` → `operator bool`
    name = " ".join(name.partition("(")[0].split()) or name
    return NamedNode(name, "method" if owner else "function", node, owner)


def _declaration(node: Node) -> NamedNode | None:
    name, owner, is_function = _declared(node)
    if owner:
        return None
    inner = find(node, "type")
    if type_of(inner) in _TYPE_KINDS and find(inner, "body") and (type_name := text_of(inner, "name")):
        # A macro may follow the body: `struct inode { … } __randomize_layout;`
        return NamedNode(type_name, _TYPE_KINDS[type_of(inner)], node)
    if not is_function:
        constants = ("const", "constexpr", "constinit")
        constant = any(text_of(child) in constants for child in node.named_children[:3])
        return NamedNode(name, "constant" if constant else "variable", node)
    # A reader does not search for a forward declaration inside one file.
    return None if text_of(node, "storage_class_specifier") == "static" else NamedNode(name, PROTOTYPE, node)


def _declared_function(kind: str, node: Node) -> NamedNode | None:
    name, _, is_function = _declared(node)
    return NamedNode(name, kind, node) if is_function else None


def _with_body(kind: str, node: Node) -> NamedNode | None:
    """Return the named type if it has a body, else None."""
    name = find(node, "name")
    if find(node, "body") is None:
        return None
    while type_of(name) in ("template_type", "qualified_identifier") and (inner := find(name, "name")):
        name = inner
    return NamedNode(text_of(name), kind, node)


def _typedef(node: Node) -> NamedNode | None:
    return NamedNode(_declared(node)[0], _TYPE_KINDS.get(type_of(find(node, "type")), "type"), node)


_C_RULES: dict[str, str | Rule] = {
    "function_definition": _function,
    "declaration": _declaration,
    **{node_type: partial(_with_body, kind) for node_type, kind in _TYPE_KINDS.items()},
    "type_definition": _typedef,
    # A macro without a value is an include guard or a switch.
    "preproc_def": named("constant", needs="value"),
    "preproc_function_def": "macro",
}
_C_SECTIONS = (
    "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef "
    "linkage_specification declaration_list"
)

C = Syntax(
    {
        **_C_RULES,
        # Structs in C have no functions, but after a macro, the parser takes a prototype for a member.
        "field_declaration": partial(_declared_function, PROTOTYPE),
    },
    sections=_C_SECTIONS,
    leading="attribute_declaration attribute_specifier",
)

CPP = Syntax(
    {
        **_C_RULES,
        "alias_declaration concept_definition": "type",
        "class_specifier": partial(_with_body, "class"),
        # Data members are found by the text of their class.
        "field_declaration": partial(_declared_function, "method"),
    },
    wrappers="template_declaration export_declaration",
    sections=f"{_C_SECTIONS} namespace_definition",
    leading="attribute_declaration template_parameter_list requires_clause access_specifier",
    separator="::",
)


def _objc_method(node: Node) -> NamedNode | None:
    """Return a selector as messages write it: `doX:with:`."""
    parts = [text_of(child) for child in node.named_children if child.type == "identifier"]
    end = ":" if find(node, "method_parameter") is not None else ""
    return NamedNode(":".join(parts) + end, "method", node) if parts else None


OBJC = Syntax(
    {
        **_C_RULES,
        "class_interface": named("class", "identifier"),
        "category_interface category_implementation": named("extension", "identifier"),
        "class_implementation": named("impl", "identifier"),
        "protocol_declaration": named("interface", "identifier"),
        "method_declaration method_definition": _objc_method,
    },
    wrappers="implementation_definition",
    sections=_C_SECTIONS,
)
