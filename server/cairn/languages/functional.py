"""Erlang, Haskell, the Lisps, Nix and OCaml."""

from __future__ import annotations

from cairn.languages.imports import FILES, Imports, by_path, pattern
from cairn.languages.language import Language
from cairn.languages.syntax import NamedNode, Node, Syntax, find, named, text_of, type_of


def _haskell_function(node: Node) -> NamedNode | None:
    return NamedNode(text_of(node, "name") or text_of(node, "infix", "operator"), "function", node)


def _haskell_instance(node: Node) -> NamedNode | None:
    """Name `instance Show Foo` by its whole head, because it defines no new name."""
    name, arguments = text_of(node, "name"), text_of(node, "patterns")
    return NamedNode(f"{name} {arguments}".strip(), "impl", node) if name else None


_HASKELL = Syntax(
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
_OCAML = Syntax(
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


ERLANG = Language(
    "erlang",
    endings="app.src erl hrl",
    files="rebar.config",
    interpreters="escript",
    syntax=Syntax(
        {
            "record_decl": "struct",
            "type_alias": "type",
            "module_attribute": "module",
            "fun_decl": named("function", "function_clause", "name"),
            "pp_define": named("macro", "lhs", "name"),
        },
        leading="spec",
        clauses=True,
    ),
    imports=Imports(pattern("file", r"-include(?:_lib)?\([ \t]*\"([^\"\n]+)\""), resolvers=FILES),
)
HASKELL = Language(
    "haskell",
    endings="hs hsc lhs",
    interpreters="runghc runhaskell stack",
    syntax=_HASKELL,
    imports=Imports(
        pattern("hs", r"import[ \t]+(?:safe[ \t]+)?(?:qualified[ \t]+)?([A-Z][\w.]*)", "."),
        resolvers={"hs": by_path((".hs", ".lhs", ".hsc"))},
    ),
)
NIX = Language(
    "nix",
    endings="nix",
    interpreters="nix-shell",
    syntax=Syntax(
        {"binding": named("variable", "attrpath", kinds={"function_expression": "function"})},
        wrappers="binding_set",
        sections=(
            "function_expression attrset_expression rec_attrset_expression let_expression with_expression"
        ),
    ),
    imports=Imports(
        pattern("nix", r"\b(?:import|callPackage)[ \t]+(\.{1,2}/[\w./-]+)", by_lines=False),
        resolvers={"nix": by_path(("", "/default.nix"))},
    ),
)
OCAML = Language("ocaml", endings="ml mli", interpreters="ocaml", syntax=_OCAML)

CLOJURE = Language(
    "clojure",
    endings="bb clj cljc cljs edn",
    syntax=Syntax({"list_lit": _lisp_form}, docstring=_clojure_docstring),
)
ELISP = Language("elisp", endings="el")
LISP = Language("lisp", endings="cl lisp lsp", aliases="commonlisp")
RACKET = Language("racket", endings="rkt rktl", interpreters="racket", syntax=Syntax({"list": _lisp_form}))
SCHEME = Language("scheme", endings="scm sld ss", interpreters="guile", syntax=Syntax({"list": _lisp_form}))
