"""Ruby."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cairn.languages.imports import Imports, Module, by_line, by_path
from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import NamedNode, Node, Syntax, find, text_of, type_of

_TESTS = frozenset("describe context it specify feature scenario test should".split())


def _type(kind: str, node: Node) -> NamedNode | None:
    scope, _, name = text_of(node, "name").rpartition("::")
    return NamedNode(name, kind, node, scope)


def _constant(node: Node) -> NamedNode | None:
    left = find(node, "left")
    return NamedNode(text_of(left), "constant", node) if type_of(left) == "constant" else None


def _call(node: Node) -> NamedNode | None:
    """Recognise `define_method(:x)`, `private def x`, and test blocks."""
    method, first = text_of(node, "method"), find(node, "arguments", 0)
    if first is None:
        return None
    if first.type == "method":
        return NamedNode(text_of(first, "name"), "method", first)
    if method == "define_method":
        return NamedNode(text_of(first).lstrip(":").strip("\"'"), "method", node)
    if method in _TESTS and find(node, "block") is not None:
        return NamedNode(text_of(first).strip("\"'"), "test", node)
    return None


_VISIBILITIES = frozenset("private protected public module_function private_class_method".split())

_SYNTAX = Syntax(
    {
        "method singleton_method": "method",
        "class": partial(_type, "class"),
        "module": partial(_type, "module"),
        "assignment": _constant,
        "call": _call,
    },
    wrappers="singleton_class body_statement",
    leading_if={"identifier": lambda node: text_of(node) in _VISIBILITIES},
    separator="::",
)

_REQUIRE = (
    r"[ \t]*(require_relative|require|load|autoload[ \t(]+:\w+,)[ \t(]+"
    r"(?:File\.expand_path\([ \t]*)?[\"']([^\"'\n#]+)[\"'](,[ \t]*__(?:FILE|dir)__)?"
)
_LOAD_PATHS = frozenset({"", "lib", "app", "src", "test", "tests", "spec", "ext"})
"""The folders in which `require` searches. `require "json"` does not mean just any `json.rb`."""


def _modules(text: str) -> Iterator[Module]:
    for word, name, here in by_line(_REQUIRE).findall(text):
        if here.endswith("__FILE__"):  # The file counts as a folder here.
            name = name.removeprefix("../")
        local = here or word == "require_relative"
        yield Module("rb", f"{'./' if local and not name.startswith('.') else ''}{name}")


_QUERIES = r"""
(constant) @read
(scope_resolution scope: (_) @on name: (constant) @read)

; A bare name is a call unless it is a variable.
(identifier) @call
(call receiver: (_) @on method: (identifier) @call)
(call receiver: (_) @on method: (constant) @call)
(call method: (identifier) @call)
(block_argument (simple_symbol) @read)
(call arguments: (argument_list (simple_symbol) @read))

(superclass (constant) @inherit)
(superclass (scope_resolution scope: (_) @on name: (constant) @inherit))
(call method: (identifier) @_include arguments: (argument_list (constant) @inherit)
  (#any-of? @_include "include" "extend" "prepend"))
(call method: (identifier) @_include arguments: (argument_list (scope_resolution scope: (_) @on name: (constant) @inherit))
  (#any-of? @_include "include" "extend" "prepend"))

(assignment left: (call receiver: (_) @on method: (identifier) @write))

; Bindings
(method_parameters (identifier) @bind)
(block_parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(optional_parameter name: (identifier) @bind value: (_) @value)
(keyword_parameter name: (identifier) @bind)
(splat_parameter name: (identifier) @bind)
(hash_splat_parameter name: (identifier) @bind)
(block_parameter name: (identifier) @bind)
(exception_variable (identifier) @bind)
(assignment left: [(identifier) (constant)] @bind right: (_) @value)
(left_assignment_list (identifier) @bind)
(operator_assignment left: (identifier) @bind right: (_) @value)
(assignment left: (instance_variable) @field right: (_) @value)
(operator_assignment left: (instance_variable) @field right: (_) @value)
"""  # noqa: E501

RUBY = Language(
    "ruby",
    endings="gemspec jbuilder podspec rake rb rbi rbs ru thor",
    files="brewfile capfile dangerfile fastfile gemfile guardfile podfile rakefile vagrantfile",
    interpreters="jruby ruby",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(_modules, resolvers={"rb": by_path((".rb", ""), _LOAD_PATHS)}),
    scoping=Scoping(
        Visibility.WORKSPACE,
        constructors="initialize",
        bare_members=True,
        reopens_types=True,
        runs_by_name=True,
    ),
    sigil=":",
)
