"""`cairn/references`: who refers to a definition, and what it refers to."""

from __future__ import annotations

import enum

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.places import Position, Range, TextDocument, check_range
from cairn.protocol.search import IndexState
from cairn.schema.bounds import NOT_BLANK, at_most, within


class ReferenceDirection(enum.StrEnum):
    """Which references of a definition are asked for."""

    CALLERS = "callers"
    """The places that call it."""
    CALLEES = "callees"
    """What it calls, in the order of its code."""
    USES = "uses"
    """The places that call, import, read, write or inherit from it."""
    IMPLEMENTATIONS = "implementations"
    """The types that extend or implement it, or the methods that override it."""
    TESTS = "tests"
    """The places in tests that reach it, directly or over one function between."""


@frozen
class ReferencesParams:
    """The definition is given either by `symbol`, or by `text_document` and `position`."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    """`name`, `Owner.name`, or `path:line` or `path:line:column` (both counted from 1) for the definition at that place or
    around it."""
    text_document: TextDocument | None = None
    position: Position | None = None
    """The place of a name: that of a definition, or of a reference to it."""
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    depth: int = field(default=1, metadata=within(1, 5))
    """Levels to follow: 2 for the callers of the callers, too. Each function is followed once."""
    limit: int = field(default=100, metadata=within(0, 1_000))
    """References at most, those of the first level first; 0 for the definitions alone."""

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
    """URI of the workspace folder."""
    range: Range
    """Whole lines, from its first to its last."""
    selection_range: Range
    """Its name."""
    symbol: str
    """With the names of what is around it: `Application.handle`."""
    kind: str
    """`function`, `class`, `method`, …"""
    line: str
    """The text of the line of its name; of a very long line, the beginning."""


@frozen
class EnclosingSymbol:
    """The innermost function or type around a reference, in the same file."""

    symbol: str
    kind: str
    range: Range
    selection_range: Range
    """Its name."""


@frozen
class FoundReference:
    path: str
    uri: str
    folder: str
    """URI of the workspace folder."""
    range: Range
    """The name, where it is referred to; of an implementation, where that is defined."""
    line: str
    """The text of that line; of a very long line, the beginning."""
    enclosing: EnclosingSymbol | None
    """Null at the top level of the file. Of an implementation, the implementing definition itself."""
    symbol: str
    """What is referred to, with the names of what is around it; as it is written where the workspace does not define it."""
    target: SymbolPlace | None
    """Of callees, the definition that is called; null where the workspace has none, and for other directions."""
    kind: str
    """`call`, `import`, `inherit`, `read` or `write`."""
    confidence: float
    """0 to 1: how likely it means this definition and no other of the same name."""
    via: str
    """Why it is thought to mean this one."""
    depth: int
    """From 1: that of a reference to what was asked for, or by it."""
    parent: int | None
    """The index, in `references`, of the reference that led here: this one refers to its enclosing function or, of callees,
    stands in its target; null at the first level."""


@frozen
class ReferencesAnswer:
    symbol: str
    """The name of the first definition with the names of what is around it; as it was asked for where there is none."""
    definitions: tuple[SymbolPlace, ...]
    """What the symbol may mean, best first."""
    references: tuple[FoundReference, ...]
    """Level by level; in each, those of the highest confidence first, callees in the order of the code."""
    complete: bool
    """Whether these are all."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    message: str = ""
    """Why there is no definition, and which names are near; "" where there is one."""
