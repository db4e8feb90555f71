"""`cairn/context`, `cairn/related`, and the definitions of LSP's `workspace/symbol`."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.places import Position, Range, TextDocument, check_range
from cairn.protocol.search import AROUND, LIMIT, AnsweredIn, IndexState, SearchResult
from cairn.schema.bounds import within


@frozen
class Diagnostic:
    """A diagnostic, as in LSP."""

    range: Range
    message: str
    severity: int | None = field(default=None, metadata=within(1, 4))
    """1 is an error, 2 a warning, 3 information, 4 a hint. If absent, it is an error."""
    source: str | None = None
    code: Any = None
    """The code is a string or a whole number."""

    def __attrs_post_init__(self) -> None:
        check_range("range", self.range)
        if not isinstance(self.code, str | int | None) or isinstance(self.code, bool):
            raise InvalidRequestError("code", f"expected a string or a whole number, got {self.code!r}")


@frozen
class ContextParams:
    """The params of `cairn/context`. Give either `position` or `range`."""

    text_document: TextDocument
    position: Position | None = None
    range: Range | None = None
    """The selection; an empty range is the same as a position."""
    budget: int | None = field(default=None, metadata=within(0, 100_000))
    """How many tokens the whole context has at most; if absent, the settings decide."""
    limit: int = field(default=10, metadata=LIMIT)
    """How many passages to return at most."""
    query: str = ""
    """A question about the place. The passages that it finds come first."""
    text: str | None = None
    """The text of a document that is neither indexed nor open in this server."""
    open_documents: tuple[str, ...] | None = None
    """URIs of open documents, the most recently used first. If absent, the server uses those it knows."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The diagnostics of the document."""
    recent_queries: tuple[str, ...] | None = None
    """Recent queries, the latest first. If absent, the server uses the last five that it answered."""

    def __attrs_post_init__(self) -> None:
        if (self.position is None) == (self.range is None):
            raise InvalidRequestError("position", "give either a position or a range")
        if self.position is not None:
            check_range("position", Range(self.position, self.position))
        if self.range is not None:
            check_range("range", self.range)


@frozen
class ContextPassage:
    """A passage of the context, and why it is in it."""

    group: str
    """`code`, `documents` or `readme`."""
    reasons: tuple[str, ...]
    """Why the passage is included, the strongest reason first; `result.matchExplain` has the scores."""
    result: SearchResult


@frozen
class ContextPlace:
    """The passage at the cursor. The answer stays valid while the cursor is in the passage's range."""

    path: str
    uri: str
    range: Range
    title: str
    header_path: str
    symbol: str


@frozen
class ContextPart:
    """A part of the context, with its budget and its size in tokens."""

    name: str
    """`coreConcepts`, `passages`, `editorState`, `diagnostics` or `recentQueries`."""
    budget: int
    tokens: int


@frozen
class DroppedItem:
    """An item that the context omits, wholly or in part, to stay within its budget."""

    part: str
    title: str
    citation: str
    tokens: int
    score: float
    why: str


@frozen
class ContextAnswer:
    passages: tuple[ContextPassage, ...]
    """The passages, best first."""
    context: str
    """The context as Markdown. Citations are `path#L10-L14`, 1-based and inclusive."""
    parts: tuple[ContextPart, ...]
    dropped: tuple[DroppedItem, ...]
    tokens: int
    """The number of tokens in `context`."""
    budget: int
    place: ContextPlace
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step. `cached` is 1 if the passages came from the cache."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class RelatedParams:
    text_document: TextDocument
    range: Range
    """The range of the passage. An empty range means its line."""
    limit: int = field(default=10, metadata=LIMIT)
    context: int = field(default=1, metadata=AROUND)
    """How many chunks to show before and after each result."""

    def __attrs_post_init__(self) -> None:
        check_range("range", self.range)


@frozen
class RelatedAnswer:
    results: tuple[SearchResult, ...]
    """The related passages. `matchExplain` says how each is related. `source` is `relation` if only its file
    is related."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class SymbolParams:
    """The params of LSP's `workspace/symbol`."""

    query: str


@frozen
class Symbol:
    """A definition, for LSP's `workspace/symbol`."""

    name: str
    kind: str
    """`function`, `class`, `method`, …; "" if unknown."""
    container: str
    uri: str
    range: Range
