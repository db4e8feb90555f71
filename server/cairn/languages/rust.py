"""Rust."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from cairn.languages.imports import Import, Imports, Module, Places, by_line, compiled, statements
from cairn.languages.language import Language, Scoping
from cairn.languages.syntax import NamedNode, Node, Syntax, named, text_of


def _impl(node: Node) -> NamedNode | None:
    implementer = text_of(node, "type")
    name = implementer.partition("<")[0].rpartition("::")[2].strip("&( ")
    return NamedNode(name or implementer, "impl", node)


_SYNTAX = Syntax(
    {
        "function_item function_signature_item": "function",
        "struct_item": "struct",
        "union_item": "union",
        "enum_item": "enum",
        "trait_item": "trait",
        "macro_definition": "macro",
        "static_item": "constant",
        "type_item associated_type": "type",
        "impl_item": _impl,
        # `mod x;` refers to another file.
        "mod_item": named("module", needs="body"),
        "const_item": named("constant", clean=lambda name: "" if name == "_" else name),
    },
    sections="foreign_mod_item declaration_list",
    leading="attribute_item",
    separator="::",
)

_STATEMENT = r"[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]++)?(?:use|extern crate)[ \t]++[^;=(]{1,2000};"
_KEYWORDS = r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:use|extern\s+crate)\b"
_TOKEN = r"\bas\s+(\w+)|([\w#]+)|(::|[{},*])"
_MOD = r"[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;"
_PATH = r"crate((?:::\w+)+)"
_STANDARD = ("std", "core", "alloc", "proc_macro")
_CARGO_NAME = r"\[(?:package|lib)\][^\[]*?\nname[ \t]*=[ \t]*\"([\w-]+)\""


def _names(statement: str) -> Iterator[Import]:
    """`use crate::{a::B, c as d}` adds `B` from `crate/a/B`, and `d` (there `c`) from `crate/c`."""
    text = compiled(_KEYWORDS).sub("", statement.strip().rstrip(";"))
    path: list[str] = []
    bases = [path]
    alias = ""

    def finished() -> Iterator[Import]:
        if path and path is not bases[-1]:
            parts = path[:-1] if path[-1] == "self" else path
            if parts and parts[-1] == "*":
                yield Import("*", Module("rs", "/".join(parts[:-1])))
            elif parts:
                yield Import(alias or parts[-1], Module("rs", "/".join(parts)), parts[-1])

    for name, word, mark in compiled(_TOKEN).findall(text):
        if name:
            alias = name
        elif word or mark == "*":
            path = [*path, word or mark]
        elif mark == "{":
            bases.append(path)
        elif mark in (",", "}"):
            yield from finished()
            alias = ""
            if mark == "}" and len(bases) > 1:
                path = bases.pop()
                path = bases[-1]
            else:
                path = bases[-1]
    yield from finished()


def _modules(text: str) -> Iterator[Module]:
    """Yield `crate/a/B` for `use crate::a::B`, `self/x` for `mod x;`, and every path from `crate`."""
    for name in by_line(_MOD).findall(text):
        yield Module("rs", f"self/{name}")
    for statement in statements(_STATEMENT, text):
        for each in _names(statement):
            first, _, rest = each.module.name.partition("/") if each.module else ("", "", "")
            if first == "super" and statement[:1].isspace():
                # An indented `super` belongs to an inline module, which is in the file itself.
                if rest and rest.partition("/")[0] not in _STANDARD:
                    yield Module("rs", f"self/{rest}")
            elif each.module is not None and first and first not in _STANDARD:
                yield each.module
    for path in compiled(_PATH).findall(text):
        yield Module("rs", f"crate{path.replace('::', '/')}")


def _cargo(text: str) -> Iterator[Module]:
    for name in by_line(_CARGO_NAME).findall(text):
        yield Module("=rs", name.replace("-", "_"))


def _resolve(places: Places, path: str, module: Module) -> Iterable[str | None]:
    """Return the file of the deepest module on the path that has one."""
    first, *parts = module.name.split("/")
    root, here = _crate(places, path)
    if first == "self":
        parts = [*here, *parts]
    elif first == "super":
        while parts and parts[0] == "super":
            parts, here = parts[1:], here[:-1]
        parts = [*here[:-1], *parts]
    elif first != "crate":
        if found := places.folder_of("rs", first, posixpath.dirname(path)):
            root = f"{found[0]}/src".lstrip("/")
        elif _module(places, root, [*here, first]):
            parts = [*here, first, *parts]
        else:
            return ()
    for length in range(len(parts), -1, -1):
        if file := _module(places, root, parts[:length]):
            return (file,)
    return ()


def _module(places: Places, root: str, parts: Sequence[str]) -> str | None:
    return places.relative(root, "/".join(parts), (".rs", "/mod.rs") if parts else ("lib.rs", "main.rs"))


def _crate(places: Places, path: str) -> tuple[str, list[str]]:
    """Return the folder of the crate's root module, and the names from there to the module in `path`."""
    folder, _, file = path.rpartition("/")
    stem = file.removesuffix(".rs")
    root = places.crate_root(folder)
    if root is None:
        return folder, []
    below = folder[len(root) :].strip("/").split("/") if folder != root else []
    return root, below if stem in ("mod", "lib", "main") else [*below, stem]


_QUERIES = r"""
(identifier) @read
(type_identifier) @read
(field_expression value: (_) @on field: (field_identifier) @read)
(scoped_identifier path: (_) @on name: (identifier) @read)
(scoped_type_identifier path: (_) @on name: (type_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @on name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier path: (_) @on name: (identifier) @call)))
(call_expression
  function: (generic_function function: (field_expression value: (_) @on field: (field_identifier) @call)))
(call_expression function: (parenthesized_expression
  (field_expression value: (_) @on field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier path: (_) @on name: (identifier) @call))
; The arguments of a macro are tokens: a name before parentheses is a call.
((token_tree (identifier) @call . (token_tree) @_arguments) (#match? @_arguments "^\\("))

(impl_item trait: (type_identifier) @inherit)
(impl_item trait: (generic_type type: (type_identifier) @inherit))
(impl_item trait: (scoped_type_identifier path: (_) @on name: (type_identifier) @inherit))
(trait_item bounds: (trait_bounds (type_identifier) @inherit))
(attribute_item (attribute (identifier) @decorate))
(attribute_item (attribute arguments: (token_tree (identifier) @decorate)))

(assignment_expression left: (field_expression value: (_) @on field: (field_identifier) @write))
(assignment_expression left: (identifier) @write)

(use_declaration) @import
(extern_crate_declaration) @import

(function_item return_type: (_) @returns)
(function_signature_item return_type: (_) @returns)

(field_initializer field: (field_identifier) @skip)

(closure_expression) @closure

; Bindings
(parameter pattern: (identifier) @bind type: (_) @type)
(parameter pattern: (mut_pattern (identifier) @bind) type: (_) @type)
(closure_parameters (identifier) @bind)
(let_declaration pattern: (identifier) @bind type: (_) @type)
(let_declaration pattern: (identifier) @bind !type value: (_) @value)
(let_declaration pattern: (mut_pattern (identifier) @bind) !type value: (_) @value)
(let_declaration pattern: (tuple_pattern (identifier) @bind))
(for_expression pattern: (identifier) @bind value: (_) @item)
(let_condition pattern: (tuple_struct_pattern (identifier) @bind .) value: (_) @value)
(tuple_struct_pattern type: (_) (identifier) @bind)
(match_pattern (identifier) @bind)
(field_declaration name: (field_identifier) @bind type: (_) @type)
(const_item name: (identifier) @bind type: (_) @type value: (_) @value)
(static_item name: (identifier) @bind type: (_) @type value: (_) @value)
(type_item name: (type_identifier) @bind type: (_) @type)
(struct_expression name: (_) @of body: (field_initializer_list
  (field_initializer field: (field_identifier) @member value: [(identifier) (scoped_identifier)] @value)))
(type_parameter name: (type_identifier) @generic bounds: (_) @type)
(where_predicate left: (type_identifier) @generic bounds: (_) @type)
"""  # noqa: E501

RUST = Language(
    "rust",
    endings="rs",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(
        _modules,
        _names,
        resolvers={"rs": _resolve},
        by_file=frozenset({"rs"}),
        manifests={"Cargo.toml": _cargo},
    ),
    scoping=Scoping(selves="self Self", extends_types=True),
)
