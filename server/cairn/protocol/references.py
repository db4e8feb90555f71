"""`cairn/references`: what refers to a definition, and what it refers to."""

from __future__ import annotations

import enum

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.places import Position, Range, TextDocument, check_range
from cairn.protocol.search import IndexState
from cairn.schema.bounds import NOT_BLANK, at_most, within


class ReferenceDirection(enum.StrEnum):
    """The kind of references to look up."""

    CALLERS = "callers"
    """The calls of the definition."""
    CALLEES = "callees"
    """What the definition calls, in the order of its code."""
    USES = "uses"
    """The places that call, import, read, write or inherit from the definition."""
    IMPLEMENTATIONS = "implementations"
    """The types that extend or implement the definition, or the methods that override it."""
    TESTS = "tests"
    """The places in tests that call the definition, directly or through one other function."""


@frozen
class ReferencesParams:
    """The params of `cairn/references`. Give either `symbol`, or `text_document` and `position`."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    """`name`, `Owner.name`, `path:line` or `path:line:column`. Line and column are 1-based, and mean the
    definition at or around that place."""
    text_document: TextDocument | None = None
    position: Position | None = None
    """A position in the name of a definition, or of a reference to it."""
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    depth: int = field(default=1, metadata=within(1, 5))
    """How many levels to follow: with 2, the callers of the callers, too. Each function is followed once."""
    limit: int = field(default=100, metadata=within(0, 1_000))
    """How many references to return at most; those of the first level come first. With 0, only the
    definitions are returned."""

    def __attrs_post_init__(self) -> None:
        if self.symbol is not None:
            if self.text_document is not None or self.position is not None:
                raise InvalidRequestError("symbol", "give either symbol, or textDocument and position")
            if not self.symbol.strip():
                raise InvalidRequestError("symbol", "is empty; give a name, Owner.name or path:line")
        elif self.text_document is None and self.position is None:
            raise InvalidRequestError("symbol", "is required, or textDocument and position instead")
        elif self.text_document is None or self.position is None:
            missing = "textDocument" if self.text_document is None else "position"
            raise InvalidRequestError(missing, "is required: a place is textDocument and position")
        if self.position is not None:
            check_range("position", Range(self.position, self.position))


@frozen
class SymbolPlace:
    """A definition."""

    path: str
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The whole lines of the definition."""
    selection_range: Range
    """The name of the definition."""
    symbol: str
    """The name, qualified by the enclosing definitions: `Application.handle`."""
    kind: str
    """`function`, `class`, `method`, …"""
    line: str
    """The line that contains the name. A very long line is cut."""


@frozen
class EnclosingSymbol:
    """The innermost function or type around a reference, in the same file."""

    symbol: str
    kind: str
    range: Range
    selection_range: Range
    """The name of the function or type."""


@frozen
class FoundReference:
    path: str
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The place of the referring name or, if the reference is an implementation, of the implementing
    definition's name."""
    line: str
    """The line of the reference. A very long line is cut."""
    enclosing: EnclosingSymbol | None
    """The definition around the reference, or the implementing definition if the reference is an
    implementation; null at the top level of a file."""
    symbol: str
    """The qualified name of the referenced definition; if the workspace does not define it, the name as
    written."""
    target: SymbolPlace | None
    """The called definition if the direction is `callees`; null if the workspace does not define it. For
    other directions it is null."""
    kind: str
    """`call`, `import`, `inherit`, `read` or `write`."""
    confidence: float
    """How likely, from 0 to 1, the reference means this definition and not another of the same name."""
    via: str
    """Why the reference means this definition, in a few words."""
    depth: int
    """The level, from 1. References to the requested definition itself, or by it, are at level 1."""
    parent: int | None
    """The index, in `references`, of the reference one level above that led to this one; null at the first
    level. A caller refers to its parent's enclosing function; a callee is called in its parent's target."""


@frozen
class ReferencesAnswer:
    symbol: str
    """The qualified name of the first definition; if there is none, the name in the request."""
    definitions: tuple[SymbolPlace, ...]
    """The definitions that the symbol may mean, best first."""
    references: tuple[FoundReference, ...]
    """The references, level by level. In each level the highest confidence is first; callees are in the order
    of the code."""
    complete: bool
    """Whether all references are included."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    message: str = ""
    """Why no definition was found, with similar names; "" if one was found."""
