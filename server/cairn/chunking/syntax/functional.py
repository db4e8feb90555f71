"""Haskell, Elixir, Erlang, OCaml, the Lisps and Nix."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax import rules
from cairn.chunking.syntax.rules import (
    NamedNode,
    Rule,
    Syntax,
    child_of_type,
    field_of,
    named,
    named_by,
    nth_child,
    text_of,
)

# --- Haskell -----------------------------------------------------------------------------------------


def _haskell_function(node: Node) -> NamedNode | None:
    name = field_of(node, "name") or field_of(child_of_type(node, "infix"), "operator")
    return rules.definition(text_of(name), "function", node)


def _haskell_instance(node: Node) -> NamedNode | None:
    """`instance Show Foo`: named like the head reads, for it defines nothing new."""
    name, arguments = text_of(field_of(node, "name")), text_of(field_of(node, "patterns"))
    return NamedNode(f"{name} {arguments}".strip(), "impl", node) if name else None


HASKELL = Syntax(
    {"type": "data_type newtype type_synomym type_family", "interface": "class"},
    {"function": _haskell_function, "bind": _haskell_function, "instance": _haskell_instance},
    wrappers="declarations imports class_declarations instance_declarations class_decl",
    leading="signature pragma",
    clauses=True,
)


# --- Elixir ------------------------------------------------------------------------------------------

_ELIXIR_KINDS = {
    "defmodule": "module", "defprotocol": "interface", "defimpl": "impl",
    "def": "function", "defp": "function", "defguard": "function", "defguardp": "function",
    "defdelegate": "function", "defmacro": "macro", "defmacrop": "macro",
    "describe": "test", "test": "test",
}  # fmt: skip
_ELIXIR_TYPES = {"type": "type", "opaque": "type", "typep": "type", "callback": "method"}
_ELIXIR_LEADING = frozenset("doc spec impl deprecated typedoc since tag".split())


def _elixir_call(node: Node) -> NamedNode | None:
    kind = _ELIXIR_KINDS.get(text_of(field_of(node, "target")))
    head = nth_child(child_of_type(node, "arguments"), 0) if kind else None
    if kind is None or head is None:
        return None
    if kind == "test":
        return NamedNode(text_of(head).strip('"'), kind, node)
    # `def f(a) when is_atom(a)`: the name is inside the guard, the call, or stands alone.
    while head is not None and head.type in ("binary_operator", "call"):
        head = field_of(head, "left" if head.type == "binary_operator" else "target")
    return rules.definition(text_of(head), kind, node)


def _elixir_attribute(node: Node) -> str:
    """`doc` of `@doc "…"`."""
    return text_of(field_of(node, "operand", "target"))


def _elixir_type(node: Node) -> NamedNode | None:
    """`@type t :: …` and `@callback init(opts) :: opts`."""
    kind = _ELIXIR_TYPES.get(_elixir_attribute(node))
    arguments = child_of_type(field_of(node, "operand"), "arguments") if kind else None
    name = text_of(arguments).split("::")[0].split("(")[0].strip()
    return NamedNode(name, kind, node) if kind and name.isidentifier() else None


def _elixir_docstring(node: Node) -> Node | None:
    body = child_of_type(node, "do_block")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "unary_operator" and _elixir_attribute(child) == "moduledoc":
            return child
    return None


ELIXIR = Syntax(
    rules={"call": _elixir_call, "unary_operator": _elixir_type},
    wrappers="do_block",
    leading_if={"unary_operator": lambda node: _elixir_attribute(node) in _ELIXIR_LEADING},
    docstring=_elixir_docstring,
    clauses=True,
)


# --- Erlang ------------------------------------------------------------------------------------------


def _erlang_function(node: Node) -> NamedNode | None:
    name = field_of(child_of_type(node, "function_clause"), "name")
    return rules.definition(text_of(name), "function", node)


ERLANG = Syntax(
    {"struct": "record_decl", "type": "type_alias", "module": "module_attribute"},
    {"fun_decl": _erlang_function, "pp_define": named("macro", "lhs", "name")},
    leading="spec",
    clauses=True,
)


# --- OCaml -------------------------------------------------------------------------------------------


def _ocaml_binding(node: Node) -> NamedNode | None:
    pattern = field_of(node, "pattern")
    if pattern is None or pattern.type != "value_name":
        return None
    kind = "function" if child_of_type(node, "parameter", "fun_expression") is not None else "constant"
    return NamedNode(text_of(pattern), kind, node)


OCAML = Syntax(
    {"type": "type_binding"},
    {
        "let_binding": _ocaml_binding,
        "module_binding": named_by("module", "module_name"),
        "module_type_definition": named_by("interface", "module_type_name"),
        "class_binding": named_by("class", "class_name"),
        "exception_definition": named_by("type", "constructor_declaration"),
        "value_specification": named_by("function", "value_name"),
        "external": named_by("function", "value_name"),
        "method_definition": named_by("method", "method_name"),
    },
    wrappers=(
        "value_definition type_definition module_definition class_definition "
        "structure signature object_expression"
    ),
)


# --- Lisps -------------------------------------------------------------------------------------------

_LISP_KINDS = {
    "defn": "function", "defn-": "function", "defmethod": "function", "defmulti": "function", "def": "variable",
    "defonce": "variable", "defmacro": "macro", "defprotocol": "interface", "definterface": "interface",
    "defrecord": "struct", "deftype": "struct", "ns": "module", "deftest": "test", "define": "function",
    "define-syntax": "macro", "define-syntax-rule": "macro", "define-record-type": "struct", "struct": "struct",
    "define-struct": "struct", "define/contract": "function", "module": "module",
}  # fmt: skip


def _lisp_form(name_depth: bool) -> Rule:
    """`(defn name …)`; with `name_depth` also `(define (name …) …)`."""

    def rule(node: Node) -> NamedNode | None:
        children = [child for child in node.named_children[:3] if "comment" not in child.type]
        kind = _LISP_KINDS.get(text_of(children[0])) if len(children) > 1 else None
        if kind is None:
            return None
        name = children[1]
        if name.type == "list":
            while name_depth and name.type == "list" and (first := nth_child(name, 0)) is not None:
                name = first
        elif kind == "function" and text_of(children[0]) == "define":
            kind = "variable"
        text = text_of(name).split()[-1] if text_of(name).split() else ""
        return NamedNode(text, kind, node) if text and "(" not in text else None

    return rule


def _clojure_docstring(node: Node) -> Node | None:
    third = nth_child(node, 2)
    return third if third is not None and third.type == "str_lit" and nth_child(node, 3) is not None else None


CLOJURE = Syntax(rules={"list_lit": _lisp_form(name_depth=False)}, docstring=_clojure_docstring)
SCHEME = Syntax(rules={"list": _lisp_form(name_depth=True)})


# --- Nix ---------------------------------------------------------------------------------------------


def _nix_binding(node: Node) -> NamedNode | None:
    value = field_of(node, "expression")
    kind = "function" if value is not None and value.type == "function_expression" else "variable"
    return rules.definition(text_of(field_of(node, "attrpath")), kind, node)


NIX = Syntax(
    rules={"binding": _nix_binding},
    wrappers="binding_set",
    sections="function_expression attrset_expression rec_attrset_expression let_expression with_expression",
)
