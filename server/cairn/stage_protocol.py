"""Params and results of the nine stages of discovery, each a request of its own (S1).

They chain: what a stage returns in `collections`, `queries`, `chunks`, `bullets` and `plan` is what the next one takes,
as it is. Params carry S1's names in camelCase; `config` is any part of the stage's own settings, laid over those of the
workspace. Nothing asked is answered by nothing, never by an error.

Limits keep any one request to a few seconds, whatever it holds. They lie far above what discovery itself passes from
stage to stage: some 15 queries, 100 chunks and 20 bullets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from attrs import field, frozen

from cairn.discovery.model import ScoredChunk
from cairn.errors import InvalidRequestError
from cairn.protocol import Bullet, Plan

MAX_COLLECTIONS = 1_000
MAX_QUERIES = 100
MAX_GLOBS = 100
MAX_CHUNKS = 500
"""Given, or asked for by `k`: what one stage returns, the next one takes."""
MAX_BULLETS = 1_000
MAX_NAME_CHARS = 1_000
"""Of the name of a collection, a glob, a word and a path."""
MAX_CHUNK_CHARS = 10_000
"""The index cuts files into chunks of some 1,500 characters."""
MAX_BULLET_CHARS = 10_000
MAX_CHARS = 500_000
"""Of all texts of a request together."""

_MAX_NUMBER = 1_000_000_000
"""Of lines, positions and counts: they stay far from where arithmetic overflows."""


@frozen
class Collection:
    """A named group of files; only the name is needed."""

    name: str
    dimension: int = 0
    """Of its vectors; 0 where there are none."""
    vector_count: int = 0
    created_at: str | None = None
    """ISO 8601, as `updated_at`."""
    updated_at: str | None = None
    tags: tuple[str, ...] = ()
    score: float | None = None
    """What `cairn/scoreCollections` gave it; null before. Taken, but not used, by the stages after it."""

    def __attrs_post_init__(self) -> None:
        _short("name", self.name, MAX_NAME_CHARS)
        _each_short("tags", self.tags, MAX_GLOBS)
        _in_range("vectorCount", self.vector_count, 0, _MAX_NUMBER)
        for name, moment in (("createdAt", self.created_at), ("updatedAt", self.updated_at)):
            _a_moment(name, moment)


@frozen
class CollectionsAnswer:
    collections: tuple[Collection, ...]


@frozen
class ChunksAnswer:
    chunks: tuple[ScoredChunk, ...]
    """S1's `ScoredChunk`; `metadata.lineRange` is 0-based, end exclusive."""


@frozen
class FilterCollectionsParams:
    """`cairn/filterCollections` → CollectionsAnswer, in the order given."""

    query: str
    include: tuple[str, ...] = ()
    """Globs; without any, `config.defaultInclude`, then the collections that the query names, then all."""
    exclude: tuple[str, ...] = ()
    """Globs; without any, `config.defaultExclude`."""
    collections: tuple[Collection, ...] | None = None
    """S1's `all_collections`; the workspace's own when absent."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _each_short("include", self.include, MAX_GLOBS)
        _each_short("exclude", self.exclude, MAX_GLOBS)
        _no_more("collections", self.collections, MAX_COLLECTIONS)


@frozen
class ScoreCollectionsParams:
    """`cairn/scoreCollections` → CollectionsAnswer, best first, each with its score."""

    query_terms: tuple[str, ...] | None = None
    query: str = ""
    """Where the terms are taken from when they are absent."""
    collections: tuple[Collection, ...] | None = None
    """The workspace's own when absent."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _each_short("queryTerms", self.query_terms or (), MAX_QUERIES)
        _no_more("collections", self.collections, MAX_COLLECTIONS)


@frozen
class ExpandQueriesParams:
    """`cairn/expandQueries` → QueriesAnswer, the question itself first."""

    query: str
    config: dict[str, Any] = field(factory=dict)


@frozen
class QueriesAnswer:
    queries: tuple[str, ...]


@frozen
class BroadDiscoveryParams:
    """`cairn/broadDiscovery` → ChunksAnswer, in the order in which MMR picked them.

    The number of queries times `config.kPerQuery` is 1,000 at most.
    """

    queries: tuple[str, ...]
    """The first is the question, whose best passage scores 1."""
    collections: tuple[Collection, ...] | None = None
    """The workspace's own when absent."""
    k: int | None = None
    """The setting `discovery.broadK` when absent."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _no_more("queries", self.queries, MAX_QUERIES)
        _no_more("collections", self.collections, MAX_COLLECTIONS)
        _optional_in_range("k", self.k, 0, MAX_CHUNKS)


@frozen
class SemanticFocusParams:
    """`cairn/semanticFocus` → ChunksAnswer, best first.

    The number of queries times 2 `k` is 2,000 at most.
    """

    collection: Collection
    queries: tuple[str, ...]
    """The first is the question, by which the chunks are ranked again."""
    k: int | None = None
    """The setting `discovery.focusK` when absent."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _no_more("queries", self.queries, MAX_QUERIES)
        _optional_in_range("k", self.k, 0, MAX_CHUNKS)


@frozen
class PromoteReadmeParams:
    """`cairn/promoteReadme` → ChunksAnswer, best first; of a chunk that is given twice, the better score counts."""

    hits: tuple[ScoredChunk, ...]
    query: str | None = None
    """When given, READMEs are promoted only if it asks what one thing is, as `cairn/discover` does."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("hits", self.hits)


@frozen
class CompressEvidenceParams:
    """`cairn/compressEvidence` → BulletsAnswer, best first."""

    chunks: tuple[ScoredChunk, ...]
    max_bullets: int | None = None
    """The setting `discovery.maxBullets` when absent."""
    max_per_doc: int | None = None
    """Chunks of one file that may contribute; the setting `discovery.maxPerDoc` when absent."""
    query: str = ""
    """Sentences that hold its words win; without it, those that stand first."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("chunks", self.chunks)
        _optional_in_range("maxBullets", self.max_bullets, 0, MAX_BULLETS)
        _optional_in_range("maxPerDoc", self.max_per_doc, 0, MAX_CHUNKS)


@frozen
class BulletsAnswer:
    bullets: tuple[Bullet, ...]
    """As in `cairn/discover`, with unrounded scores; `uri` is "" where the chunk names no folder of the workspace."""


@frozen
class BuildAnswerPlanParams:
    """`cairn/buildAnswerPlan` → PlanAnswer."""

    bullets: tuple[Bullet, ...]
    """A `range` of no lines means that the lines are not known; `citation` is made from `path` and `range`."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_bullets("bullets", self.bullets)


@frozen
class PlanAnswer:
    plan: Plan


@frozen
class RenderPromptParams:
    """`cairn/renderPrompt` → PromptAnswer."""

    plan: Plan
    bullets: tuple[Bullet, ...] = ()
    """Shown only where the plan holds none."""
    query: str = ""
    """Stands in the prompt before the instructions."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        planned = tuple(bullet for section in self.plan.sections for bullet in section.bullets)
        _no_more("plan.sections", self.plan.sections, MAX_GLOBS)
        for section in self.plan.sections:
            _short("plan.sections.title", section.title, MAX_NAME_CHARS)
        _valid_bullets("plan.sections.bullets", planned)
        _valid_bullets("bullets", self.bullets)


@frozen
class PromptAnswer:
    prompt: str
    """Empty where there is no evidence."""
    tokens: int
    """Of the prompt, in the embedding model's vocabulary; by S1's estimate where there is no model."""


PARAMS: Mapping[str, type[Any]] = {
    "filterCollections": FilterCollectionsParams,
    "scoreCollections": ScoreCollectionsParams,
    "expandQueries": ExpandQueriesParams,
    "broadDiscovery": BroadDiscoveryParams,
    "semanticFocus": SemanticFocusParams,
    "promoteReadme": PromoteReadmeParams,
    "compressEvidence": CompressEvidenceParams,
    "buildAnswerPlan": BuildAnswerPlanParams,
    "renderPrompt": RenderPromptParams,
}
"""By method, without `cairn/`: what `Engine.stage` takes."""


def _valid_chunks(name: str, chunks: Sequence[ScoredChunk]) -> None:
    _no_more(name, chunks, MAX_CHUNKS)
    for chunk in chunks:
        place = chunk.metadata
        for text in _texts(chunk):
            _short(f"{name}.content", text, MAX_CHUNK_CHARS)
        _short(f"{name}.collection", chunk.collection, MAX_NAME_CHARS)
        _short(f"{name}.metadata.filePath", place.file_path, MAX_NAME_CHARS)
        _in_range(f"{name}.score", chunk.score, 0, _MAX_NUMBER)
        _in_range(f"{name}.metadata.chunkIndex", place.chunk_index, 0, _MAX_NUMBER)
        if place.line_range is not None:
            _valid_lines(f"{name}.metadata.lineRange", place.line_range)
    _short(name, (text for chunk in chunks for text in _texts(chunk)), MAX_CHARS)


def _texts(chunk: ScoredChunk) -> tuple[str, ...]:
    return chunk.content, chunk.metadata.signature, chunk.metadata.comment


def _valid_bullets(name: str, bullets: Sequence[Bullet]) -> None:
    _no_more(name, bullets, MAX_BULLETS)
    for bullet in bullets:
        _short(f"{name}.text", bullet.text, MAX_BULLET_CHARS)
        _short(f"{name}.sourceId", bullet.source_id, 2 * MAX_NAME_CHARS)
        _short(f"{name}.path", bullet.path, MAX_NAME_CHARS)
        _in_range(f"{name}.score", bullet.score, 0, _MAX_NUMBER)
        _valid_lines(f"{name}.range", (bullet.range.start.line, bullet.range.end.line))
    _short(name, (bullet.text for bullet in bullets), MAX_CHARS)


def _valid_lines(name: str, lines: Sequence[int]) -> None:
    if len(lines) != 2 or not 0 <= lines[0] <= lines[1] <= _MAX_NUMBER:
        raise InvalidRequestError(
            name, f"expected a first line and the line after the last, counted from 0; got {list(lines[:3])}"
        )


def _a_moment(name: str, moment: str | None) -> None:
    try:
        datetime.fromisoformat(moment or "0001-01-01")
    except ValueError:
        raise InvalidRequestError(name, f"expected a time as ISO 8601, got {str(moment)[:40]!r}") from None


def _each_short(name: str, texts: Sequence[str], most: int) -> None:
    _no_more(name, texts, most)
    for text in texts:
        _short(name, text, MAX_NAME_CHARS)


def _short(name: str, text: str | Iterable[str], most: int) -> None:
    length = len(text) if isinstance(text, str) else sum(map(len, text))
    if length > most:
        raise InvalidRequestError(name, f"expected {most:,} characters at most, got {length:,}")


def _no_more(name: str, values: Sequence[object] | None, most: int) -> None:
    if values is not None and len(values) > most:
        raise InvalidRequestError(name, f"expected {most:,} at most, got {len(values):,}")


def _optional_in_range(name: str, value: int | None, low: int, high: int) -> None:
    if value is not None:
        _in_range(name, value, low, high)


def _in_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high or not math.isfinite(value):
        raise InvalidRequestError(name, f"expected {low:,} to {high:,}, got {value}")
