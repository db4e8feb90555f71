"""The values that flow between the nine stages of discovery (S1), as requests and answers show them, too."""

from __future__ import annotations

from datetime import datetime

from attrs import evolve, field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.places import Range, citation, whole_lines
from cairn.schema.bounds import MAX_NUMBER, at_most, within
from cairn.settings.discovery import BulletCategory, SectionType

MAX_GLOBS = 100
MAX_NAME_CHARS = 1_000
"""Of the name of a collection, a glob, a word and a path."""


@frozen
class CollectionRef:
    """A named group of files; only the name is needed."""

    name: str = field(metadata=at_most(chars=MAX_NAME_CHARS))
    dimension: int = 0
    """Of its vectors; 0 where there are none."""
    vector_count: int = field(default=0, metadata=within(0, MAX_NUMBER))
    created_at: str | None = None
    """ISO 8601, as `updated_at`."""
    updated_at: str | None = None
    tags: tuple[str, ...] = field(default=(), metadata=at_most(items=MAX_GLOBS, chars=MAX_NAME_CHARS))
    score: float | None = None
    """What `cairn/scoreCollections` gave it; null before. Taken, but not used, by the stages after it."""

    def __attrs_post_init__(self) -> None:
        for name, moment in (("createdAt", self.created_at), ("updatedAt", self.updated_at)):
            try:
                datetime.fromisoformat(moment or "0001-01-01")
            except ValueError:
                shown = str(moment)[:40]
                raise InvalidRequestError(name, f"expected a time as ISO 8601, got {shown!r}") from None


@frozen
class ChunkMetadata:
    """Where a chunk stands."""

    file_path: str
    """Relative to the workspace folder, with `/`."""
    chunk_index: int = 0
    file_extension: str = ""
    """Without the dot, lower case."""
    line_range: tuple[int, int] | None = None
    """0-based, end exclusive."""
    folder: str = ""
    """URI of the workspace folder that `file_path` is relative to."""
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
    """A passage and how well it answers, 0 to 1."""

    collection: str
    doc_id: str
    """Unique for a chunk: the same chunk found twice has one `doc_id`."""
    content: str
    score: float
    metadata: ChunkMetadata


@frozen
class Bullet:
    """One piece of evidence. The cited lines hold `text`, as a reader would read them."""

    text: str
    citation: str
    """`path#L10-L14`, 1-based and inclusive."""
    source_id: str
    """`<collection>#<chunk index>` (S1)."""
    collection: str
    path: str
    uri: str
    range: Range
    """A range of no lines at the top of the file where the lines are not known."""
    score: float
    category: BulletCategory

    @property
    def lines(self) -> tuple[int, int] | None:
        """`[start, end)`, 0-based; None where they are not known."""
        lines = self.range.start.line, self.range.end.line
        return lines if any(lines) else None

    def citing(self, lines: tuple[int, int] | None) -> Bullet:
        """The same bullet, cited by these lines of its file."""
        return evolve(self, range=whole_lines(*(lines or (0, 0))), citation=citation(self.path, lines))


@frozen
class Excerpt:
    """Lines of a file that help to answer, as they stand there."""

    path: str
    """Relative to the workspace folder, with `/`."""
    uri: str
    folder: str
    """URI of the workspace folder."""
    range: Range
    """Whole lines."""
    text: str
    """The lines of `range`, unchanged."""
    citation: str
    """`path#L10-L14`, 1-based and inclusive."""
    symbol: str
    """The definition that the lines belong to, "" for none."""
    header_path: str
    """Breadcrumb, outermost first, joined by " > ": headings, or enclosing definitions."""
    language: str
    reason: str
    """Why it is shown, in a few words."""
    score: float
    """0 to 1, comparable within one answer."""


@frozen
class Section:
    """A titled group of bullets."""

    title: str
    section_type: SectionType
    priority: int
    """1 is first."""
    bullets: tuple[Bullet, ...]


@frozen
class AnswerPlan:
    """Bullets arranged into sections."""

    sections: tuple[Section, ...]
    total_bullets: int
    sources: tuple[str, ...]
    """`[source_id]` of every bullet, in order of first use."""


@frozen
class DiscoveryMetrics:
    """What a run did (S1)."""

    total_time_ms: float = 0.0
    collections_searched: int = 0
    queries_generated: int = 0
    chunks_found: int = 0
    """Broad and focused together."""
    chunks_after_dedup: int = 0
    bullets_extracted: int = 0
    final_prompt_tokens: int = 0
    stages: dict[str, float] = field(factory=dict)
    """Milliseconds by stage; of an answer that was kept from before, `cached` alone."""
