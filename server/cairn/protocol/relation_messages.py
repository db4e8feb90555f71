"""`cairn/references`, `cairn/related`, `cairn/context`, and the definitions of LSP's `workspace/symbol`."""

from __future__ import annotations

import enum
from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.search_messages import (
    AROUND,
    LIMIT,
    PLACES,
    AnsweredIn,
    IndexState,
    Position,
    Range,
    SearchResult,
    TextDocument,
    check_range,
)
from cairn.schema.bounds import NOT_BLANK, at_most, within


class ReferenceDirection(enum.StrEnum):
    """The kind of references to look up."""

    CALLERS = "callers"
    """The calls of the definition; of one that is not called, such as a constant or a type without instances,
    the uses."""
    CALLEES = "callees"
    """What the definition calls, in the order of its code."""
    USES = "uses"
    """The places that call, import, read, write or inherit from the definition."""
    IMPLEMENTATIONS = "implementations"
    """The types that extend or implement the definition, or the methods that override it."""
    TESTS = "tests"
    """The places in tests that call the definition, directly or through one other function."""
    TRACE = "trace"
    """What happens when the definition runs: its calls in order, and below each those of the called function.
    With `to`, only the shortest ways to that definition."""


_DEEPEST = 5


@frozen
class ReferencesParams:
    """The params of `cairn/references`. Give either `symbol`, or `text_document` and `position`."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    """`name`, `Owner.name`, `path:name`, `path:line` or `path:line:column`. Line and column are 1-based, and
    mean the definition at or around that place. The path may be the end of a path."""
    text_document: TextDocument | None = None
    position: Position | None = None
    """A position in the name of a definition, or of a reference to it."""
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    to: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    """The end of a trace, written as `symbol`."""
    depth: int | None = field(default=None, metadata=within(1, 10))
    """How many levels to follow: with 2, the callers of the callers, too. Each function is followed once. By
    default it is 1 or, in a trace, what `limit` allows. Only a trace follows more than 5."""
    limit: int = field(default=100, metadata=within(0, 1_000))
    """How many references to return at most; those of the first level come first, and in a trace those of
    long functions. With 0, only the definitions are returned."""

    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Folders, files or globs that the references are in, as in the filter of `cairn/search`. A trace has no
    such filter."""
    tests: bool | None = None
    """True for references in tests only, false for others only. By default there are both."""

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
        is_trace = self.direction is ReferenceDirection.TRACE
        if self.to is not None and not is_trace:
            raise InvalidRequestError("to", "is the end of a trace; leave it out, or give direction trace")
        if self.path and is_trace:
            raise InvalidRequestError("path", "a trace goes where the calls go; leave it out")
        if (self.depth or 1) > _DEEPEST and not is_trace:
            raise InvalidRequestError("depth", f"expected 1 to {_DEEPEST}, got {self.depth}")


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
    """The line that contains the name. A very long line is cut. In a trace it is the head of the definition,
    whose lines are joined."""


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
    """The called definition if the direction is `callees` or `trace`; null if the workspace does not define
    it. For other directions it is null."""
    kind: str
    """`call`, `import`, `inherit`, `read` or `write`; `request` for a request to the route of the
    definition."""
    confidence: float
    """How likely, from 0 to 1, the reference means this definition and not another of the same name."""
    via: str
    """Why the reference means this definition, in a few words."""
    depth: int
    """The level, from 1. References to the requested definition itself, or by it, are at level 1."""
    parent: int | None
    """The index, in `references`, of the reference one level above that led to this one; null at the first
    level. A caller refers to its parent's enclosing function; a callee is called in its parent's target."""
    within: tuple[str, ...] = ()
    """In a trace, the branches, loops and closures of the function around the call, outermost first:
    `if not cached`, `for each in ships`, `except KeyError`, `in spawn`. Long ones are cut."""
    unfollowed: int = 0
    """In a trace, the number of calls in the target, if the answer contains none of them."""


class UsageKind(enum.StrEnum):
    """What is known of the users of a definition besides its references."""

    ROUTE = "route"
    COMMAND = "command"
    TEST = "test"
    LISTENER = "event listener"
    TASK = "scheduled task"
    LIFECYCLE = "lifecycle method"
    REGISTERED = "registered"
    """A decorator, an annotation or a table keeps the definition, and others call it from there."""
    INHERITED = "inherited"
    """The owner extends a type that the workspace does not define, which may call the definition."""
    IMPORTED = "imported"
    """Files import the definition, or export it again, and no use of it there is likely."""
    UNRESOLVED = "unresolved"
    """Lines contain the name, and it is not known whether they mean this definition."""
    PUBLIC = "public"
    """No other line of the folder contains the name, and code outside of it can use the definition."""
    UNUSED = "unused"
    """No other line of the folder contains the name, and code outside of it cannot use the definition."""


@frozen
class UsageNote:
    """How a definition is used apart from its references."""

    kind: UsageKind
    text: str
    """A phrase, such as `route GET /ferries/{name}`; "" for one more line of the note above."""
    path: str | None = None
    """The file of the line that says so: the route's, the decorator's, the first unresolved one."""
    uri: str | None = None
    folder: str | None = None
    """The URI of the workspace folder."""
    range: Range | None = None
    line: str = ""
    """The code of this line. A very long line is cut."""


@frozen
class ReferencesAnswer:
    symbol: str
    """The qualified name of the first definition; if there is none, the name in the request."""
    definitions: tuple[SymbolPlace, ...]
    """The definitions that the symbol may mean, best first."""
    references: tuple[FoundReference, ...]
    """The references, level by level. In each level the highest confidence is first; callees are in the order
    of the code. A trace is depth first: below the first call of a function are the calls in it. References of
    the kind `read` hand a function over, and those of the kind `inherit` override an abstract method."""
    complete: bool
    """Whether all references are included."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    message: str = ""
    """Why no definition was found, with similar names; else which paths of the request were taken as parts of
    paths; else "". In a trace with `to`, also how many ways there are, or how far they were searched."""
    to: tuple[SymbolPlace, ...] = ()
    """The definitions that `to` may mean, best first."""
    notes: tuple[UsageNote, ...] = ()
    """For the directions `callers` and `uses`: the entry points that the definitions are, and, where no
    reference is likely, what is known instead."""


# --- related passages and contexts -------------------------------------------------------------------------


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


class ContextSection(enum.StrEnum):
    """How a passage belongs to the place."""

    QUERY = "query"
    """The question about the place found it."""
    CALLERS = "callers"
    """It calls or uses what is defined at the place."""
    OVERRIDES = "overrides"
    """It implements or overrides what is defined at the place, or the other way round."""
    USED = "used"
    """It defines what the place calls or uses or, in a document, shows or names."""
    TESTS = "tests"
    """It tests what is defined at the place."""
    TWINS = "twins"
    """It is the same thing for another platform, language or version of the API."""
    DOCUMENTS = "documents"
    """It explains or shows what is defined at the place."""
    TOGETHER = "together"
    """Its file changes in the same commits."""
    SIMILAR = "similar"
    """It says or does much the same."""


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
    section: ContextSection | None = None
    """A section to fill first, also with passages that would otherwise be left out."""
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
    section: ContextSection
    """The section of a panel in which the passage is shown."""
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
    message: str = ""
    """Where there are no passages: what was looked for, in one sentence."""
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
