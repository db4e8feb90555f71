"""Solidity."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.languages.imports import FILES, Import, Imports, Module, compiled, imported
from cairn.languages.language import Language, Scoping
from cairn.languages.syntax import NamedNode, Node, Syntax, called, value


def _special_function(node: Node) -> NamedNode | None:
    """Name `receive() external payable {…}` and `fallback() external {…}`, which need no `function`."""
    return NamedNode(node.children[0].type, "function", node)


_SYNTAX = Syntax(
    {
        "contract_declaration": "class",
        "interface_declaration": "interface",
        "library_declaration": "module",
        "struct_declaration": "struct",
        "enum_declaration": "enum",
        "event_definition error_declaration user_defined_type_definition": "type",
        "function_definition modifier_definition": "function",
        "constructor_definition": called("constructor", "constructor"),
        "fallback_receive_definition": _special_function,
        "state_variable_declaration": value("field", "name"),
        "constant_variable_declaration": "constant",
    }
)

_STATEMENT = r"[ \t]*import\b[^\"';]{0,1500}[\"'][^\"'\n]+[\"'](?:[ \t]+as[ \t]+\w+)?"
_PATH = r"[\"']([^\"'\n]+)[\"'](?:\s+as\s+(\w+))?"
_NAMES = r"(\*|\w+)(?:\s+as\s+(\w+))?"


def _names(statement: str) -> Iterator[Import]:
    """`import {A as B} from "./a.sol"` adds `B`, `import "./a.sol"` adds all names of the file."""
    found = compiled(_PATH).search(statement)
    if found is None:
        return
    module = Module("file", found[1])
    head = statement[: found.start()].strip().removeprefix("import").removesuffix("from")
    for name, alias in compiled(_NAMES).findall(head):
        yield Import(alias or name, module, "" if name == "*" else name)
    if not head.strip():
        yield Import(found[2] or "*", module)


_QUERIES = r"""
(identifier) @read
(member_expression object: (_) @on property: (identifier) @read)
(user_defined_type (identifier) @on . (identifier) @read)

(call_expression function: (expression (identifier) @call))
(call_expression function: (expression (member_expression object: (_) @on property: (identifier) @call)))
(call_expression function: (expression (struct_expression type: (expression (identifier) @call))))
(call_expression function: (expression
  (struct_expression type: (expression (member_expression object: (_) @on property: (identifier) @call)))))
(new_expression name: (type_name (user_defined_type (identifier) @call)))
(emit_statement name: (expression (identifier) @call))
(emit_statement name: (expression (member_expression object: (_) @on property: (identifier) @call)))
(revert_statement error: (expression (identifier) @call))
(revert_statement error: (expression (member_expression object: (_) @on property: (identifier) @call)))
(modifier_invocation (identifier) @call)

(inheritance_specifier ancestor: (user_defined_type (identifier) @inherit .))

(assignment_expression left: (expression (identifier) @write))
(assignment_expression left: (expression (member_expression object: (_) @on property: (identifier) @write)))

(import_directive) @import

(function_definition return_type: (return_type_definition (parameter type: (_) @returns)))

; `type(T).max`
(member_expression object: (expression (meta_type_expression)) property: (identifier) @skip)
(struct_field_assignment name: (identifier) @skip)
(call_struct_argument name: (identifier) @skip)

; Bindings
(parameter type: (_) @type name: (identifier) @bind)
(variable_declaration type: (_) @type name: (identifier) @bind)
(state_variable_declaration type: (type_name !value_type) @type name: (identifier) @bind)
(state_variable_declaration type: (type_name value_type: (_) @item_type) name: (identifier) @bind)
(struct_member type: (_) @type name: (identifier) @bind)
"""

SOLIDITY = Language(
    "solidity",
    endings="sol",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(
        lambda text: (module for _, module in imported(_STATEMENT, _names, text)), _names, resolvers=FILES
    ),
    scoping=Scoping(selves="this", constructors="constructor", bare_members=True),
)
