"""Python and Starlark."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from attrs import evolve

from cairn.languages.imports import Import, Imports, Module, Places, compiled, statements
from cairn.languages.language import Language, Scoping
from cairn.languages.syntax import NamedNode, Node, Rule, Syntax, find, named, text_of, type_of, value_kind


def _assignment(node: Node) -> NamedNode | None:
    name = text_of(node, "left")
    # Names such as `__all__` only describe the module.
    if type_of(find(node, "left")) != "identifier" or name.startswith("__"):
        return None
    return NamedNode(name, value_kind(name), node)


def _docstring(node: Node) -> Node | None:
    body = node if node.type == "module" else find(node, "body")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "expression_statement":
            first = find(child, 0)
            return first if type_of(first) == "string" else None
        if child.type != "comment":
            return None
    return None


_RULES: dict[str, str | Rule] = {
    "function_definition": "function",
    "class_definition": "class",
    "assignment": _assignment,
    "type_alias_statement": named("type", "left", clean=lambda name: name.partition("[")[0]),
}
_SYNTAX = Syntax(
    _RULES,
    wrappers="decorated_definition expression_statement",
    sections=(
        "if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement block"
    ),
    leading="decorator",
    docstring=_docstring,
)


def _starlark_target(node: Node) -> NamedNode | None:
    """Recognise a build target such as `cc_library(name = "foo")`."""
    arguments = find(node, "arguments")
    for argument in arguments.named_children if arguments is not None else ():
        if text_of(argument, "name") == "name":
            return NamedNode(text_of(argument, "value").strip("\"'"), "target", node)
    return None


_STRINGS = {'"""': r'"""[^"]*(?:"{1,2}[^"]+)*"""', "'''": r"'''[^']*(?:'{1,2}[^']+)*'''"}
_STATEMENT = (
    r"[ \t]*(?:from[ \t]++\.*+[ \t]*+(?:(?!c?import\b)[\w.]++)?+[ \t]*+(?<=[ \t])c?import[ \t]*+"
    r"(?:\([^)]{0,2000}\)|(?:[^\n;#\\]|\\\r?\n)+)|c?import[ \t]++[^\n;#(]+)"
)
_FROM = r"\s*from\s++(\.*+)\s*+((?:(?!c?import\b)[\w.]++)?+)\s*+(?<=\s)c?import\s*+((?s:.*))"
_AS = r"([\w.*]+)(?:\s+as\s+(\w+))?"
_COMMENT = r"#[^\n]*"
_NAMES = 40
"""The maximum number of names in one `from x import a, b, ...`."""


def _names(statement: str) -> Iterator[Import]:
    """`from .http import web as w` adds `w`, the member `web` of `./http`."""
    text = compiled(_COMMENT).sub("", statement).replace("\\\r\n", " ").replace("\\\n", " ")
    if match := compiled(_FROM).match(text):
        dots, module, names = match.groups()
        name = module.replace(".", "/")
        if dots:
            name = f"{'/'.join(['..'] * (len(dots) - 1)) or '.'}/{name}".rstrip("/")
        for member, alias in compiled(_AS).findall(names):
            yield Import(alias or member, Module("py", name), "" if member == "*" else member)
        return
    for name, alias in compiled(_AS).findall(text.strip().removeprefix("c").removeprefix("import")):
        yield Import(alias or name, Module("py", name.replace(".", "/")))


def _modules(text: str) -> Iterator[Module]:
    """Yield what a file imports from outside the standard library. Module names are in lower case, but so are
    other names, and only the file system tells which are modules. Other members stand for the module."""
    for quotes, pattern in _STRINGS.items():
        if quotes in text:
            text = compiled(pattern).sub("", text)
    for statement in statements(_STATEMENT, text):
        for module, imported in groupby(_names(statement), key=lambda each: each.module):
            if module is None or module.name.partition("/")[0] in sys.stdlib_module_names:
                continue
            members = [each.member for each in imported][:_NAMES]
            lower = [each for each in members if each[:1].islower() or each[:1] == "_"]
            itself = [""] if lower and len(lower) < len(members) else []
            yield Module(module.tag, module.name, (*lower, *itself))


_FILES = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyx", ".pxd")


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    def find_file(name: str) -> str | None:
        if name.startswith("."):
            return places.relative(folder, name, _FILES)
        return places.absolute(folder, name, _FILES, places.is_plain_folder)

    found = [find_file(f"{module.name}/{member}") for member in module.members] or [None]
    if None in found:  # The module itself defines this member.
        found.append(find_file(module.name))
    return found


_QUERIES = r"""
(identifier) @read
(attribute object: (_) @on attribute: (identifier) @read)

(call function: (identifier) @call)
(call function: (attribute object: (_) @on attribute: (identifier) @call))

(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @on attribute: (identifier) @inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @inherit)))

(decorator (identifier) @decorate)
(decorator (attribute object: (_) @on attribute: (identifier) @decorate))

(assignment left: (attribute object: (_) @on attribute: (identifier) @write))
(augmented_assignment left: (attribute object: (_) @on attribute: (identifier) @write))

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import

(function_definition return_type: (type) @returns)

(keyword_argument name: (identifier) @skip)
(function_definition !return_type body: (block (return_statement (_) @result)))

; Bindings
(constrained_type . (type (identifier) @generic) (type) @type)
(assignment left: (identifier) @generic
  right: (call
    function: [(identifier) (attribute)]
    arguments: (argument_list (keyword_argument name: (identifier) @_bound value: (_) @type)))
  (#eq? @_bound "bound"))
(parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(default_parameter name: (identifier) @bind value: (_) @value)
(parameters (typed_parameter . (identifier) @bind type: (type) @type))
(typed_default_parameter name: (identifier) @bind type: (type) @type)
(typed_parameter (list_splat_pattern (identifier) @bind))
(typed_parameter (dictionary_splat_pattern (identifier) @bind))
(list_splat_pattern (identifier) @bind)
(dictionary_splat_pattern (identifier) @bind)
(assignment left: (identifier) @bind !type right: (_) @value)
(assignment left: (identifier) @bind !type right: (conditional_expression . (_) @value))
(assignment left: (identifier) @bind !type right: (conditional_expression (_) @value .))
(assignment left: (identifier) @bind !type right: (boolean_operator (_) @value))
(assignment left: (identifier) @bind type: (type) @type)
(assignment left: (pattern_list (identifier) @bind))
(assignment left: (tuple_pattern (identifier) @bind))
(named_expression name: (identifier) @bind value: (_) @value)
(for_statement left: (identifier) @bind right: (_) @item)
(for_statement left: (pattern_list (identifier) @bind))
(for_statement left: (tuple_pattern (identifier) @bind))
(for_in_clause left: (identifier) @bind right: (_) @item)
(for_in_clause left: (pattern_list (identifier) @bind))
(as_pattern (_) @value alias: (as_pattern_target (identifier) @bind))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field) !type right: (_) @value
  (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (conditional_expression . (_) @value) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (conditional_expression (_) @value .) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (boolean_operator (_) @value) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field) type: (type) @type
  (#any-of? @self "self" "cls"))
"""  # noqa: E501

PYTHON = Language(
    "python",
    endings="pxd py pyi pyw pyx",
    files="sconscript sconstruct wscript",
    interpreters="pypy python",
    aliases="ipython py3 python3",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(_modules, _names, resolvers={"py": _resolve}),
    scoping=Scoping(selves="self cls", constructors="__init__ __new__"),
)
STARLARK = Language(
    "starlark",
    endings="bazel bzl star",
    files="build build.bazel module.bazel tiltfile workspace",
    syntax=evolve(_SYNTAX, rules={**_RULES, "call": _starlark_target}, leading=""),
)
