"""Places of definitions, and the references that lead to them."""

from __future__ import annotations

from attrs import field, frozen

from cairn.chunking.references.model import ReferenceKind


@frozen
class Place:
    """A definition in a file. Lines are 0-based, characters are UTF-16 code units, as in LSP."""

    path: str
    number: int = field(repr=False)
    name: str
    qualified: str
    """The name, preceded by the names of the enclosing definitions: `Application.handle`."""
    kind: str
    start_line: int
    end_line: int
    """The line after the last one."""
    line: int
    """The line of the name."""
    character: int
    """Where the name starts in that line."""


@frozen
class Edge:
    path: str
    line: int
    character: int
    name: str
    kind: ReferenceKind
    enclosing: Place | None
    """The innermost function or type around the reference; None at the top level of its file."""
    target: Place | None
    """The definition that the reference means; None if it is not in the workspace."""
    confidence: float
    """A number from 0 to 1."""
    via: str
    """The reason for choosing this target, in a few words."""


@frozen
class Edges:
    """References ordered by descending confidence, then by path and line."""

    found: tuple[Edge, ...] = ()
    complete: bool = True
    """Whether every reference was examined. Of a very common name, only some references are."""
