"""Places of definitions, and the references that lead to them."""

from __future__ import annotations

from attrs import field, frozen

from cairn.chunking.references.model import ReferenceKind


@frozen
class Place:
    """A definition in a file. Lines are 0-based, characters UTF-16 code units, as in LSP."""

    path: str
    number: int = field(repr=False)
    """Which of the file's definitions it is."""
    name: str
    qualified: str
    """With the names of what is around it: `Application.handle`."""
    kind: str
    """`function`, `class`, `method`, …"""
    start_line: int
    end_line: int
    """Exclusive."""
    line: int
    """The line of its name."""
    character: int
    """Where its name starts in that line."""


@frozen
class Edge:
    """A reference from one place to a definition."""

    path: str
    line: int
    character: int
    name: str
    """As it is written there."""
    kind: ReferenceKind
    enclosing: Place | None
    """The innermost function or type around it; None at the top level of its file."""
    target: Place | None
    """The definition that it means; None where the workspace has none."""
    confidence: float
    """0 to 1."""
    via: str
    """Why it is thought to mean this one, in a few words."""


@frozen
class Edges:
    """References, those of the highest confidence first, then by path and line."""

    found: tuple[Edge, ...] = ()
    complete: bool = True
    """Whether all were looked at; a name that is written in thousands of files is not followed to its end."""
