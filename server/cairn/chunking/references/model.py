"""The symbol table of a file: what its syntax alone says of names. It depends on the text and the language only."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from attrs import frozen

TOP_LEVEL = -1
EVERYWHERE = -1
"""Stands for the file itself, where the number of a definition is expected."""


class ReferenceKind(IntEnum):
    """What a name is written for."""

    CALL = 0
    """Called, or made an instance of."""
    IMPORT = 1
    INHERIT = 2
    """Named as what a type extends or implements."""
    READ = 3
    WRITE = 4
    DECORATE = 5
    """A decorator or an annotation."""
    ANNOUNCE = 6
    """A static prototype of C, which is where nobody wants to land."""

    @property
    def label(self) -> str:
        """As the protocol names it: a decorator is called, with what it decorates; a prototype is read."""
        return _LABELS.get(self) or self.name.lower()


_LABELS = {ReferenceKind.DECORATE: "call", ReferenceKind.ANNOUNCE: "read"}


@frozen
class Definition:
    """A definition with a name. Lines are 0-based, characters UTF-16 code units, as in LSP."""

    name: str
    kind: str
    """`function`, `class`, `method`, …"""
    owner: str
    """The type or module that it belongs to, "" for none."""
    parent: int
    """The number of the definition around it, or TOP_LEVEL."""
    start_line: int
    end_line: int
    """Exclusive."""
    line: int
    """The line of its name."""
    character: int
    """Where its name starts in that line."""
    type: str = ""
    """What it returns, or the type of a value, as an expression of `chains`; "" where it is not written."""
    is_private: bool = False
    """Whether no other file can name it: `static` of C."""
    is_declaration: bool = False
    """Whether it is defined elsewhere, and only announced here: a prototype of C, an overload."""
    is_accessor: bool = False
    """Whether to read or write a member of this name calls it: a property."""


class Reference(NamedTuple):
    """A name where it is used. A file has thousands, and to make a tuple takes a third of the time of a class of attrs."""

    name: str
    kind: ReferenceKind
    line: int
    character: int
    enclosing: int
    """The number of the innermost definition around it, or TOP_LEVEL."""
    receiver: str = ""
    """What stands before the name and its dot, as an expression of `chains`; "" for nothing, "?" for what is not understood."""


@frozen
class Variable:
    """A name that a function, a type or the file gives to a value."""

    scope: int
    """The number of the definition in which it is known, or TOP_LEVEL."""
    name: str
    line: int
    """From where on it has this type."""
    type: str
    """Of what type it is, as an expression of `chains`; "" where that is not known."""
    end_line: int = EVERYWHERE
    """The last line at which it is known: that of a function without a name, or EVERYWHERE in its scope."""


@frozen
class Import:
    """A name that an import makes known in the file."""

    name: str
    """As the file writes it; "*" where every name of the module becomes known."""
    spec: str
    """The module, as `cairn.workspace.imports` writes it; "" for the file itself."""
    member: str = ""
    """What the module calls it; "" for the module itself."""


@frozen
class SymbolTable:
    """Everything that the syntax of one file says of names."""

    language: str = ""
    definitions: tuple[Definition, ...] = ()
    """In the order in which they begin, so that what encloses comes before what it encloses."""
    references: tuple[Reference, ...] = ()
    """In the order of their places."""
    variables: tuple[Variable, ...] = ()
    imports: tuple[Import, ...] = ()
    namespace: str = ""
    """The package or namespace that the file declares, with `/` between its parts."""
