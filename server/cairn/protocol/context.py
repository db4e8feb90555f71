"""`cairn/context`."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.places import Position, Range, TextDocument, check_range
from cairn.protocol.search import LIMIT, AnsweredIn, IndexState, SearchResult
from cairn.schema.bounds import within


@frozen
class Diagnostic:
    """One of LSP's."""

    range: Range
    message: str
    severity: int | None = field(default=None, metadata=within(1, 4))
    """1 error, 2 warning, 3 information, 4 hint; an error when absent."""
    source: str | None = None
    code: Any = None
    """A string or a whole number."""

    def __attrs_post_init__(self) -> None:
        check_range("range", self.range)
        if not isinstance(self.code, str | int | None) or isinstance(self.code, bool):
            raise InvalidRequestError("code", f"expected a string or a whole number, got {self.code!r}")


@frozen
class ContextParams:
    """The place is either a position or a range."""

    text_document: TextDocument
    position: Position | None = None
    range: Range | None = None
    """What is selected; an empty one is a position."""
    budget: int | None = field(default=None, metadata=within(0, 100_000))
    """Tokens of the whole context; those of the settings when absent."""
    limit: int = field(default=10, metadata=LIMIT)
    """Passages."""
    query: str = ""
    """What is asked about the place; passages that it finds come first."""
    text: str | None = None
    """What the document holds, for one that is not indexed; documents that are open here need none."""
    open_documents: tuple[str, ...] | None = None
    """URIs, the one used last first; the open ones that the server knows of when absent."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Of the document."""
    recent_queries: tuple[str, ...] | None = None
    """The latest first; the last five that were answered here when absent."""

    def __attrs_post_init__(self) -> None:
        if (self.position is None) == (self.range is None):
            raise InvalidRequestError("position", "give either a position or a range")
        if self.position is not None:
            check_range("position", Range(self.position, self.position))
        if self.range is not None:
            check_range("range", self.range)


@frozen
class ContextPassage:
    group: str
    """`code`, `documents` or `readme`."""
    reasons: tuple[str, ...]
    """Why it is there, the strongest first; `matchExplain` has the figures."""
    result: SearchResult


@frozen
class ContextPlace:
    """The passage that an answer is about: it stays the same while the cursor is in its range."""

    path: str
    uri: str
    range: Range
    title: str
    header_path: str
    symbol: str


@frozen
class ContextPart:
    name: str
    """`coreConcepts`, `passages`, `editorState`, `diagnostics` or `recentQueries`."""
    budget: int
    tokens: int


@frozen
class DroppedItem:
    """What the context leaves out, as a whole or some lines of it."""

    part: str
    title: str
    citation: str
    tokens: int
    score: float
    why: str


@frozen
class ContextAnswer:
    passages: tuple[ContextPassage, ...]
    """Best first."""
    context: str
    """Markdown; citations are `path#L10-L14`, 1-based and inclusive."""
    parts: tuple[ContextPart, ...]
    dropped: tuple[DroppedItem, ...]
    tokens: int
    """Of `context`."""
    budget: int
    place: ContextPlace
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step; `cached` is 1 where the passages were there already."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)
