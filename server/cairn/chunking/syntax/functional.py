"""Haskell, Elixir, Erlang, OCaml, the Lisps and Nix."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import (
    Found,
    Rule,
    Syntax,
    child_of_type,
    named,
    named_by,
    nth_child,
    text_of,
)

# --- Haskell -----------------------------------------------------------------------------------------


def _haskell_function(node: Node) -> Found | None:
    name = node.child_by_field_name("name")
    if name is None:
        infix = child_of_type(node, "infix")
        name = infix.child_by_field_name("operator") if infix is not None else None
    return Found(text_of(name), "function", node) if name is not None else None


def _haskell_instance(node: Node) -> Found | None:
    """`instance Show Foo`: named like the head reads, for it defines nothing new."""
    name = text_of(node.child_by_field_name("name"))
    arguments = text_of(node.child_by_field_name("patterns"))
    return Found(f"{name} {arguments}".strip(), "impl", node) if name else None


HASKELL = Syntax(
    {
        "function": _haskell_function,
        "bind": _haskell_function,
        "data_type": named("type"),
        "newtype": named("type"),
        "type_synomym": named("type"),
        "type_family": named("type"),
        "class": named("interface"),
        "instance": _haskell_instance,
    },
    wrappers=frozenset(
        {*("declarations", "imports", "class_declarations", "instance_declarations", "class_decl")}
    ),
    leading=frozenset({"signature", "pragma"}),
    clauses=True,
)


# --- Elixir ------------------------------------------------------------------------------------------

_ELIXIR_KINDS = {
    "defmodule": "module", "defprotocol": "interface", "defimpl": "impl",
    "def": "function", "defp": "function", "defguard": "function", "defguardp": "function",
    "defdelegate": "function", "defmacro": "macro", "defmacrop": "macro",
    "describe": "test", "test": "test",
}  # fmt: skip
_ELIXIR_LEADING = frozenset({"doc", "spec", "impl", "deprecated", "typedoc", "since", "tag"})


def _elixir_call(node: Node) -> Found | None:
    target = text_of(node.child_by_field_name("target"))
    kind = _ELIXIR_KINDS.get(target)
    arguments = child_of_type(node, "arguments") if kind else None
    head = nth_child(arguments, 0) if arguments is not None else None
    if kind is None or head is None:
        return None
    if kind == "test":
        return Found(text_of(head).strip('"'), kind, node)
    # `def f(a) when is_atom(a)`: the name is inside the guard, the call, or stands alone.
    while head is not None and head.type in ("binary_operator", "call"):
        head = head.child_by_field_name("left" if head.type == "binary_operator" else "target")
    name = text_of(head)
    return Found(name, kind, node) if name else None


def _elixir_attribute(node: Node) -> str:
    """`doc` of `@doc "…"`."""
    operand = node.child_by_field_name("operand")
    return text_of(operand.child_by_field_name("target")) if operand is not None else ""


def _elixir_type(node: Node) -> Found | None:
    """`@type t :: …` and `@callback init(opts) :: opts`."""
    kind = {"type": "type", "opaque": "type", "typep": "type", "callback": "method"}.get(
        _elixir_attribute(node)
    )
    operand = node.child_by_field_name("operand") if kind else None
    arguments = child_of_type(operand, "arguments") if operand is not None else None
    name = text_of(arguments).split("::")[0].split("(")[0].strip()
    return Found(name, kind, node) if kind and name.isidentifier() else None


def _elixir_docstring(node: Node) -> Node | None:
    body = child_of_type(node, "do_block")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "unary_operator" and _elixir_attribute(child) == "moduledoc":
            return child
    return None


ELIXIR = Syntax(
    {"call": _elixir_call, "unary_operator": _elixir_type},
    wrappers=frozenset({"do_block"}),
    leading_if={"unary_operator": lambda node: _elixir_attribute(node) in _ELIXIR_LEADING},
    docstring=_elixir_docstring,
    clauses=True,
)


# --- Erlang ------------------------------------------------------------------------------------------


def _erlang_function(node: Node) -> Found | None:
    clause = child_of_type(node, "function_clause")
    name = text_of(clause.child_by_field_name("name")) if clause is not None else ""
    return Found(name, "function", node) if name else None


def _erlang_macro(node: Node) -> Found | None:
    left = node.child_by_field_name("lhs")
    name = text_of(left.child_by_field_name("name")) if left is not None else ""
    return Found(name, "macro", node) if name else None


ERLANG = Syntax(
    {
        "fun_decl": _erlang_function,
        "record_decl": named("struct"),
        "type_alias": named("type"),
        "pp_define": _erlang_macro,
        "module_attribute": named("module"),
    },
    leading=frozenset({"spec"}),
    clauses=True,
)


# --- OCaml -------------------------------------------------------------------------------------------


def _ocaml_binding(node: Node) -> Found | None:
    pattern = node.child_by_field_name("pattern")
    if pattern is None or pattern.type != "value_name":
        return None
    kind = "function" if child_of_type(node, "parameter", "fun_expression") is not None else "constant"
    return Found(text_of(pattern), kind, node)


OCAML = Syntax(
    {
        "let_binding": _ocaml_binding,
        "type_binding": named("type"),
        "module_binding": named_by("module", "module_name"),
        "module_type_definition": named_by("interface", "module_type_name"),
        "class_binding": named_by("class", "class_name"),
        "exception_definition": named_by("type", "constructor_declaration"),
        "value_specification": named_by("function", "value_name"),
        "external": named_by("function", "value_name"),
        "method_definition": named_by("method", "method_name"),
    },
    wrappers=frozenset(
        {
            *("value_definition", "type_definition", "module_definition", "class_definition"),
            *("structure", "signature", "object_expression"),
        }
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

    def rule(node: Node) -> Found | None:
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
        return Found(text, kind, node) if text and "(" not in text else None

    return rule


def _clojure_docstring(node: Node) -> Node | None:
    third = nth_child(node, 2)
    return third if third is not None and third.type == "str_lit" and nth_child(node, 3) is not None else None


CLOJURE = Syntax({"list_lit": _lisp_form(name_depth=False)}, docstring=_clojure_docstring)
SCHEME = Syntax({"list": _lisp_form(name_depth=True)})


# --- Nix ---------------------------------------------------------------------------------------------


def _nix_binding(node: Node) -> Found | None:
    name = text_of(node.child_by_field_name("attrpath"))
    value = node.child_by_field_name("expression")
    kind = "function" if value is not None and value.type == "function_expression" else "variable"
    return Found(name, kind, node) if name else None


NIX = Syntax(
    {"binding": _nix_binding},
    wrappers=frozenset({"binding_set"}),
    sections=frozenset(
        {
            *(
                "function_expression",
                "attrset_expression",
                "rec_attrset_expression",
                "let_expression",
                "with_expression",
            )
        }
    ),
)
