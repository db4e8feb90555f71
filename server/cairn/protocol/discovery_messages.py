"""`cairn/discover`, and the values that its nine stages pass to each other.

Requests and answers of the single stages (`cairn.protocol.stage_messages`) contain these values, too.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import evolve, field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.search_messages import (
    PLACES,
    AnsweredIn,
    IndexState,
    Range,
    SearchResult,
    Verdict,
    check_range,
    citation,
    whole_lines,
)
from cairn.schema.bounds import MAX_NUMBER, NOT_BLANK, at_most, within
from cairn.settings.discovery import BulletCategory, FormatStyle, SectionType

MAX_GLOBS = 100
MAX_NAME_CHARS = 1_000
"""The maximum length of a collection's name, a glob, a word or a path, in characters."""
MAX_SHOWN = 20_000
"""The maximum number of places that a reader has already."""


@frozen
class CollectionRef:
    """A named group of files. In a request, only the name is needed."""

    name: str = field(metadata=at_most(chars=MAX_NAME_CHARS))
    dimension: int = 0
    """The dimension of its vectors; 0 if it has none."""
    vector_count: int = field(default=0, metadata=within(0, MAX_NUMBER))
    created_at: str | None = None
    """The time of creation (ISO 8601)."""
    updated_at: str | None = None
    tags: tuple[str, ...] = field(default=(), metadata=at_most(items=MAX_GLOBS, chars=MAX_NAME_CHARS))
    score: float | None = None
    """The score by `cairn/scoreCollections`; null before that stage. Later stages do not use it."""

    def __attrs_post_init__(self) -> None:
        for name, moment in (("createdAt", self.created_at), ("updatedAt", self.updated_at)):
            try:
                datetime.fromisoformat(moment or "0001-01-01")
            except ValueError:
                shown = str(moment)[:40]
                raise InvalidRequestError(name, f"expected a time as ISO 8601, got {shown!r}") from None


@frozen
class ChunkMetadata:
    """The place and description of a chunk."""

    file_path: str
    """The path relative to the workspace folder, with `/`."""
    chunk_index: int = 0
    file_extension: str = ""
    """The extension in lower case, without the dot."""
    line_range: tuple[int, int] | None = None
    """The first line and the line after the last one, counted from 0."""
    folder: str = ""
    """The URI of the workspace folder."""
    chunk_type: str = ""
    """`prose`, `code`, `api`, `cmd` or `config`."""
    language: str = ""
    title: str = ""
    header_path: str = ""
    symbol: str = ""
    signature: str = ""
    comment: str = ""
    content_hash: str = ""


@frozen
class ScoredChunk:
    """A passage and its score, from 0 to 1."""

    collection: str
    doc_id: str
    """The identifier of the chunk; the same chunk always has the same one."""
    content: str
    score: float
    metadata: ChunkMetadata


@frozen
class Bullet:
    """One piece of evidence. The cited lines contain `text`, apart from line breaks and markup."""

    text: str
    citation: str
    """`path#L10-L14`, 1-based and inclusive."""
    source_id: str
    """The source as `<collection>#<chunk index>`."""
    collection: str
    path: str
    uri: str
    range: Range
    """The cited lines; an empty range at the start of the file if they are unknown."""
    score: float
    category: BulletCategory

    @property
    def lines(self) -> tuple[int, int] | None:
        """The cited lines `[start, end)`, 0-based; None if unknown."""
        lines = self.range.start.line, self.range.end.line
        return lines if any(lines) else None

    def citing(self, lines: tuple[int, int] | None) -> Bullet:
        """Return the same bullet with other cited lines."""
        return evolve(self, range=whole_lines(*(lines or (0, 0))), citation=citation(self.path, lines))


@frozen
class Excerpt:
    """Unchanged lines of a file that help to answer the question."""

    path: str
    """The path relative to the workspace folder, with `/`."""
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The whole lines of the excerpt."""
    text: str
    """The lines of `range`, unchanged."""
    citation: str
    """`path#L10-L14`, 1-based and inclusive."""
    symbol: str
    """The definition in which the lines begin; "" if none."""
    header_path: str
    """The headings or definitions around the lines, outermost first, joined by " > "."""
    language: str
    reason: str
    """Why the excerpt is included, in a few words."""
    score: float
    """The score, from 0 to 1, comparable within one answer."""


@frozen
class NamedPlace:
    """A place to read after the excerpts, which an answer names without its text: a definition or a section
    that ranks next, or a definition that the shown lines use or are called by."""

    path: str
    """The path relative to the workspace folder, with `/`."""
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The whole lines of the definition or section."""
    title: str
    """The name, after the names of the enclosing definitions: `Berth.leave`."""
    about: str
    """What follows the title: a signature such as `(ship)`, or `: ` and the first words of the comment; ""
    without both."""
    relation: str = ""
    """How the place belongs to the excerpts, such as "called by moor_ship"; "" if it only ranks next."""
    short_path: str = ""
    """The shortest end of the path, in whole names, that is the end of no other file's path."""


@frozen
class Section:
    """A titled group of bullets."""

    title: str
    section_type: SectionType
    priority: int
    """The position of the section; 1 is first."""
    bullets: tuple[Bullet, ...]


@frozen
class AnswerPlan:
    """Bullets arranged into sections."""

    sections: tuple[Section, ...]
    total_bullets: int
    sources: tuple[str, ...]
    """The `[source_id]` of every bullet, in the order of first use."""


@frozen
class DiscoveryMetrics:
    """The times and counts of one discovery."""

    total_time_ms: float = 0.0
    collections_searched: int = 0
    queries_generated: int = 0
    chunks_found: int = 0
    """The chunks found by the broad and the focused search together."""
    chunks_after_dedup: int = 0
    bullets_extracted: int = 0
    final_prompt_tokens: int = 0
    stages: dict[str, float] = field(factory=dict)
    """Milliseconds by stage. An answer from the cache has only `cached`."""


# --- the whole discovery -----------------------------------------------------------------------------------


@frozen
class DiscoverFilter:
    """The files that evidence may come from."""

    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Folders (`net/ipv4`), files or globs, as in the filter of `cairn/search`. All excerpts, bullets and
    chunks come from them. Give this if the question is about one part of the workspace."""


@frozen
class ShownPlace:
    """Lines of a file that the reader has from earlier answers."""

    uri: str
    range: Range
    """The whole lines."""

    def __attrs_post_init__(self) -> None:
        check_range("range", self.range)


@frozen
class DiscoverParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    include: tuple[str, ...] = ()
    """Globs of the collections to search; if empty, all are searched."""
    exclude: tuple[str, ...] | None = None
    """Globs of the collections to leave out; if absent, the settings decide."""
    max_bullets: int | None = field(default=None, metadata=within(0, 1_000))
    format: FormatStyle | None = None
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)
    """Any part of the `discovery` settings, which replaces that part for this request."""
    shown: tuple[ShownPlace, ...] = field(default=(), metadata=at_most(items=MAX_SHOWN))
    """Lines that the reader has already. The excerpts go on from them and do not repeat them."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; ask a question or name a symbol")


@frozen
class DiscoverAnswer:
    answer_prompt: str
    plan: AnswerPlan
    bullets: tuple[Bullet, ...]
    chunks: tuple[SearchResult, ...]
    verdict: Verdict
    metrics: DiscoveryMetrics
    index: IndexState
    excerpts: tuple[Excerpt, ...] = ()
    """The excerpts that the prompt quotes: the most useful file first, and those of a file in the order of
    its lines."""
    elsewhere: tuple[NamedPlace, ...] = ()
    """Further places, which the prompt names after the excerpts, by file."""
    repeated: tuple[ShownPlace, ...] = ()
    """Those of the request's `shown` lines that the excerpts would contain otherwise, the best first."""
    has_more: bool = False
    """Whether further excerpts did not fit. A request with the present ones as `shown` gets them."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class DiscoverProgress:
    """A partial answer, sent after each of the nine stages of `cairn/discover`: over LSP as `$/progress` for
    the `partialResultToken`, over REST as a server-sent event. A cached answer has no progress.

    A part of the answer that the stage did not change is absent. A part that is present replaces the former
    one. The final answer is complete, so a client may ignore all partial ones.
    """

    stage: str
    """The name of the finished stage, as in `metrics.stages`."""
    metrics: DiscoveryMetrics
    """The metrics so far."""
    chunks: tuple[SearchResult, ...] | None = None
    bullets: tuple[Bullet, ...] | None = None
    plan: AnswerPlan | None = None
    excerpts: tuple[Excerpt, ...] | None = None
    elsewhere: tuple[NamedPlace, ...] | None = None
    answer_prompt: str | None = None
