"""`cairn/related`, and the definitions of LSP's `workspace/symbol`."""

from __future__ import annotations

from attrs import field, frozen

from cairn.protocol.places import Range, TextDocument, check_range
from cairn.protocol.search import AROUND, LIMIT, AnsweredIn, IndexState, SearchResult


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
