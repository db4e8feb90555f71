"""Answers `cairn/search` from the open folders' indexes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import evolve

from cairn import protocol
from cairn.engine.completeness import index_state
from cairn.engine.few_letters import by_first_letters, is_few_letters
from cairn.engine.occurrences import matcher_of, occurrences
from cairn.engine.quoting import as_quote
from cairn.engine.request import CACHE, GENERIC, Attempt, Request
from cairn.engine.results import characters_of, milliseconds, search_results
from cairn.engine.scope import within
from cairn.errors import InvalidRequestError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.languages.registry import KNOWN_LANGUAGES, language_of_fence, nearest_language
from cairn.retrieval.matching import term_shares
from cairn.retrieval.meaning import table_of
from cairn.retrieval.place_choice import Shown, choose
from cairn.retrieval.query import Query, understand
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.question_kinds import QueryType
from cairn.retrieval.ranking import EVERYTHING, rank
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import JUDGED, judge
from cairn.retrieval.window_ranking import (
    Strength,
    by_best_passage,
    passages_of_results,
    shown_passages,
)
from cairn.text.counts import counted


def search(request: Request, params: protocol.SearchParams) -> Attempt[protocol.SearchAnswer]:
    """Answer `cairn/search`. A complete answer is cached for repeated requests."""
    started = time.perf_counter()
    if params.is_exact:
        return Attempt(_exact_answer(request, params, started))
    settings, key = request.settings.search, request.cache_key(params)
    if (cached := request.recall(key)) is not None:
        index = index_state(request, cached.results)
        timings = {"cached": 1.0, "total": milliseconds(started)}
        return Attempt(evolve(cached, timings=timings, index=index), cached=True)
    by_letters = is_few_letters(params.query) and params.filter == protocol.SearchFilter()
    if by_letters and (rows := by_first_letters(request, params.query, params.limit)):
        return Attempt(_of_letters(request, params, rows, started))
    # Alpha 1 ranks by vectors only, so without vectors such a search would find nothing.
    alpha = None if params.alpha == 1 and request.meaning is None else params.alpha
    query = understand(params.query, alpha, request.vocabulary, settings)
    scope = within(params.filter.path, request.folders)
    only = chunk_filter(params.filter, request.readers, scope.files)
    ranking = rank(
        request.readers,
        [query],
        request.meaning,
        settings,
        only=only,
        case=params.case_sensitive,
        word=params.whole_word,
        learned=request.learned,
    )
    found = ranking.results(max(params.limit, JUDGED), settings.diversity)
    if query.is_short:
        found += ranking.called(found, params.limit)
    passages, strength = passages_of_results(ranking, found, table_of(request.meaning))
    found = by_best_passage(found, passages)
    shares = term_shares(query, request.vocabulary)
    words = QueryWords(query, shares)
    choice = choose(words, ranking, found, passages, params.limit, params.best_only)
    beside = shown_passages(ranking, passages, choice.rows, params.passages - 1)
    results = search_results(request, choice.rows, words, params.context, beside, explain=params.explain)
    verdict = judged(request, query, found, shares, strength, scope.note, ranking.legs.remark)
    if quote := as_quote(request, params.query, verdict, only):
        return search(request, evolve(params, query=quote))
    answer = protocol.SearchAnswer(
        results=results,
        verdict=verdict,
        query=_info(query),
        index=index_state(request, results),
        timings={**ranking.timings, "total": milliseconds(started)},
        broken_off=tuple(ranking.legs.broken_off),
        further=tuple(protocol.FurtherPlaces(word, places) for word, places in choice.left_out),
    )
    if ranking.problem is None and not answer.broken_off:
        request.keep(key, answer, len(params.query) + characters_of(results))
    return Attempt(answer, ranking.problem, ranking.legs.without_vectors)


def _exact_answer(request: Request, params: protocol.SearchParams, started: float) -> protocol.SearchAnswer:
    """Answer an exact search. It is never cached, so that it is not older than the files."""
    matcher = matcher_of(params)
    scope = within(params.filter.path, request.folders)
    only = chunk_filter(params.filter, request.readers, scope.files)
    found = occurrences(request, params, only, matcher)
    searched = f"the {counted(found.searched, 'file')} searched"
    message = "" if found.lines else f"No line of {searched} holds it."
    action, matched = ("answer", (params.query,)) if found.lines else ("noMatch", ())
    kind = "regex" if params.regex else "exact"
    return protocol.SearchAnswer(
        results=(),
        verdict=protocol.Verdict(action, message, (), 0.0, matched, float(bool(found.lines)), scope.note),
        query=protocol.QueryInfo(params.query, (params.query,), kind, 0.0),
        index=index_state(request),
        timings={"total": milliseconds(started)},
        occurrences=found,
    )


def _of_letters(
    request: Request, params: protocol.SearchParams, rows: Sequence[Shown], started: float
) -> protocol.SearchAnswer:
    letters = params.query.strip().lower()
    query = Query(params.query, letters, (letters,), (), (), QueryType.SYMBOL, 0.0)
    words = QueryWords(query, (1.0,))
    results = search_results(request, rows, words, params.context, explain=params.explain)
    return protocol.SearchAnswer(
        results=results,
        verdict=protocol.Verdict("answer", "", (), 0.0, query.terms, 1.0),
        query=_info(query),
        index=index_state(request, results),
        timings={"total": milliseconds(started)},
    )


def _info(query: Query) -> protocol.QueryInfo:
    return protocol.QueryInfo(query.normalized, query.terms, query.type.value, query.alpha, query.corrections)


def fallback_answer(
    request: Request, params: protocol.SearchParams, reason: str
) -> tuple[protocol.SearchAnswer, str]:
    """Return an earlier answer, marked as incomplete, with CACHE; else only `reason`, with GENERIC."""
    cached = request.latest_answer(params)
    if cached is not None:
        return evolve(cached, index=evolve(cached.index, complete=False), timings={"cached": 1}), CACHE
    query = protocol.QueryInfo(params.query.strip(), (), "", 0.0)
    unread = protocol.IndexState(0, False)
    return protocol.SearchAnswer((), nothing_judged(reason), query, unread, {}), GENERIC


def judged(
    request: Request,
    query: Query,
    found: Sequence[Ranked],
    shares: Sequence[float],
    strength: Strength | None,
    *remarks: str,
) -> protocol.Verdict:
    """Return the verdict, with the remarks in its note. If nothing is indexed, it has no message, because
    the note of the index says why."""
    if not request.vocabulary.chunks():
        return nothing_judged("")
    verdict = judge(query, found, request.settings.search.verdict, shares, strength)
    return evolve(verdict, note=" ".join(filter(None, (verdict.note, *remarks))))


def nothing_judged(message: str) -> protocol.Verdict:
    return protocol.Verdict("noMatch", message, (), 0.0, ())


def chunk_filter(
    wanted: protocol.SearchFilter, readers: Sequence[IndexReader], places: ChunkFilter = EVERYTHING
) -> ChunkFilter:
    """Combine a request's filter with `places`. Raise InvalidRequestError for an unknown language."""
    return evolve(
        places,
        types=tuple(kind.value for kind in wanted.type),
        languages=tuple(_language(given, readers) for given in wanted.language),
        collections=wanted.collection,
    )


def _language(given: str, readers: Sequence[IndexReader]) -> str:
    """Return the canonical name of a language that is given in any form, such as `js` or `Rust`.

    Raise InvalidRequestError for an unknown language.
    """
    for name in (given, language_of_fence(given)):
        if name in KNOWN_LANGUAGES:
            return name
    # Code fences in indexed documents may name other languages.
    if any(reader.has_language(given) for reader in readers):
        return given
    nearest = nearest_language(given)
    hint = f"; did you mean {nearest}?" if nearest else "; name one such as python, or leave it out"
    raise InvalidRequestError("filter.language", f"unknown language {given!r}{hint}")
