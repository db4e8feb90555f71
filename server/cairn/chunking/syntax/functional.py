"""Haskell, Elixir, Erlang, OCaml, the Lisps and Nix."""

from __future__ import annotations

from tree_sitter import Node

from cairn.chunking.syntax.rules import NamedNode, Syntax, find, named, text_of, type_of


def _haskell_function(node: Node) -> NamedNode | None:
    return NamedNode(text_of(node, "name") or text_of(node, "infix", "operator"), "function", node)


def _haskell_instance(node: Node) -> NamedNode | None:
    """Name `instance Show Foo` by its whole head, because it defines no new name."""
    name, arguments = text_of(node, "name"), text_of(node, "patterns")
    return NamedNode(f"{name} {arguments}".strip(), "impl", node) if name else None


HASKELL = Syntax(
    {
        "data_type newtype type_synomym type_family": "type",
        "class": "interface",
        "function bind": _haskell_function,
        "instance": _haskell_instance,
    },
    wrappers="declarations imports class_declarations instance_declarations class_decl",
    leading="signature pragma",
    clauses=True,
)


_ELIXIR_KINDS = {
    "defmodule": "module", "defprotocol": "interface", "defimpl": "impl",
    "def": "function", "defp": "function", "defguard": "function", "defguardp": "function",
    "defdelegate": "function", "defmacro": "macro", "defmacrop": "macro",
    "describe": "test", "test": "test",
}  # fmt: skip
_ELIXIR_TYPES = {"type": "type", "opaque": "type", "typep": "type", "callback": "method"}
_ELIXIR_LEADING = frozenset("doc spec impl deprecated typedoc since tag".split())


def _elixir_call(node: Node) -> NamedNode | None:
    kind, head = _ELIXIR_KINDS.get(text_of(node, "target")), find(node, "arguments", 0)
    if kind is None or head is None:
        return None
    if kind == "test":
        return NamedNode(text_of(head).strip('"'), kind, node)
    # In `def f(a) when is_atom(a)`, the name is in the call before `when`. A head may be just a name.
    while head is not None and head.type in ("binary_operator", "call"):
        head = find(head, "left" if head.type == "binary_operator" else "target")
    return NamedNode(text_of(head), kind, node)


def _elixir_attribute(node: Node) -> str:
    return text_of(node, "operand", "target")


def _elixir_type(node: Node) -> NamedNode | None:
    """Recognise `@type t :: …` and `@callback init(opts) :: opts`."""
    kind = _ELIXIR_TYPES.get(_elixir_attribute(node))
    if kind is None:
        return None
    name = text_of(node, "operand", "arguments").split("::")[0].split("(")[0].strip()
    return NamedNode(name, kind, node) if name.isidentifier() else None


def _elixir_docstring(node: Node) -> Node | None:
    body = find(node, "do_block")
    for child in body.named_children[:3] if body is not None else ():
        if child.type == "unary_operator" and _elixir_attribute(child) == "moduledoc":
            return child
    return None


ELIXIR = Syntax(
    {"call": _elixir_call, "unary_operator": _elixir_type},
    wrappers="do_block",
    leading_if={"unary_operator": lambda node: _elixir_attribute(node) in _ELIXIR_LEADING},
    docstring=_elixir_docstring,
    clauses=True,
)


ERLANG = Syntax(
    {
        "record_decl": "struct",
        "type_alias": "type",
        "module_attribute": "module",
        "fun_decl": named("function", "function_clause", "name"),
        "pp_define": named("macro", "lhs", "name"),
    },
    leading="spec",
    clauses=True,
)


OCAML = Syntax(
    {
        "type_binding": "type",
        "let_binding": named(
            "constant", "value_name", kinds=dict.fromkeys(("parameter", "fun_expression"), "function")
        ),
        "module_binding": named("module", "module_name"),
        "module_type_definition": named("interface", "module_type_name"),
        "class_binding": named("class", "class_name"),
        "exception_definition": named("type", "constructor_declaration"),
        "value_specification external": named("function", "value_name"),
        "method_definition": named("method", "method_name"),
    },
    wrappers=(
        "value_definition type_definition module_definition class_definition "
        "structure signature object_expression"
    ),
)


_LISP_KINDS = {
    "defn": "function", "defn-": "function", "defmethod": "function", "defmulti": "function",
    "def": "variable", "defonce": "variable", "defmacro": "macro", "defprotocol": "interface",
    "definterface": "interface", "defrecord": "struct", "deftype": "struct", "ns": "module",
    "deftest": "test", "define": "function",
    "define-syntax": "macro", "define-syntax-rule": "macro", "define-record-type": "struct",
    "struct": "struct", "define-struct": "struct", "define/contract": "function", "module": "module",
}  # fmt: skip


def _lisp_form(node: Node) -> NamedNode | None:
    """Recognise `(defn name …)` and `(define (name …) …)`."""
    children = [child for child in node.named_children[:3] if "comment" not in child.type]
    kind = _LISP_KINDS.get(text_of(children[0])) if len(children) > 1 else None
    if kind is None:
        return None
    name = children[1]
    if name.type != "list" and text_of(children[0]) == "define":
        kind = "variable"
    while name.type == "list" and (first := find(name, 0)) is not None:
        name = first
    text = "".join(text_of(name).split()[-1:])
    return NamedNode(text, kind, node) if "(" not in text else None


def _clojure_docstring(node: Node) -> Node | None:
    third = find(node, 2)
    return third if type_of(third) == "str_lit" and find(node, 3) is not None else None


CLOJURE = Syntax({"list_lit": _lisp_form}, docstring=_clojure_docstring)
SCHEME = Syntax({"list": _lisp_form})


NIX = Syntax(
    {"binding": named("variable", "attrpath", kinds={"function_expression": "function"})},
    wrappers="binding_set",
    sections="function_expression attrset_expression rec_attrset_expression let_expression with_expression",
)
