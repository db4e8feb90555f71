"""PHP."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.languages.imports import Import, Module, by_line, compiled, imports_of_types, slashed
from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import Syntax, named
from cairn.languages.templates import blade

_SYNTAX = Syntax(
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

_STATEMENT = (
    r"[ \t]*use[ \t]+(?:function[ \t]+|const[ \t]+)?\\?[\w\\]+(?:\{[^}]{0,2000}\})?"
    r"(?:[ \t]*,[ \t]*\\?[\w\\]+)*"
)
_USE = r"use\s++(?:function\s++|const\s++)?\\?([\w\\]+?)(?:\\?\{([^}]*)\})?(?:\s++as\s++(\w+))?\s*+;?\s*+\Z"
_MEMBER = r"([\w\\]+)(?:\s+as\s+(\w+))?"
_INCLUDE = (
    r"[^\n/#*'\"]*\b(?:require|include)(?:_once)?\b[ \t(]*"
    r"((?:__DIR__|dirname\(__FILE__\))[ \t]*\.[ \t]*)?[\"']/?([^\"'\n]+)[\"']"
)


def _names(statement: str) -> Iterator[Import]:
    """`use A\\B;` adds `B` from `A/B`."""
    for part in compiled(r",(?![^{]*\})").split(statement.strip().rstrip(";")):
        use = part if part.lstrip().startswith("use") else f"use {part}"
        if match := compiled(_USE).match(use.strip()):
            name, group, alias = match.groups()
            base = slashed(name)
            for member, other in compiled(_MEMBER).findall(group) if group else [("", alias or "")]:
                full = f"{base}/{slashed(member)}" if member else base
                last = full.rpartition("/")[2]
                yield Import(other or last, Module("php", full), last)


def _files(text: str) -> Iterator[Module]:
    for here, path in by_line(_INCLUDE).findall(text):
        yield Module("file", f"{'./' if here and not path.startswith('.') else ''}{path}")


_IMPORTS = imports_of_types(
    "php",
    _STATEMENT,
    _names,
    namespace=r"[ \t]*(?:<\?php[ \t]+)?namespace[ \t]+([\w\\]+)",
    foreign=r"[^/]*\Z",
    files=_files,
)

_QUERIES = r"""
(name) @read
(member_access_expression object: (_) @on name: (name) @read)
(nullsafe_member_access_expression object: (_) @on name: (name) @read)
(scoped_property_access_expression scope: (_) @on name: (variable_name (name) @read))
(class_constant_access_expression (_) @on . (name) @read)

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name prefix: (_) @on (name) @call))
(member_call_expression object: (_) @on name: (name) @call)
(nullsafe_member_call_expression object: (_) @on name: (name) @call)
(scoped_call_expression scope: (_) @on name: (name) @call)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))

(base_clause (name) @inherit)
(base_clause (qualified_name (name) @inherit))
(class_interface_clause (name) @inherit)
(class_interface_clause (qualified_name (name) @inherit))
(use_declaration (name) @inherit)
(use_declaration (qualified_name (name) @inherit))
(attribute (name) @decorate)

(assignment_expression left: (member_access_expression object: (_) @on name: (name) @write))

(namespace_use_declaration) @import

(method_declaration return_type: (_) @returns)
(function_definition return_type: (_) @returns)

(method_declaration !return_type body: (compound_statement (return_statement (_) @result)))
(function_definition !return_type body: (compound_statement (return_statement (_) @result)))

[(anonymous_function) (arrow_function)] @closure

; Bindings
(simple_parameter type: (_) @type name: (variable_name) @bind)
(simple_parameter !type name: (variable_name) @bind)
(property_promotion_parameter type: (_) @type name: (variable_name) @field)
(property_promotion_parameter type: (_) @type name: (variable_name) @bind)
(assignment_expression left: (variable_name) @bind right: (_) @value)
(foreach_statement (_) @item . (variable_name) @bind)
(foreach_statement (_) @item . (pair (_) . (variable_name) @bind))
(property_declaration type: (_) @type (property_element name: (variable_name) @bind))
(catch_clause type: (_) @type name: (variable_name) @bind)
(assignment_expression
  left: (member_access_expression object: (variable_name) @_this name: (name) @field) right: (_) @value
  (#eq? @_this "$this"))
"""

PHP = Language(
    "php",
    endings="blade.php inc php php3 php4 php5 phps phtml",
    interpreters="php",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=_IMPORTS,
    scoping=Scoping(
        Visibility.NAMESPACE, selves="this self static", supers="parent", constructors="__construct"
    ),
    sigil="$",
    islands=blade,
)
