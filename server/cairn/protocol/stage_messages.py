"""Params and results of the nine stages of discovery, each of which is a request of its own.

The `collections`, `queries`, `chunks`, `bullets` and `plan` that a stage returns are the input of the next
stage. `config` overrides any of the stage's settings for one request.
Empty input gives an empty answer, not an error.

The limits keep every request to a few seconds. Discovery itself stays far below them: it passes about 15
queries, 100 chunks and 20 bullets from stage to stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.discovery_messages import (
    MAX_GLOBS,
    MAX_NAME_CHARS,
    AnswerPlan,
    Bullet,
    CollectionRef,
    DiscoverFilter,
    Excerpt,
    NamedPlace,
    ScoredChunk,
)
from cairn.schema.bounds import MAX_NUMBER, Bounds, at_most, within

MAX_COLLECTIONS = 1_000
MAX_QUERIES = 100
MAX_CHUNKS = 500
"""The maximum number of chunks in a request, and of `k`, so that a stage accepts what the last one
returns."""
MAX_BULLETS = 1_000
MAX_CHUNK_CHARS = 10_000
"""The maximum length of a chunk. The index itself cuts files into chunks of about 1,500 characters."""
MAX_BULLET_CHARS = 10_000
MAX_CHARS = 500_000
"""The maximum length of all texts in a request together, in characters."""

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
    """The chunks; `metadata.lineRange` is 0-based, end exclusive."""


@frozen
class FilterCollectionsParams:
    """The params of `cairn/filterCollections`, which returns a CollectionsAnswer in the order of
    `collections`."""

    query: str
    include: tuple[str, ...] = field(default=(), metadata=_GLOBS)
    """Globs of the collections to search. If empty, `config.defaultInclude` is used; if that is empty, too,
    the collections that the query names, or else all."""
    exclude: tuple[str, ...] = field(default=(), metadata=_GLOBS)
    """Globs of the collections to leave out. If empty, `config.defaultExclude` is used."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """The collections to choose from; if absent, those of the workspace."""
    config: dict[str, Any] = field(factory=dict)


@frozen
class ScoreCollectionsParams:
    """The params of `cairn/scoreCollections`, which returns a CollectionsAnswer with scores, best first."""

    query_terms: tuple[str, ...] | None = field(
        default=None, metadata=at_most(items=MAX_QUERIES, chars=MAX_NAME_CHARS)
    )
    query: str = ""
    """The query, from which the terms are taken if `query_terms` is absent."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """The collections to rank; if absent, those of the workspace."""
    config: dict[str, Any] = field(factory=dict)


@frozen
class ExpandQueriesParams:
    """The params of `cairn/expandQueries`, which returns a QueriesAnswer; the query itself is first."""

    query: str
    config: dict[str, Any] = field(factory=dict)


@frozen
class QueriesAnswer:
    queries: tuple[str, ...]


@frozen
class BroadDiscoveryParams:
    """The params of `cairn/broadDiscovery`, which returns a ChunksAnswer in the order of maximal marginal
    relevance.

    The number of queries times `config.kPerQuery` may be at most 1,000.
    """

    queries: tuple[str, ...] = field(metadata=at_most(items=MAX_QUERIES))
    """The queries. The first is the question itself; the best passage for it scores 1."""
    collections: tuple[CollectionRef, ...] | None = field(default=None, metadata=_COLLECTIONS)
    """The collections to search; if absent, those of the workspace."""
    k: int | None = field(default=None, metadata=_K)
    """How many chunks to return at most; if absent, the setting `discovery.broadK`."""
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)


@frozen
class SemanticFocusParams:
    """The params of `cairn/semanticFocus`, which returns a ChunksAnswer, best first.

    Twice `k`, times the number of queries, may be at most 2,000.
    """

    collection: CollectionRef
    queries: tuple[str, ...] = field(metadata=at_most(items=MAX_QUERIES))
    """The queries. The first is the question itself, by which the chunks are ranked again."""
    k: int | None = field(default=None, metadata=_K)
    """How many chunks to return at most; if absent, the setting `discovery.focusK`."""
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)


@frozen
class PromoteReadmeParams:
    """The params of `cairn/promoteReadme`, which returns a ChunksAnswer, best first. If a chunk is given
    twice, the better score counts."""

    hits: tuple[ScoredChunk, ...] = field(metadata=at_most(items=MAX_CHUNKS))
    query: str | None = None
    """The question. If given, READMEs are promoted only if it asks what something is, as in
    `cairn/discover`."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("hits", self.hits)


@frozen
class CompressEvidenceParams:
    """The params of `cairn/compressEvidence`, which returns a BulletsAnswer, best first."""

    chunks: tuple[ScoredChunk, ...] = field(metadata=at_most(items=MAX_CHUNKS))
    max_bullets: int | None = field(default=None, metadata=within(0, MAX_BULLETS))
    """How many bullets to return at most; if absent, the setting `discovery.maxBullets`."""
    max_per_doc: int | None = field(default=None, metadata=_K)
    """How many chunks of one file contribute at most; if absent, the setting `discovery.maxPerDoc`."""
    query: str = ""
    """The question. Sentences with its words are preferred; without a question, the first sentences."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_chunks("chunks", self.chunks)


@frozen
class BulletsAnswer:
    bullets: tuple[Bullet, ...]
    """The bullets, as in `cairn/discover`, with unrounded scores. `uri` is "" if the chunk has no workspace
    folder."""


@frozen
class BuildAnswerPlanParams:
    """The params of `cairn/buildAnswerPlan`, which returns a PlanAnswer."""

    bullets: tuple[Bullet, ...] = field(metadata=at_most(items=MAX_BULLETS))
    """The bullets. An empty `range` means that the lines are unknown. A given `citation` is ignored: it is
    made from `path` and `range`."""
    config: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        _valid_bullets("bullets", self.bullets)


@frozen
class PlanAnswer:
    plan: AnswerPlan


@frozen
class RenderPromptParams:
    """The params of `cairn/renderPrompt`, which returns a PromptAnswer."""

    plan: AnswerPlan
    bullets: tuple[Bullet, ...] = field(default=(), metadata=at_most(items=MAX_BULLETS))
    """Bullets to show if the plan has none and there are no excerpts."""
    query: str = ""
    """The question, which the prompt shows before the instructions."""
    excerpts: tuple[Excerpt, ...] = field(default=(), metadata=at_most(items=MAX_BULLETS))
    """The excerpts of `cairn/discover`, in their order. With excerpts, the plan comes first only if the query
    asks what something is."""
    elsewhere: tuple[NamedPlace, ...] = field(default=(), metadata=at_most(items=MAX_BULLETS))
    """The places that `cairn/discover` names, in their order."""
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
    """The prompt; empty if there is no evidence."""
    tokens: int
    """The number of tokens in the prompt, counted as the setting `discovery.render.tokenizer` says."""


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
