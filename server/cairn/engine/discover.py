"""Answers `cairn/discover`: the nine stages over the open folders' indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve

from cairn import protocol
from cairn.discovery import Bullet, ScoredChunk, discover
from cairn.discovery.model import DiscoveryMetrics
from cairn.discovery.pipeline import AskBack
from cairn.engine import results as answers
from cairn.engine.fallback import Attempt
from cairn.engine.folders import Folder, index_state, uris
from cairn.engine.open_workspace import OpenWorkspace
from cairn.engine.partial_answers import PartialAnswers, Tell
from cairn.engine.search import nothing_judged
from cairn.errors import InvalidRequestError
from cairn.retrieval.ranking import policy
from cairn.retrieval.verdict import NOTHING_MATCHES, Action, Verdict, judge_evidence
from cairn.settings.layers import overlay
from cairn.settings.tree import DiscoveryConfig

T = TypeVar("T")


def discover_evidence(
    workspace: OpenWorkspace, params: protocol.DiscoverParams, tell: Tell | None = None
) -> Attempt[protocol.DiscoverAnswer]:
    """The evidence, the plan and the prompt. Raises QueryCancelledError soon after the request was cancelled.

    `tell` hears of each stage that has ended, with what it changed of the answer.
    """
    config = _discovery_config(workspace.settings.discovery, params)
    query = workspace.understood(params.query)
    terms = workspace.terms(query)
    searcher = workspace.searcher()
    verdict = Verdict(Action.NO_MATCH, NOTHING_MATCHES)

    def shown(bullet: Bullet) -> protocol.Bullet:
        return answers.bullet(bullet, workspace.uri_of(bullet.folder, bullet.file_path))

    def passages(chunks: Sequence[ScoredChunk]) -> tuple[protocol.SearchResult, ...]:
        ranked = answers.in_order(chunks, searcher.found)
        return answers.search_results(
            ranked, query, workspace.readers, uris(workspace.folders), context=0, explain=False
        )

    def ask_back(chunks: Sequence[ScoredChunk]) -> AskBack | None:
        nonlocal verdict
        ranked = answers.in_order(chunks, searcher.found)
        settings = workspace.settings.search.verdict
        verdict = judge_evidence(
            query, ranked, settings, terms.shares, searcher.similarity, static=searcher.static
        )
        if verdict.action is Action.ANSWER:
            return None
        is_unsure = len(verdict.candidates) <= 1  # of two, each is called what was asked for
        return AskBack(verdict.message, instead=verdict.action is Action.NO_MATCH, unsure=is_unsure)

    response = discover(
        searcher,
        workspace.collections(),
        query.text if query.terms else "",  # variations of nothing would find something
        config,
        count_tokens=workspace.token_counter(config.render.tokenizer),
        include=params.include or None,
        exclude=params.exclude,
        terms=terms,
        readme=policy(query).readme,
        ask_back=ask_back if query.text.strip() else None,
        lines_now=workspace.lines_now,
        check_cancelled=workspace.check_cancelled,
        on_stage=PartialAnswers(tell, passages, shown) if tell else None,
    )
    answer = protocol.DiscoverAnswer(
        answer_prompt=response.answer_prompt,
        plan=answers.plan(response.plan, shown),
        bullets=tuple(map(shown, response.bullets)),
        chunks=passages(response.chunks),
        verdict=answers.verdict(verdict),
        metrics=answers.discover_metrics(response.metrics),
        index=index_state(workspace.folders),
    )
    problem = "Vectors could not be compared." if searcher.without_vectors else None
    return Attempt(answer, problem, searcher.without_vectors)


def nothing_discovered(folders: Sequence[Folder], message: str) -> protocol.DiscoverAnswer:
    """The answer where nothing could be searched: a message alone, which is what a language model is told, too."""
    return protocol.DiscoverAnswer(
        answer_prompt=message,
        plan=protocol.Plan((), 0, ()),
        bullets=(),
        chunks=(),
        verdict=nothing_judged(message),
        metrics=answers.discover_metrics(DiscoveryMetrics()),
        index=index_state(folders, whole=False),
    )


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
