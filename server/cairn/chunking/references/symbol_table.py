"""The symbol table of a file: the names in its syntax tree. It depends only on the text and language."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from attrs import frozen

from cairn.languages.imports import Import

TOP_LEVEL = -1
EVERYWHERE = -1
"""The `end_line` of a variable that is known in its whole scope."""


TEMPLATE = ":template"
"""The receiver of a name that a template uses by itself: the component or the functions of the template."""


class ReferenceKind(IntEnum):
    """The purpose of a name in the text."""

    CALL = 0
    """A call, or the creation of an instance."""
    IMPORT = 1
    INHERIT = 2
    """A supertype or interface of a type."""
    READ = 3
    WRITE = 4
    DECORATE = 5
    ANNOUNCE = 6
    """A static prototype in C, which users do not want to find."""
    REQUEST = 7
    """A request to the route of a function. No symbol table contains these."""

    @property
    def label(self) -> str:
        """The name of the kind in the protocol, in which a decorator is a call, and a prototype a read."""
        return _LABELS.get(self) or self.name.lower()


_LABELS = {ReferenceKind.DECORATE: "call", ReferenceKind.ANNOUNCE: "read"}


@frozen
class Definition:
    """A named definition. Lines are 0-based, characters are UTF-16 code units, as in LSP."""

    name: str
    kind: str
    owner: str
    """The type or module that the definition belongs to, "" for none."""
    parent: int
    """The number of the enclosing definition, or TOP_LEVEL."""
    start_line: int
    end_line: int
    """The line after the last one."""
    line: int
    character: int
    """The character at which the name begins in `line`."""
    type: str = ""
    """The type of a value or of a function's return value, an expression of `chains`; "" if unwritten."""
    is_private: bool = False
    """Whether no other file can refer to the definition, as for `static` in C."""
    is_declaration: bool = False
    """Whether this is a declaration of a thing that is defined elsewhere: a prototype in C, an overload."""
    is_accessor: bool = False
    """Whether reading or writing the member calls this function, as for a property."""


class Reference(NamedTuple):
    """A use of a name. A file has thousands, and a tuple is created three times as fast as an attrs
    object."""

    name: str
    kind: ReferenceKind
    line: int
    character: int
    enclosing: int
    """The number of the innermost enclosing definition, or TOP_LEVEL."""
    receiver: str = ""
    """The expression of `chains` before the name's dot; "" for none, "?" for code that is not understood."""


RECEIVER = "(receiver)"
"""The name of the variable whose type is the one that an extension method extends."""


def type_parameter(name: str) -> str:
    """Return the name of the variable whose type is the bound of a type parameter."""
    return f"<{name}>"


def namespace(name: str) -> str:
    """Return the name of the variable whose lines are those of a namespace."""
    return f"{name}::"


@frozen
class Variable:
    """A name for a value in a function, in a type or at the top level of a file."""

    scope: int
    name: str
    line: int
    type: str
    """The type, as an expression of `chains`; "" if unknown."""
    end_line: int = EVERYWHERE
    """The last line of the function without a name in which alone the variable is known; EVERYWHERE if it is
    known in its whole scope."""


@frozen
class SymbolTable:
    language: str = ""
    definitions: tuple[Definition, ...] = ()
    """The definitions in the order in which they begin: an enclosing one comes before the enclosed ones."""
    references: tuple[Reference, ...] = ()
    variables: tuple[Variable, ...] = ()
    imports: tuple[Import, ...] = ()
    namespace: str = ""
