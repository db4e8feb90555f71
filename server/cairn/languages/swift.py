"""Swift, in which a file sees all files of its module."""

from __future__ import annotations

from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import NamedNode, Node, Syntax, called, named, text_of

_KINDS = {"struct": "struct", "enum": "enum", "extension": "extension", "actor": "class"}


def _property(node: Node) -> NamedNode | None:
    name = text_of(node, "name", "bound_identifier") or text_of(node, "name")
    return NamedNode(name, "property", node) if name.isidentifier() else None


_SYNTAX = Syntax(
    {
        "protocol_declaration": "interface",
        "function_declaration": "function",
        "protocol_function_declaration": "method",
        "typealias_declaration associatedtype_declaration": "type",
        "class_declaration": named("class", kinds=_KINDS, clean=lambda name: name.partition("<")[0]),
        "init_declaration": called("init", "constructor"),
        "deinit_declaration": called("deinit", "method"),
        "subscript_declaration": called("subscript", "method"),
        "property_declaration protocol_property_declaration": _property,
    },
    sections="if_config_declaration",
)

_QUERIES = r"""
(simple_identifier) @read
(type_identifier) @read
(navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @read))

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @call)))

(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(attribute (user_type (type_identifier) @decorate))

(directly_assignable_expression
  (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @write)))

(function_declaration (parameter) . (user_type) @returns)
(function_declaration (simple_identifier) . (user_type) @returns)
(function_declaration (parameter) . (optional_type) @returns)

(parameter external_name: (simple_identifier) @skip)
(value_argument name: (value_argument_label (simple_identifier) @skip))

(lambda_literal) @closure

; Bindings
(type_parameter (type_identifier) @generic (_) @type)
(inheritance_constraint (identifier . (simple_identifier) @generic .) (user_type) @type)
(parameter (simple_identifier) @bind . (user_type) @type)
(parameter (simple_identifier) @bind . (optional_type) @type)
(property_declaration name: (pattern bound_identifier: (simple_identifier) @bind) (type_annotation (_) @type))
(property_declaration name: (pattern bound_identifier: (simple_identifier) @bind) value: (_) @value)
(for_statement item: (pattern bound_identifier: (simple_identifier) @bind) collection: (_) @item)
(guard_statement bound_identifier: (simple_identifier) @bind)
(if_statement bound_identifier: (simple_identifier) @bind)
(lambda_parameter name: (simple_identifier) @bind)
"""  # noqa: E501

SWIFT = Language(
    "swift",
    endings="swift",
    interpreters="swift",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    scoping=Scoping(
        Visibility.WORKSPACE,
        selves="self Self",
        constructors="init",
        bare_members=True,
        extends_types=True,
    ),
)
