"""How definitions look in the syntax trees of the languages that have a grammar."""

from __future__ import annotations

from cairn.chunking.syntax import (
    c_family,
    classes,
    declarative,
    functional,
    javascript,
    scripting,
    systems,
)
from cairn.chunking.syntax.rules import NamedNode, Syntax, generic_rule

__all__ = ["NamedNode", "Syntax", "generic_rule", "syntax_of"]

_SYNTAXES = {
    "bash": scripting.BASH,
    "c": c_family.C,
    "clojure": functional.CLOJURE,
    "cmake": declarative.CMAKE,
    "cpp": c_family.CPP,
    "csharp": classes.CSHARP,
    "css": declarative.CSS,
    "dart": classes.DART,
    "elixir": functional.ELIXIR,
    "erlang": functional.ERLANG,
    "fortran": systems.FORTRAN,
    "go": systems.GO,
    "graphql": declarative.GRAPHQL,
    "groovy": classes.GROOVY,
    "haskell": functional.HASKELL,
    "hcl": declarative.HCL,
    "java": classes.JAVA,
    "javascript": javascript.JAVASCRIPT,
    "julia": scripting.JULIA,
    "kotlin": classes.KOTLIN,
    "lua": scripting.LUA,
    "make": declarative.MAKE,
    "nix": functional.NIX,
    "objc": c_family.OBJC,
    "ocaml": functional.OCAML,
    "perl": scripting.PERL,
    "php": classes.PHP,
    "powershell": scripting.POWERSHELL,
    "proto": declarative.PROTO,
    "python": scripting.PYTHON,
    "r": scripting.R,
    "racket": functional.SCHEME,
    "ruby": scripting.RUBY,
    "rust": systems.RUST,
    "scala": classes.SCALA,
    "scheme": functional.SCHEME,
    "scss": declarative.SCSS,
    "sql": declarative.SQL,
    "starlark": scripting.STARLARK,
    "swift": classes.SWIFT,
    "tsx": javascript.TYPESCRIPT,
    "typescript": javascript.TYPESCRIPT,
    "vim": scripting.VIM,
    "zig": systems.ZIG,
}
_GENERIC = Syntax()


def syntax_of(language: str) -> Syntax:
    """The tables of a language; empty ones, to be used with `generic_rule`, if it has none of its own."""
    return _SYNTAXES.get(language, _GENERIC)
