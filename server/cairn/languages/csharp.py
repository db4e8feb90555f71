"""C#."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.languages.imports import Import, Module, compiled, imports_of_types, slashed
from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import NamedNode, Node, Syntax, called, find, text_of


def _field(node: Node) -> NamedNode | None:
    declarator = find(node, "variable_declaration", "variable_declarator")
    name = text_of(declarator, "name") or text_of(declarator, 0)
    constant = any(text_of(child) == "const" for child in node.named_children if child.type == "modifier")
    return NamedNode(name, "constant" if constant else "field", node)


_SYNTAX = Syntax(
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
        "field_declaration event_field_declaration": _field,
    },
    wrappers="global_statement",
    sections="namespace_declaration declaration_list preproc_if preproc_else",
)

_STATEMENT = r"[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?[\w.]+[ \t]*;"
_USING = r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)"


def _names(statement: str) -> Iterator[Import]:
    """`using a.b;` adds every type, `using static a.B;` every member, `using x = a.B;` one type."""
    if match := compiled(_USING).match(statement.strip()):
        _, alias, name = match.groups()
        base = slashed(name)
        yield Import(alias or "*", Module("cs", base), base.rpartition("/")[2] if alias else "")


_IMPORTS = imports_of_types(
    "cs", _STATEMENT, _names, namespace=r"[ \t]*@?namespace[ \t]+([\w.]+)", foreign="System"
)

_QUERIES = r"""
(identifier) @read
(member_access_expression expression: (_) @on name: (identifier) @read)
(qualified_name qualifier: (_) @on name: (identifier) @read)

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (identifier) @call))
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (generic_name (identifier) @call)))
(invocation_expression
  function: (conditional_access_expression condition: (_) @on (member_binding_expression name: (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name (identifier) @call))
(object_creation_expression type: (qualified_name qualifier: (_) @on name: (identifier) @call))

(base_list (identifier) @inherit)
(base_list (generic_name (identifier) @inherit))
(base_list (qualified_name qualifier: (_) @on name: (identifier) @inherit))
(base_list (primary_constructor_base_type type: (identifier) @inherit))
(attribute name: (identifier) @decorate)

(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_access_expression expression: (_) @on name: (identifier) @write))

(using_directive) @import

(method_declaration returns: (_) @returns)
(local_function_statement type: (_) @returns)

[(lambda_expression) (anonymous_method_expression)] @closure

; Bindings
(parameter_list . (parameter (modifier) @_this type: (_) @receiver) (#eq? @_this "this"))
(type_parameter_constraints_clause . (identifier) @generic (type_parameter_constraint (_) @type))
(parameter type: (_) @type name: (identifier) @bind)
(parameter !type name: (identifier) @bind)
(implicit_parameter) @bind
(variable_declaration type: (_) @type (variable_declarator name: (identifier) @bind))
(variable_declaration type: (implicit_type) (variable_declarator name: (identifier) @bind (_) @value))
(foreach_statement type: (implicit_type) left: (identifier) @bind right: (_) @item)
(foreach_statement type: (identifier) @type left: (identifier) @bind)
(property_declaration type: (_) @type name: (identifier) @bind)
(declaration_pattern type: (_) @type name: (identifier) @bind)
(catch_declaration type: (_) @type name: (identifier) @bind)
"""  # noqa: E501

CSHARP = Language(
    "csharp",
    endings="cs csx",
    aliases="c#",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=_IMPORTS,
    scoping=Scoping(
        Visibility.NAMESPACE,
        supers="base",
        bare_members=True,
        reopens_types=True,
        extends_types=True,
        override=0.5,
    ),
)
