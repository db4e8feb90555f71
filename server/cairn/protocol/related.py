"""`cairn/related`, and the definitions of LSP's `workspace/symbol`."""

from __future__ import annotations

from attrs import field, frozen

from cairn.protocol.places import Range, TextDocument, check_range
from cairn.protocol.search import AROUND, LIMIT, AnsweredIn, IndexState, SearchResult


@frozen
class RelatedParams:
    text_document: TextDocument
    range: Range
    """The passage; an empty one is the line it is in."""
    limit: int = field(default=10, metadata=LIMIT)
    context: int = field(default=1, metadata=AROUND)
    """Chunks shown before and after each result."""

    def __attrs_post_init__(self) -> None:
        check_range("range", self.range)


@frozen
class RelatedAnswer:
    results: tuple[SearchResult, ...]
    """`matchExplain` names how each is related; `source` may be `relation`: by its file alone."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class SymbolParams:
    """Those of LSP's `workspace/symbol`."""

    query: str


@frozen
class Symbol:
    """A definition, for LSP's `workspace/symbol`."""

    name: str
    kind: str
    """`function`, `class`, `method`, …; "" where it is not known."""
    container: str
    uri: str
    range: Range
