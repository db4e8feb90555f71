"""Definitions in the syntax trees of each language with a grammar."""

from __future__ import annotations

from cairn.chunking.syntax import c_family, classes, declarative, functional, javascript, scripting, systems
from cairn.chunking.syntax.rules import Syntax

# A constant such as `JAVA` of one of these modules is the syntax of `java`.
_SYNTAXES = {
    name.lower(): value
    for module in (c_family, classes, declarative, functional, javascript, scripting, systems)
    for name, value in vars(module).items()
    if isinstance(value, Syntax)
} | {"racket": functional.SCHEME, "tsx": javascript.TYPESCRIPT}
_GENERIC = Syntax()


def syntax_of(language: str) -> Syntax:
    """Return the syntax of a language, or an empty one for use with `generic_rule`."""
    return _SYNTAXES.get(language, _GENERIC)
