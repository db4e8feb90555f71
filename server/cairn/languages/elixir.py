"""Elixir, which defines modules by qualified names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cairn.languages.imports import Import, Imports, Module, Places, by_line, compiled, imported, slashed
from cairn.languages.language import Language, Scoping
from cairn.languages.syntax import NamedNode, Node, Syntax, find, text_of

_KINDS = {
    "defmodule": "module", "defprotocol": "interface", "defimpl": "impl",
    "def": "function", "defp": "function", "defguard": "function", "defguardp": "function",
    "defdelegate": "function", "defmacro": "macro", "defmacrop": "macro",
    "describe": "test", "test": "test",
}  # fmt: skip
_TYPES = {"type": "type", "opaque": "type", "typep": "type", "callback": "method"}
_LEADING = frozenset("doc spec impl deprecated typedoc since tag".split())


def _call(node: Node) -> NamedNode | None:
    kind, head = _KINDS.get(text_of(node, "target")), find(node, "arguments", 0)
    if kind is None or head is None:
        return None
    if kind == "test":
        return NamedNode(text_of(head).strip('"'), kind, node)
    # In `def f(a) when is_atom(a)`, the name is in the call before `when`. A head may be just a name.
    while head is not None and head.type in ("binary_operator", "call"):
        head = find(head, "left" if head.type == "binary_operator" else "target")
    return NamedNode(text_of(head), kind, node)


def _attribute(node: Node) -> str:
    return text_of(node, "operand", "target")


def _elixir_type(node: Node) -> NamedNode | None:
    """Recognise `@type t :: …` and `@callback init(opts) :: opts`."""
    kind = _TYPES.get(_attribute(node))
    if kind is None:
        return None
    name = text_of(node, "operand", "arguments").split("::")[0].split("(")[0].strip()
    return NamedNode(name, kind, node) if name.isidentifier() else None


def _elixir_docstring(node: Node) -> Node | None:
    body = find(node, "do_block")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "unary_operator" and _attribute(child) == "moduledoc":
            return child
    return None


_SYNTAX = Syntax(
    {"call": _call, "unary_operator": _elixir_type},
    wrappers="do_block",
    leading_if={"unary_operator": lambda node: _attribute(node) in _LEADING},
    docstring=_elixir_docstring,
    clauses=True,
)

_STATEMENT = r"[ \t]*(?:alias|import|use|require)[ \t]+[A-Z][\w.]*?(?:\.\{[^}]{0,2000}\}|(?![\w.]))"
_USE = r"(alias|import|use|require)\s+([A-Z][\w.]*?)(?:\.\{([^}]*)\})?(?:,\s*(?:as:\s*([\w.]+))?(?s:.*))?\Z"
_DEFMODULE = r"[ \t]*defmodule[ \t]+([A-Z][\w.]*)"


def _names(statement: str) -> Iterator[Import]:
    """`alias A.{B, C}` adds the module `A.B` as `B`; `import A.B` adds its functions."""
    if (match := compiled(_USE).match(statement.strip())) is None:
        return
    word, name, group, alias = match.groups()
    base = slashed(name)
    for member in group.split(",") if group else [""]:
        full = f"{base}/{slashed(member)}".rstrip("/")
        last = full.rpartition("/")[2]
        yield Import(
            "*" if word in ("import", "use") else alias or last,
            Module("ex", full),
            "" if word == "import" else last,
        )


def _modules(text: str) -> Iterator[Module]:
    for name in by_line(_DEFMODULE).findall(text):
        yield Module("=ex", slashed(name))
    yield from (module for _, module in imported(_STATEMENT, _names, text))


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    found = places.declared.get(f"ex:{module.name}", ())
    return found if len(found) == 1 else ()


_QUERIES = r"""
(identifier) @read
(alias) @read

(call target: (identifier) @call)
(call target: (dot left: (_) @on right: (identifier) @call))
(unary_operator operand: (binary_operator left: (identifier) @call right: (integer)))
(unary_operator operand: (binary_operator
  left: (call target: (dot left: (_) @on right: (identifier) @call)) right: (integer)))

(call target: (identifier) @_use (arguments . (alias) @inherit) (#eq? @_use "use"))

((call target: (identifier) @_import (arguments . (_))) @import
  (#any-of? @_import "alias" "import" "require"))

; Bindings
(binary_operator left: (identifier) @bind operator: "=" right: (_) @value)
(call target: (identifier) @_def (arguments (call (arguments (identifier) @bind)))
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop"))
(stab_clause left: (arguments (identifier) @bind))
"""

ELIXIR = Language(
    "elixir",
    endings="ex exs",
    interpreters="elixir",
    syntax=_SYNTAX,
    queries=(_QUERIES,),
    imports=Imports(_modules, _names, resolvers={"ex": _resolve}, namespaced=frozenset({"ex"})),
    scoping=Scoping(selves="__MODULE__", supers="", bare_members=True, runs_by_name=True),
)
