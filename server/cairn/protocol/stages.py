"""Params and results of the nine stages of discovery, each a request of its own (S1).

They chain: what a stage returns in `collections`, `queries`, `chunks`, `bullets` and `plan` is what the next one takes,
as it is. Params carry S1's names in camelCase; `config` is any part of the stage's own settings, laid over those of the
workspace. Nothing asked is answered by nothing, never by an error.

Limits keep any one request to a few seconds, whatever it holds. They lie far above what discovery itself passes from
stage to stage: some 15 queries, 100 chunks and 20 bullets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.discover import DiscoverFilter
from cairn.protocol.evidence import (
    MAX_GLOBS,
    MAX_NAME_CHARS,
    AnswerPlan,
    Bullet,
    CollectionRef,
    Excerpt,
    ScoredChunk,
)
from cairn.schema.bounds import MAX_NUMBER, Bounds, at_most, within

MAX_COLLECTIONS = 1_000
MAX_QUERIES = 100
MAX_CHUNKS = 500
"""Given, or asked for by `k`: what one stage returns, the next one takes."""
MAX_BULLETS = 1_000
MAX_CHUNK_CHARS = 10_000
"""The index cuts files into chunks of some 1,500 characters."""
MAX_BULLET_CHARS = 10_000
MAX_CHARS = 500_000
"""Of all texts of a request together."""

_GLOBS = at_most(items=MAX_GLOBS, chars=MAX_NAME_CHARS)
_COLLECTIONS = at_most(items=MAX_COLLECTIONS)
_K = within(0, MAX_CHUNKS)
_COUNT = Bounds(low=0, high=MAX_NUMBER)
_NAME = Bounds(max_chars=MAX_NAME_CHARS)
_SOURCE = Bounds(max_chars=2 * MAX_NAME_CHARS)
_CHUNK_TEXT = Bounds(max_chars=MAX_CHUNK_CHARS)
_BULLET_TEXT = Bounds(max_chars=MAX_BULLET_CHARS)


@frozen
class CollectionsAnswer:
    collections: tuple[CollectionRef, ...]


@frozen
class ChunksAnswer:
    chunks: tuple[ScoredChunk, ...]
    """S1's `ScoredChunk`; `metadata.lineRange` is 0-based, end exclusive."""


@frozen
class FilterCollectionsParams:
    """`cairn/filterCollections` → CollectionsAnswer, in the order given."""

    query: str
    include: tuple[str, ...] = field(default=(), metadata=_GLOBS)
    """Globs; without any, `config.defaultInclude`, then the collections that the query names, then all."""
    exclude: tuple[str, ...] = field(default=(), metadata=_GLOBS)
    """Globs; without any, `config.defaultExclude`."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """S1's `all_collections`; the workspace's own when absent."""
    config: dict[str, Any] = field(factory=dict)


@frozen
class ScoreCollectionsParams:
    """`cairn/scoreCollections` → CollectionsAnswer, best first, each with its score."""

    query_terms: tuple[str, ...] | None = field(
        default=None, metadata=at_most(items=MAX_QUERIES, chars=MAX_NAME_CHARS)
    )
    query: str = ""
    """Where the terms are taken from when they are absent."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """The workspace's own when absent."""
    config: dict[str, Any] = field(factory=dict)


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

    queries: tuple[str, ...] = field(metadata=at_most(items=MAX_QUERIES))
    """The first is the question, whose best passage scores 1."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """The workspace's own when absent."""
    k: int | None = field(default=None, metadata=_K)
    """The setting `discovery.broadK` when absent."""
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)


@frozen
class SemanticFocusParams:
    """`cairn/semanticFocus` → ChunksAnswer, best first.

    The number of queries times 2 `k` is 2,000 at most.
    """

    collection: CollectionRef
    queries: tuple[str, ...] = field(metadata=at_most(items=MAX_QUERIES))
    """The first is the question, by which the chunks are ranked again."""
    k: int | None = field(default=None, metadata=_K)
    """The setting `discovery.focusK` when absent."""
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)


@frozen
class PromoteReadmeParams:
    """`cairn/promoteReadme` → ChunksAnswer, best first; of a chunk that is given twice, the better score counts."""

    hits: tuple[ScoredChunk, ...] = field(metadata=at_most(items=MAX_CHUNKS))
    query: str | None = None
    """When given, READMEs are promoted only if it asks what one thing is, as `cairn/discover` does."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("hits", self.hits)


@frozen
class CompressEvidenceParams:
    """`cairn/compressEvidence` → BulletsAnswer, best first."""

    chunks: tuple[ScoredChunk, ...] = field(metadata=at_most(items=MAX_CHUNKS))
    max_bullets: int | None = field(default=None, metadata=within(0, MAX_BULLETS))
    """The setting `discovery.maxBullets` when absent."""
    max_per_doc: int | None = field(default=None, metadata=_K)
    """Chunks of one file that may contribute; the setting `discovery.maxPerDoc` when absent."""
    query: str = ""
    """Sentences that hold its words win; without it, those that stand first."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("chunks", self.chunks)


@frozen
class BulletsAnswer:
    bullets: tuple[Bullet, ...]
    """As in `cairn/discover`, with unrounded scores; `uri` is "" where the chunk names no folder of the workspace."""


@frozen
class BuildAnswerPlanParams:
    """`cairn/buildAnswerPlan` → PlanAnswer."""

    bullets: tuple[Bullet, ...] = field(metadata=at_most(items=MAX_BULLETS))
    """A `range` of no lines means that the lines are not known; `citation` is made from `path` and `range`."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_bullets("bullets", self.bullets)


@frozen
class PlanAnswer:
    plan: AnswerPlan


@frozen
class RenderPromptParams:
    """`cairn/renderPrompt` → PromptAnswer."""

    plan: AnswerPlan
    bullets: tuple[Bullet, ...] = field(default=(), metadata=at_most(items=MAX_BULLETS))
    """Shown only where the plan holds none and there are no excerpts."""
    query: str = ""
    """Stands in the prompt before the instructions."""
    excerpts: tuple[Excerpt, ...] = field(default=(), metadata=at_most(items=MAX_BULLETS))
    """Those of `cairn/discover`, in their order. With them the plan leads only where the query asks what something is."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        planned = tuple(bullet for section in self.plan.sections for bullet in section.bullets)
        _check("plan.sections", self.plan.sections, Bounds(max_items=MAX_GLOBS))
        for section in self.plan.sections:
            _check("plan.sections.title", section.title, _NAME)
        _check("plan.sections.bullets", planned, Bounds(max_items=MAX_BULLETS))
        _valid_bullets("plan.sections.bullets", planned)
        _valid_bullets("bullets", self.bullets)


@frozen
class PromptAnswer:
    prompt: str
    """Empty where there is no evidence."""
    tokens: int
    """Of the prompt, in the installed model's vocabulary; by S1's estimate where none is installed."""


def _valid_chunks(name: str, chunks: Sequence[ScoredChunk]) -> None:
    for chunk in chunks:
        place = chunk.metadata
        for text in _texts(chunk):
            _check(f"{name}.content", text, _CHUNK_TEXT)
        _check(f"{name}.collection", chunk.collection, _NAME)
        _check(f"{name}.metadata.filePath", place.file_path, _NAME)
        _check(f"{name}.score", chunk.score, _COUNT)
        _check(f"{name}.metadata.chunkIndex", place.chunk_index, _COUNT)
        if place.line_range is not None:
            _check_lines(f"{name}.metadata.lineRange", place.line_range)
    _check_together(name, (text for chunk in chunks for text in _texts(chunk)))


def _texts(chunk: ScoredChunk) -> tuple[str, ...]:
    return chunk.content, chunk.metadata.signature, chunk.metadata.comment


def _valid_bullets(name: str, bullets: Sequence[Bullet]) -> None:
    for bullet in bullets:
        _check(f"{name}.text", bullet.text, _BULLET_TEXT)
        _check(f"{name}.sourceId", bullet.source_id, _SOURCE)
        _check(f"{name}.path", bullet.path, _NAME)
        _check(f"{name}.score", bullet.score, _COUNT)
        _check_lines(f"{name}.range", (bullet.range.start.line, bullet.range.end.line))
    _check_together(name, (bullet.text for bullet in bullets))


def _check(name: str, value: object, bounds: Bounds) -> None:
    if problem := bounds.problem_with(value):
        raise InvalidRequestError(name, problem)


def _check_lines(name: str, lines: Sequence[int]) -> None:
    if len(lines) != 2 or not 0 <= lines[0] <= lines[1] <= MAX_NUMBER:
        raise InvalidRequestError(
            name, f"expected a first line and the line after the last, counted from 0; got {list(lines[:3])}"
        )


def _check_together(name: str, texts: Iterable[str]) -> None:
    length = sum(map(len, texts))
    if length > MAX_CHARS:
        raise InvalidRequestError(name, f"expected {MAX_CHARS:,} characters at most, got {length:,}")
