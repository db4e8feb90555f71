"""C, C++ and Objective-C, which nest names inside declarators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from cairn.languages.imports import Imports, Module, Places, by_line, by_path
from cairn.languages.language import Language, Scoping, Visibility, unless_xml
from cairn.languages.syntax import PROTOTYPE, NamedNode, Node, Rule, Syntax, find, named, text_of, type_of

_NAMES = frozenset(
    "identifier field_identifier type_identifier operator_name destructor_name operator_cast".split()
)
# Macros between keywords make the parser take these for names.
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
    """Recognise a type only where it has a body."""
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
_C = Syntax(
    {
        **_C_RULES,
        # Structs of C have no functions: after a macro the parser takes a prototype for a member.
        "field_declaration": partial(_declared_function, PROTOTYPE),
    },
    sections=_C_SECTIONS,
    leading="attribute_declaration attribute_specifier",
)
_CPP = Syntax(
    {
        **_C_RULES,
        "alias_declaration concept_definition": "type",
        "class_specifier": partial(_with_body, "class"),
        # The text of a class covers its data members.
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


_OBJC = Syntax(
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
_OBJC_HEADER = r"^@(?:interface|protocol|class|import)\b"
_CPP_HEADER = (
    r"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|(?:public|private|protected)\s*:"
    r"|using\s+(?:namespace\s+)?\w)|\bstd::|\bconstexpr\b"
)


def _language_of_header(path: str, start: str) -> str:
    if not path.lower().endswith(".h"):
        return "c"
    if re.search(_OBJC_HEADER, start, re.MULTILINE):
        return "objc"
    return "cpp" if re.search(_CPP_HEADER, start, re.MULTILINE) else "c"


_INCLUDE = r"[ \t]*#[ \t]*(?:include|import|include_next)[ \t]*([\"<])([^\">\n]+)[\">]"
_HEADER_PATHS = frozenset({"", "include", "includes", "inc", "headers", "src", "source", "sources", "lib"})
"""The folders in which `<x.h>` is searched for. `<string.h>` does not mean just any `string.h`."""


def _modules(text: str) -> Iterator[Module]:
    for quote, name in by_line(_INCLUDE).findall(text):
        yield Module("sys" if quote == "<" else "c", name)


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    name = module.name
    found = places.relative(folder, name, ("",))
    while found is None and name.startswith(("./", "../")):
        name = name.partition("/")[2]
    return (found or places.absolute(folder, name, ("",)),)


_C_QUERIES = r"""
(identifier) @read
(type_identifier) @read
(field_expression argument: (_) @on field: (field_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))

(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression argument: (_) @on field: (field_identifier) @write))

(function_definition type: (_) @returns)

(declaration declarator: (function_declarator declarator: (identifier) @announce))
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @announce)))
(declaration
  declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @announce))))

(preproc_function_def value: (preproc_arg) @text)

; Bindings
(declaration type: (_) @of declarator: (init_declarator declarator: (_) @holder value: (initializer_list
  (initializer_pair designator: (field_designator (field_identifier) @member)
    value: [(identifier) (pointer_expression (identifier))] @value))))
(parameter_declaration type: (_) @type declarator: (_) @bind)
(declaration type: (_) @type declarator: (_) @bind)
(field_declaration type: (_) @type declarator: (_) @bind)
"""  # noqa: E501
_CPP_QUERIES = r"""
(call_expression function: (qualified_identifier scope: (_) @on name: (identifier) @call))
(call_expression function: (qualified_identifier !scope name: (identifier) @call))
(call_expression
  function: (qualified_identifier scope: (_) @on name: (qualified_identifier name: (identifier) @call)))
(call_expression function: (template_function name: (identifier) @call))
(call_expression
  function: (qualified_identifier scope: (_) @on name: (template_function name: (identifier) @call)))
(call_expression
  function: (field_expression argument: (_) @on field: (template_method name: (field_identifier) @call)))
(new_expression type: (type_identifier) @call)
(new_expression type: (qualified_identifier scope: (_) @on name: (type_identifier) @call))
(compound_literal_expression type: (type_identifier) @call)
(qualified_identifier scope: (_) @on name: (identifier) @read)
(qualified_identifier scope: (_) @on name: (type_identifier) @read)
(field_initializer (field_identifier) @call)

(base_class_clause (type_identifier) @inherit)
(base_class_clause (qualified_identifier scope: (_) @on name: (type_identifier) @inherit))
(base_class_clause (template_type name: (type_identifier) @inherit))

(using_declaration) @import

(lambda_expression) @closure

; Bindings
; The members of a type parameter are known by no type.
(type_parameter_declaration (type_identifier) @generic)
(template_parameter_list (parameter_declaration type: (type_identifier) declarator: (identifier) @generic))
(namespace_definition name: (_) @namespace body: (_) @body)
(namespace_alias_definition name: (_) @bind . (_) @value)
(optional_parameter_declaration type: (_) @type declarator: (_) @bind)
(for_range_loop declarator: (_) @bind right: (_) @item)
(declaration type: (placeholder_type_specifier) declarator: (init_declarator declarator: (_) @bind value: (_) @value))
(lambda_capture_initializer left: (identifier) @bind)
"""  # noqa: E501

_IMPORTS = Imports(_modules, resolvers={"c": _resolve, "sys": by_path(("",), _HEADER_PATHS)})
_SCOPING = Scoping(Visibility.WORKSPACE, selves="this", bare_members=True, passes_functions=True)

C = Language(
    "c",
    endings="c h",
    by_text=_language_of_header,
    syntax=_C,
    queries=(_C_QUERIES,),
    imports=_IMPORTS,
    scoping=_SCOPING,
)
CPP = Language(
    "cpp",
    endings="c++ cc cpp cppm cu cuh cxx h++ hh hpp hxx inl ino ipp ixx metal tcc tpp",
    syntax=_CPP,
    queries=(_C_QUERIES, _CPP_QUERIES),
    imports=_IMPORTS,
    scoping=_SCOPING,
    family="c",
)
OBJC = Language(
    "objc",
    endings="m mm",
    aliases="objective-c objectivec",
    by_text=unless_xml("objc"),
    syntax=_OBJC,
    imports=_IMPORTS,
    scoping=_SCOPING,
    family="c",
)
