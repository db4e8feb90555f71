"""Answers `cairn/discover`: the nine stages over the open folders' indexes."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve

from cairn import answers, protocol
from cairn.config import DiscoveryConfig, Settings, overlay
from cairn.discovery import Bullet, CollectionRef, ScoredChunk, discover
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.render import estimate_tokens
from cairn.embedding.shared import SharedModel
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.folders import Folder, index_state, on_screen, uris
from cairn.index.known_words import IndexVocabulary
from cairn.learning import learned_from
from cairn.partial_answers import PartialAnswers, Tell
from cairn.retrieval.meaning import ModelMeaning
from cairn.retrieval.query import Query, QueryType, understand
from cairn.retrieval.rarity import term_shares
from cairn.retrieval.verdict import judge
from cairn.searching import meaning_of
from cairn.workspace.collections import TAGS, FileKind

T = TypeVar("T")


def discover_evidence(
    folders: Sequence[Folder],
    model: SharedModel,
    settings: Settings,
    params: protocol.DiscoverParams,
    cancelled: Callable[[], bool],
    tell: Tell | None = None,
) -> protocol.DiscoverAnswer:
    """The evidence, the plan and the prompt. Raises QueryCancelledError soon after `cancelled()` turns true.

    `tell` hears of each stage that has ended, with what it changed of the answer.
    """
    readers = on_screen(folders)
    meaning = meaning_of(readers, model)
    embedder = meaning.embedder if isinstance(meaning, ModelMeaning) else None
    vocabulary = IndexVocabulary(readers)
    query = understand(params.query, None, vocabulary, settings.search)
    searcher = IndexedSearcher(
        [folder.uri for folder in folders],
        readers,
        meaning,
        settings.search,
        cancelled,
        learned=learned_from(folders),
    )

    def check_cancelled() -> None:
        if cancelled():
            raise QueryCancelledError("The request was cancelled.")

    by_uri = {folder.uri: folder for folder in folders}

    def shown(bullet: Bullet) -> protocol.Bullet:
        return answers.bullet(bullet, by_uri[bullet.folder].uri_of(bullet.file_path))

    def passages(chunks: Sequence[ScoredChunk]) -> tuple[protocol.SearchResult, ...]:
        ranked = answers.in_order(chunks, searcher.found)
        return answers.search_results(ranked, query, readers, uris(folders), context=0, explain=False)

    response = discover(
        searcher,
        collection_refs(folders, embedder.dimension if embedder else 0),
        query.text if query.terms else "",  # variations of nothing would find something
        _discovery_config(settings.discovery, params),
        count_tokens=embedder.count_tokens if embedder else estimate_tokens,
        include=params.include or None,
        exclude=params.exclude,
        promote_readmes=wants_overview(query),
        check_cancelled=check_cancelled,
        on_stage=PartialAnswers(tell, passages, shown) if tell else None,
    )
    ranked = answers.in_order(response.chunks, searcher.found)
    best_of_files = list({(r.folder, r.stored.path): r for r in reversed(ranked)}.values())[::-1]
    verdict = judge(query, best_of_files, settings.search.verdict, term_shares(query, vocabulary))
    return protocol.DiscoverAnswer(
        answer_prompt=response.answer_prompt,
        plan=answers.plan(response.plan, shown),
        bullets=tuple(map(shown, response.bullets)),
        chunks=passages(response.chunks),
        verdict=answers.verdict(verdict),
        metrics=answers.discover_metrics(response.metrics),
        index=index_state(folders),
    )


def collection_refs(folders: Sequence[Folder], dimension: int) -> list[CollectionRef]:
    """The collections of all folders; one that several folders have counts once."""
    refs: dict[str, CollectionRef] = {}
    for folder in folders:
        for stats in folder.reader.stats().collections:
            known = refs.get(stats.name)
            refs[stats.name] = CollectionRef(
                name=stats.name,
                dimension=dimension,
                vector_count=stats.chunks + (known.vector_count if known else 0),
                created_at=datetime.datetime.fromisoformat(stats.created_at),
                updated_at=datetime.datetime.fromisoformat(stats.updated_at),
                tags=TAGS[FileKind(stats.kind)],
            )
    return list(refs.values())


def _discovery_config(config: DiscoveryConfig, params: protocol.DiscoverParams) -> DiscoveryConfig:
    """The settings with the request's own laid over them. Raises InvalidRequestError for a bad field."""
    config = laid_over(config, params.config)
    if params.max_bullets is not None:
        config = evolve(config, max_bullets=params.max_bullets)
    if params.format is not None:
        config = evolve(config, render=evolve(config.render, format_style=params.format))
    return config


def laid_over(config: T, values: Mapping[str, Any]) -> T:
    """A request's own `config` laid over the settings. Raises InvalidRequestError for a bad field."""
    config, problems = overlay(config, values, "config")
    if problems:
        field, _, problem = problems[0].partition(": ")
        raise InvalidRequestError(field, problem)
    return config


def wants_overview(query: Query) -> bool:
    """Whether the question is about one thing as a whole ("what is flask"), which a README answers first.

    "How does digest authentication work" is an explanation too, but of a part.
    """
    return query.type is QueryType.EXPLANATION and len(query.terms) == 1
