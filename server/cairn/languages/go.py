"""Go, whose imports name folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cairn.languages.imports import Import, Imports, Module, Places, by_line, compiled, imported, pattern
from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import NamedNode, Node, Syntax, named, text_of


def _method(node: Node) -> NamedNode | None:
    # For `(f *Foo[T])`, the owner is the receiver's type without pointer, name and type parameters.
    receiver = text_of(node, "receiver").strip("()").partition("[")[0].split()
    owner = receiver[-1].lstrip("*") if receiver else ""
    return NamedNode(text_of(node, "name"), "method", node, owner)


_SYNTAX = Syntax(
    {
        "function_declaration": "function",
        "type_alias": "type",
        "const_spec": "constant",
        "var_spec": "variable",
        "method_elem": "method",
        "method_declaration": _method,
        "type_spec": named("type", kinds={"struct_type": "struct", "interface_type": "interface"}),
    },
    wrappers="type_declaration const_declaration var_declaration var_spec_list interface_type struct_type",
)

_STATEMENT = r"import[ \t]*(?:\([^()]{0,8000}\)|(?:[\w.]+[ \t]+)?\"[^\"\n]+\")"
_IMPORT = r"[ \t]*(?:import\b[ \t]*)?(?:([\w.]+)[ \t]+)?[\"`]([^\"`\n]+)[\"`]"
_VERSION = r"v\d+\Z"


def _names(statement: str) -> Iterator[Import]:
    """`import w "example.org/web"` adds `w`, the package `example.org/web`; an alias `_` adds no name."""
    for alias, path in by_line(_IMPORT).findall("\n" + statement):
        parts = path.split("/")
        last = parts[-2] if compiled(_VERSION).match(parts[-1]) and len(parts) > 1 else parts[-1]
        name = alias or compiled(r"\.v\d+\Z").sub("", last).removeprefix("go-")
        yield Import({"_": "", ".": "*"}.get(name, name), Module("go", path))


def _modules(text: str) -> Iterator[Module]:
    """Yield the imported packages. A single word is in the standard library."""
    for _, module in imported(_STATEMENT, _names, text):
        if "/" in module.name or "." in module.name:
            yield module


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    """Return every file of the package except its tests."""
    found = places.folder_of("go", module.name, folder)
    if found is None:
        return ()
    files = places.in_folder.get("/".join(part for part in found if part), ())
    return [file for file in files if file.endswith(".go") and not file.endswith("_test.go")]


_QUERIES = r"""
(identifier) @read
(type_identifier) @read
(selector_expression operand: (_) @on field: (field_identifier) @read)
(qualified_type package: (package_identifier) @on name: (type_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @on field: (field_identifier) @call))
(call_expression function: (index_expression operand: (identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (type_instantiation_expression type: (type_identifier) @call))
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(type_conversion_expression
  type: (generic_type type: (qualified_type package: (_) @on name: (type_identifier) @call)))

; An embedded type provides its methods.
(field_declaration !name type: (type_identifier) @inherit)
(field_declaration !name type: (pointer_type (type_identifier) @inherit))
(field_declaration !name type: (qualified_type package: (_) @on name: (type_identifier) @inherit))
(field_declaration !name type: (pointer_type (qualified_type package: (_) @on name: (type_identifier) @inherit)))
(field_declaration !name type: (generic_type type: (type_identifier) @inherit))
(interface_type (type_elem (type_identifier) @inherit))
(interface_type (type_elem (qualified_type package: (_) @on name: (type_identifier) @inherit)))

(assignment_statement left: (expression_list (selector_expression operand: (_) @on field: (field_identifier) @write)))
(assignment_statement left: (expression_list (identifier) @write))

(import_spec) @import

(function_declaration result: (_) @returns)
(method_declaration result: (_) @returns)
(method_elem result: (_) @returns)

(func_literal) @closure

; The fields of a literal.
(keyed_element . (literal_element (identifier) @skip))

; Bindings
(var_spec name: (identifier) @holder value: (expression_list . (composite_literal body: (literal_value
  (keyed_element . (literal_element (identifier) @member) (literal_element [(identifier) (selector_expression)] @value))))))
(composite_literal type: (_) @of body: (literal_value
  (keyed_element . (literal_element (identifier) @member) (literal_element [(identifier) (selector_expression)] @value))))
(type_parameter_declaration name: (identifier) @generic type: (_) @type)
(parameter_declaration name: (identifier) @bind type: (_) @type)
(variadic_parameter_declaration name: (identifier) @bind type: (_) @item_type)
(short_var_declaration left: (expression_list . (identifier) @bind) right: (expression_list . (_) @value))
(short_var_declaration left: (expression_list . (identifier) @bind)
  right: (expression_list . (type_assertion_expression type: (_) @type)))
(short_var_declaration left: (expression_list . (identifier) @bind)
  right: (expression_list . (call_expression function: (identifier) @_make arguments: (argument_list . (_) @type)))
  (#any-of? @_make "make" "new"))
(short_var_declaration left: (expression_list (identifier) @bind))
(range_clause left: (expression_list (identifier) . (identifier) @bind) right: (_) @item)
(range_clause left: (expression_list . (identifier) @bind .) right: (_) @item)
(range_clause left: (expression_list (identifier) @bind))
(var_spec name: (identifier) @bind type: (_) @type)
(var_spec name: (identifier) @bind !type value: (expression_list . (_) @value))
(const_spec name: (identifier) @bind)
(type_switch_statement alias: (expression_list (identifier) @bind))
(field_declaration name: (field_identifier) @bind type: (_) @type)
(receive_statement left: (expression_list (identifier) @bind))
"""  # noqa: E501

GO = Language(
    "go",
    endings="go",
    aliases="golang",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(
        _modules,
        _names,
        namespace=r"package[ \t]+(\w+)",
        resolvers={"go": _resolve},
        manifests={"go.mod": pattern("=go", r"module[ \t]+\"?([^\s\"]+)")},
    ),
    scoping=Scoping(Visibility.FOLDER, selves="", passes_functions=True, override=0.5),
)
