"""Answers the nine stages of discovery one by one: each takes its request apart, runs the stage, shows the result.

The stages themselves are `cairn.discovery`'s, as `cairn/discover` runs them, over the same searcher: called in a row with
what the one before returned, they give its evidence.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import attrs
from attrs import define, evolve

from cairn import answers, protocol, stage_protocol
from cairn.config import DiscoveryConfig, Settings
from cairn.discovering import collection_refs, laid_over, wants_overview
from cairn.discovery import (
    AnswerPlan,
    Bullet,
    CollectionRef,
    ScoredChunk,
    Section,
    broad_discovery,
    build_answer_plan,
    compress_evidence,
    expand_queries_baseline,
    filter_collections,
    promote_readme,
    render_llm_prompt,
    score_collections,
    semantic_focus,
)
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.order import merge
from cairn.discovery.render import TokenCounter, estimate_tokens
from cairn.discovery.terms import content_words
from cairn.embedding.shared import SharedModel
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.folders import Folder, on_screen
from cairn.index.overlaid_reader import OverlaidReader
from cairn.learning import learned_from
from cairn.retrieval.meaning import Meaning, ModelMeaning
from cairn.retrieval.query import MAX_QUERY_CHARS, understand
from cairn.schema import camel_case
from cairn.searching import meaning_of
from cairn.stage_protocol import MAX_BULLETS, MAX_CHUNKS, MAX_GLOBS
from cairn.unicode import well_formed

MAX_COMPARED = 1_000
"""Chunks that the queries of a broad search may ask for together: they are compared with each other, which took 3 s for
1,000 that were all different, and 14 s for 2,000."""
MAX_RERANKED = 2_000
"""Chunks that the queries of a focused search may ask for together."""
MAX_SETTING = 1_000_000
"""Of any number in a `config`, as scores are products of them."""
MAX_CONTEXT_WINDOW = 50

T = TypeVar("T")


@define(slots=False)
class Workspace:
    """What a stage may need beside its params; nothing is read before it is asked for."""

    folders: Sequence[Folder]
    model: SharedModel
    settings: Settings
    cancelled: Callable[[], bool]

    @property
    def config(self) -> DiscoveryConfig:
        return self.settings.discovery

    @cached_property
    def readers(self) -> list[OverlaidReader]:
        return on_screen(self.folders)

    @cached_property
    def meaning(self) -> Meaning | None:
        return meaning_of(self.readers, self.model)

    @property
    def count_tokens(self) -> TokenCounter:
        return (
            self.meaning.embedder.count_tokens if isinstance(self.meaning, ModelMeaning) else estimate_tokens
        )

    def collections(self, given: Sequence[stage_protocol.Collection] | None) -> list[CollectionRef]:
        """Those given, each name once, or the workspace's own."""
        if given is None:
            return collection_refs(
                self.folders,
                self.meaning.embedder.dimension if isinstance(self.meaning, ModelMeaning) else 0,
            )
        return list({each.name: _reference(each) for each in given}.values())

    def searcher(self) -> IndexedSearcher:
        uris = [folder.uri for folder in self.folders]
        return IndexedSearcher(
            uris, self.readers, self.meaning, self.settings.search, self.cancelled, learned_from(self.folders)
        )

    def question(self, text: str) -> str:
        """The text as `cairn/discover` takes it: cut where it is too long, and "" where it holds no term."""
        query = understand(text, settings=self.settings.search)
        return query.text if query.terms else ""

    def check_cancelled(self) -> None:
        """Raises QueryCancelledError if the client does not want the answer any more."""
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")

    def uri_of(self, bullet: Bullet) -> str:
        """The URI of the bullet's file; "" where its folder is none of the workspace's."""
        folder = next((folder for folder in self.folders if folder.uri == bullet.folder), None)
        return folder.uri_of(bullet.file_path) if folder else ""


def _filter_collections(
    workspace: Workspace, params: stage_protocol.FilterCollectionsParams
) -> stage_protocol.CollectionsAnswer:
    refs = filter_collections(
        workspace.question(params.query),
        params.include,
        params.exclude,
        workspace.collections(params.collections),
        _config(workspace.config.filter, params.config),
    )
    return stage_protocol.CollectionsAnswer(tuple(map(_collection, refs)))


def _score_collections(
    workspace: Workspace, params: stage_protocol.ScoreCollectionsParams
) -> stage_protocol.CollectionsAnswer:
    terms = params.query_terms
    scored = score_collections(
        content_words(workspace.question(params.query)) if terms is None else terms,
        workspace.collections(params.collections),
        _config(workspace.config.scoring, params.config),
    )
    return stage_protocol.CollectionsAnswer(tuple(_collection(ref, score) for ref, score in scored))


def _expand_queries(
    workspace: Workspace, params: stage_protocol.ExpandQueriesParams
) -> stage_protocol.QueriesAnswer:
    config = _config(workspace.config.expansion, params.config)
    return stage_protocol.QueriesAnswer(
        tuple(expand_queries_baseline(workspace.question(params.query), config))
    )


def _broad_discovery(
    workspace: Workspace, params: stage_protocol.BroadDiscoveryParams
) -> stage_protocol.ChunksAnswer:
    config = _config(workspace.config.broad, params.config)
    queries = _queries(params.queries, config.k_per_query, "config.kPerQuery", MAX_COMPARED)
    refs = workspace.collections(params.collections)
    k = _given(params.k, workspace.config.broad_k, MAX_CHUNKS)
    chunks = broad_discovery(workspace.searcher(), queries, refs, k, config)
    workspace.check_cancelled()
    return stage_protocol.ChunksAnswer(tuple(chunks))


def _semantic_focus(
    workspace: Workspace, params: stage_protocol.SemanticFocusParams
) -> stage_protocol.ChunksAnswer:
    config = _config(workspace.config.focus, params.config)
    if config.context_window > MAX_CONTEXT_WINDOW:
        raise InvalidRequestError(
            "config.contextWindow", f"expected 0 to {MAX_CONTEXT_WINDOW}, got {config.context_window}"
        )
    k = _given(params.k, workspace.config.focus_k, MAX_CHUNKS)
    queries = _queries(params.queries, 2 * k, "2 k", MAX_RERANKED)
    try:
        chunks = semantic_focus(workspace.searcher(), _reference(params.collection), queries, k, config)
    except InvalidRequestError as problem:  # named as in the settings of all nine stages
        place, _, message = str(problem).partition(": ")
        raise InvalidRequestError(place.replace("config.focus.", "config."), message) from None
    workspace.check_cancelled()
    return stage_protocol.ChunksAnswer(tuple(chunks))


def _promote_readme(
    workspace: Workspace, params: stage_protocol.PromoteReadmeParams
) -> stage_protocol.ChunksAnswer:
    config = _config(workspace.config.readme, params.config)
    wanted = params.query is None or wants_overview(
        understand(params.query, settings=workspace.settings.search)
    )
    return stage_protocol.ChunksAnswer(tuple(promote_readme(merge(_chunks(params.hits)), config, wanted)))


def _compress_evidence(
    workspace: Workspace, params: stage_protocol.CompressEvidenceParams
) -> stage_protocol.BulletsAnswer:
    bullets = compress_evidence(
        _chunks(params.chunks),
        _given(params.max_bullets, workspace.config.max_bullets, MAX_BULLETS),
        _given(params.max_per_doc, workspace.config.max_per_doc, MAX_CHUNKS),
        _config(workspace.config.compression, params.config),
        query=workspace.question(params.query),
    )
    return stage_protocol.BulletsAnswer(tuple(_shown(bullet, workspace.uri_of(bullet)) for bullet in bullets))


def _build_answer_plan(
    workspace: Workspace, params: stage_protocol.BuildAnswerPlanParams
) -> stage_protocol.PlanAnswer:
    config = _config(workspace.config.plan, params.config)
    plan = build_answer_plan(tuple(map(_bullet, params.bullets)), config)
    return stage_protocol.PlanAnswer(answers.plan(plan, lambda bullet: _shown(bullet, bullet.folder)))


def _render_prompt(
    workspace: Workspace, params: stage_protocol.RenderPromptParams
) -> stage_protocol.PromptAnswer:
    given = params.plan
    sections = tuple(
        Section(well_formed(s.title), s.section_type, tuple(map(_bullet, s.bullets)), s.priority)
        for s in given.sections
    )
    count_tokens = workspace.count_tokens
    prompt = render_llm_prompt(
        AnswerPlan(sections, given.total_bullets, given.sources),
        tuple(map(_bullet, params.bullets)),
        _config(workspace.config.render, params.config),
        count_tokens,
        workspace.question(params.query),
    )
    return stage_protocol.PromptAnswer(prompt, count_tokens(prompt) if prompt else 0)


STAGES: Mapping[str, Callable[[Workspace, Any], Any]] = {
    "filterCollections": _filter_collections,
    "scoreCollections": _score_collections,
    "expandQueries": _expand_queries,
    "broadDiscovery": _broad_discovery,
    "semanticFocus": _semantic_focus,
    "promoteReadme": _promote_readme,
    "compressEvidence": _compress_evidence,
    "buildAnswerPlan": _build_answer_plan,
    "renderPrompt": _render_prompt,
}
"""By method, without `cairn/`. Each takes what `stage_protocol.PARAMS` says and returns its answer."""


def _config(settings: T, values: Mapping[str, Any]) -> T:
    """The settings of a stage with the request's own over them. Raises InvalidRequestError for what no stage can use."""
    config = laid_over(settings, values)
    for field in attrs.fields(type(config)):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        place = f"config.{camel_case(field.name)}"
        if isinstance(value, int | float) and not value <= MAX_SETTING:
            raise InvalidRequestError(place, f"expected {MAX_SETTING:,} at most, got {value}")
        if isinstance(value, tuple) and len(value) > MAX_GLOBS:
            raise InvalidRequestError(place, f"expected {MAX_GLOBS} at most, got {len(value):,}")
    return config


def _given(value: int | None, setting: int, most: int) -> int:
    """The request's own number, or the setting's, as far as the next stage takes so many."""
    return min(setting, most) if value is None else value


def _queries(queries: Sequence[str], each: int, name: str, most: int) -> list[str]:
    """The queries as they can be searched. Raises InvalidRequestError where they ask for too much together."""
    if len(queries) * each > most:
        raise InvalidRequestError(
            "queries",
            f"{len(queries):,} queries times {name} ({each:,}) are more than {most:,} chunks; ask for fewer",
        )
    return [well_formed(query[:MAX_QUERY_CHARS]) for query in queries]


def _reference(given: stage_protocol.Collection) -> CollectionRef:
    return CollectionRef(
        name=well_formed(given.name),
        dimension=given.dimension,
        vector_count=given.vector_count,
        created_at=_moment(given.created_at),
        updated_at=_moment(given.updated_at),
        tags=given.tags,
    )


def _moment(given: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(given) if given else None


def _collection(ref: CollectionRef, score: float | None = None) -> stage_protocol.Collection:
    return stage_protocol.Collection(
        name=ref.name,
        dimension=ref.dimension,
        vector_count=ref.vector_count,
        created_at=ref.created_at.isoformat() if ref.created_at else None,
        updated_at=ref.updated_at.isoformat() if ref.updated_at else None,
        tags=ref.tags,
        score=score,
    )


def _chunks(given: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """The chunks with text that can be stored and counted."""
    return [
        evolve(
            chunk,
            content=well_formed(chunk.content),
            metadata=evolve(chunk.metadata, file_path=well_formed(chunk.metadata.file_path)),
        )
        for chunk in given
    ]


def _bullet(given: protocol.Bullet) -> Bullet:
    """The bullet as the stages know it. Its `folder` is the file's URI, which they only hand through."""
    lines = (given.range.start.line, given.range.end.line)
    return Bullet(
        text=well_formed(given.text),
        source_id=well_formed(given.source_id),
        collection=given.collection,
        file_path=well_formed(given.path),
        score=given.score,
        category=given.category,
        line_range=lines if any(lines) else None,
        folder=given.uri,
    )


def _shown(bullet: Bullet, uri: str) -> protocol.Bullet:
    """With its exact score: the next stage must not see ties where there are none."""
    return evolve(answers.bullet(bullet, uri), score=bullet.score)
