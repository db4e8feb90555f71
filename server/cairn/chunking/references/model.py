"""The symbol table of a file: the names in its syntax. It depends only on the text and the language."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from attrs import frozen

TOP_LEVEL = -1
EVERYWHERE = -1
"""The file itself, in place of the number of a definition."""


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
    """A static prototype of C, which a reader does not want to find."""

    @property
    def label(self) -> str:
        """The protocol's name: a decorator calls what it names, a prototype is read."""
        return _LABELS.get(self) or self.name.lower()


_LABELS = {ReferenceKind.DECORATE: "call", ReferenceKind.ANNOUNCE: "read"}


@frozen
class Definition:
    """A named definition. Lines are 0-based, characters are UTF-16 code units, as in LSP."""

    name: str
    kind: str
    owner: str
    """The type or module that it belongs to, "" for none."""
    parent: int
    """The number of the enclosing definition, or TOP_LEVEL."""
    start_line: int
    end_line: int
    """The line after the last one."""
    line: int
    character: int
    """The place of its name."""
    type: str = ""
    """The type of its return value, or of the value, as an expression of `chains`; "" if unwritten."""
    is_private: bool = False
    """Whether no other file can refer to it: `static` of C."""
    is_declaration: bool = False
    """Whether the definition is elsewhere: a prototype of C, an overload."""
    is_accessor: bool = False
    """Whether reading or writing the member calls it: a property."""


class Reference(NamedTuple):
    """A use of a name. A file has thousands, and a tuple takes a third of an attrs object's time."""

    name: str
    kind: ReferenceKind
    line: int
    character: int
    enclosing: int
    """The number of the innermost enclosing definition, or TOP_LEVEL."""
    receiver: str = ""
    """The expression of `chains` before the name's dot; "" for none, "?" for code that is not understood."""


@frozen
class Variable:
    """A name that a function, a type or the file gives to a value."""

    scope: int
    name: str
    line: int
    type: str
    """The type, as an expression of `chains`; "" if unknown."""
    end_line: int = EVERYWHERE
    """The last line of the function without a name that it is local to, or EVERYWHERE in its scope."""


@frozen
class Import:
    name: str
    """The name as the file writes it; "*" for every name of the module."""
    spec: str
    """The module, as `cairn.workspace.imports` writes it; "" for the file itself."""
    member: str = ""
    """The module's own name for it; "" for the module itself."""


@frozen
class SymbolTable:
    language: str = ""
    definitions: tuple[Definition, ...] = ()
    """Sorted by their beginning, so that an enclosing definition precedes the enclosed ones."""
    references: tuple[Reference, ...] = ()
    variables: tuple[Variable, ...] = ()
    imports: tuple[Import, ...] = ()
    namespace: str = ""
