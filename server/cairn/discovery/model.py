"""The typed values that flow between the nine stages (S1), and the searcher that two of them need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.settings.tree import BulletCategory, SectionType


@frozen
class CollectionRef:
    """A named group of files: a project's source, documents, tests, examples or configuration."""

    name: str
    dimension: int = 0
    vector_count: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: tuple[str, ...] = ()


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
    """One piece of evidence. The cited lines contain `text` (`cairn.discovery.verbatim`)."""

    text: str
    source_id: str
    """`<collection>#<chunk index>` (S1)."""
    collection: str
    file_path: str
    score: float
    category: BulletCategory
    line_range: tuple[int, int] | None = None
    """0-based, end exclusive: the lines the text stands on."""
    folder: str = ""

    @property
    def citation(self) -> str:
        """`path#L10-L14`, 1-based and inclusive; the path alone where lines are not known."""
        if self.line_range is None:
            return self.file_path
        start, end = self.line_range
        return f"{self.file_path}#L{start + 1}-L{end}"


@frozen
class Section:
    """A titled group of bullets."""

    title: str
    section_type: SectionType
    bullets: tuple[Bullet, ...]
    priority: int
    """1 is first."""


@frozen
class AnswerPlan:
    """Bullets arranged into sections."""

    sections: tuple[Section, ...] = ()
    total_bullets: int = 0
    sources: tuple[str, ...] = ()
    """`[source_id]` of every bullet, in order of first use."""


@frozen
class DiscoveryMetrics:
    """What a run did (S1), and how long each stage took in ms."""

    total_time_ms: float = 0.0
    collections_searched: int = 0
    queries_generated: int = 0
    chunks_found: int = 0
    chunks_after_dedup: int = 0
    bullets_extracted: int = 0
    final_prompt_tokens: int = 0
    stages: dict[str, float] = field(factory=dict)


@frozen
class DiscoveryResponse:
    """The result of the whole pipeline."""

    answer_prompt: str
    plan: AnswerPlan
    bullets: tuple[Bullet, ...]
    chunks: tuple[ScoredChunk, ...]
    metrics: DiscoveryMetrics


class Searcher(Protocol):
    """What the two searching stages need of the engine."""

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        """The best `k` chunks of the named collections for each query, best first, scores 0 to 1.

        The first query is the question, the others are variations of it.
        """

    def neighbours(self, chunks: Sequence[ScoredChunk], window: int) -> list[list[ScoredChunk]]:
        """For each of `chunks`, up to `window` chunks before and after it in its file, in file order."""

    def vectors(self, chunks: Sequence[ScoredChunk]) -> NDArray[np.float32] | None:
        """float32[n, dimension] of unit length, zeros for a chunk that has none; None where nothing has any."""
