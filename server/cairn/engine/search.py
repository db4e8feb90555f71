"""Answers `cairn/search`: retrieval over the open folders' indexes."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cairn import protocol
from cairn.embedding.embedder import Embedder
from cairn.embedding.shared import SharedModel
from cairn.engine import results as answers
from cairn.engine.completeness import index_state
from cairn.engine.feedback import learned_from
from cairn.engine.folders import Folder, uris
from cairn.engine.request import CACHE, GENERIC, Attempt, Request
from cairn.errors import InvalidRequestError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.learned import Learned
from cairn.retrieval.meaning import Meaning, choose_meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.rarity import term_shares
from cairn.retrieval.verdict import JUDGED, judge
from cairn.settings.tree import Leg, Settings
from cairn.text.languages import KNOWN_LANGUAGES, language_of_fence, nearest_language
from cairn.text.unicode import well_formed
from cairn.workspace.ignore_patterns import selection_problem

if TYPE_CHECKING:
    from cairn.engine.open_workspace import OpenWorkspace

logger = logging.getLogger(__name__)


def search(request: OpenWorkspace, params: protocol.SearchParams) -> Attempt[protocol.SearchAnswer]:
    """`cairn/search`. An answer that nothing was missing from is kept, and is what the next one like it is answered with.

    Raises QueryCancelledError soon after the request was cancelled.
    """
    started = time.perf_counter()
    folders, readers, settings, cache = (
        request.folders,
        request.readers,
        request.settings,
        request.engine.fallback.cache,
    )
    learned = learned_from(folders)
    key = answer_key(folders, readers, request.model, settings, params, learned)
    kept = cache.get(key)
    if kept is not None:
        return Attempt(evolve(kept, timings={"cached": 1, "total": _milliseconds_since(started)}))
    vocabulary = request.vocabulary
    meaning = meaning_of(readers, request.model, settings)
    # Meaning alone, where it cannot be compared, would find nothing.
    alpha = None if params.alpha == 1 and meaning is None else params.alpha
    query = understand(params.query, alpha, vocabulary, settings.search)
    ranking = rank(
        readers,
        [query],
        meaning,
        settings.search,
        only=chunk_filter(params.filter, readers),
        case=params.case_sensitive,
        word=params.whole_word,
        learned=learned,
        cancelled=request.cancelled,
    )
    found = ranking.results(max(params.limit, JUDGED), settings.search.diversity)
    results = answers.search_results(
        found[: params.limit], query, readers, uris(folders), params.context, params.explain
    )
    verdict = judge(query, found, settings.search.verdict, term_shares(query, vocabulary))
    answer = protocol.SearchAnswer(
        results=results,
        verdict=verdict,
        query=answers.query_info(query),
        index=index_state(folders),
        timings={**ranking.timings, "total": _milliseconds_since(started)},
        broken_off=ranking.broken_off,
    )
    problem = next(iter(ranking.problems), None)
    if problem is None and not answer.broken_off:
        cache.put(key, answer, _characters(answer))
    return Attempt(answer, problem, ranking.without_vectors)


def stand_in(
    request: Request, params: protocol.SearchParams, reason: str
) -> tuple[protocol.SearchAnswer, str]:
    """What answers where nothing can be searched, and what it is.

    That is the latest answer to the same request over the same folders, whatever has changed since, marked as incomplete; or
    a message alone.
    """
    folders = [folder.uri for folder in request.folders]

    def is_alike(key: Any) -> bool:
        earlier, _, _, indexes, _ = key
        return bool(earlier == params and [index[0] for index in indexes] == folders)

    kept = request.engine.fallback.cache.latest(is_alike)
    if kept is not None:
        return evolve(kept, index=evolve(kept.index, complete=False), timings={"cached": 1}), CACHE
    query = protocol.QueryInfo(params.query.strip(), (), "", 0.0)
    index = index_state(request.folders, whole=False)
    return protocol.SearchAnswer((), nothing_judged(reason), query, index, {}), GENERIC


def nothing_judged(message: str) -> protocol.Verdict:
    return protocol.Verdict("noMatch", message, (), 0.0, ())


def answer_key(
    folders: Sequence[Folder],
    readers: Sequence[OverlaidReader],
    model: SharedModel,
    settings: Settings,
    params: Hashable,
    learned: Mapping[int, Learned],
) -> Hashable:
    """All that an answer to `params` depends on; call it when the readers show the unsaved text of now.

    The index may change before it is read: then the answer is newer than its key, under which nobody asks again,
    because generations only rise.
    """
    indexes = tuple(
        # Not the generation alone: whether the index is complete can change without it.
        (folder.uri, reader, reader.identity(), reader.facts(), reader.overlay.generation)
        for folder, reader in zip(folders, readers, strict=True)
    )
    choices = tuple((number, known.version) for number, known in learned.items())
    return (params, settings, model.version(), indexes, choices)


def _characters(answer: protocol.SearchAnswer) -> int:
    shown = [(r.snippet, r.context.before, r.context.after, *(r.match_explain or ())) for r in answer.results]
    return len(answer.query.normalized) + sum(_OTHER_FIELDS + sum(map(len, texts)) for texts in shown)


_OTHER_FIELDS = 500
"""Characters of a result beside its text: paths, titles, hashes."""


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def meaning_of(readers: Sequence[OverlaidReader], model: SharedModel, settings: Settings) -> Meaning | None:
    """How to compare by meaning now, None where the settings say not to.

    Nobody waits for a model before there are vectors to compare with.
    """
    if Leg.MEANING not in settings.search.legs:
        return None

    def embedder() -> Embedder | None:
        try:
            return model.embedder()
        except ModelError as problem:  # `status` says so; the rest goes on
            logger.warning("%s", problem)
            return None

    facts = [reader.facts_with_unsaved() for reader in readers]
    return choose_meaning(facts, embedder, model.static_table)


def chunk_filter(wanted: protocol.SearchFilter, readers: Sequence[IndexReader]) -> ChunkFilter:
    """The filter for the index. Raises InvalidRequestError for a language or a glob that can let nothing pass."""
    languages = tuple(_language(given, readers) for given in wanted.language)
    if problem := selection_problem(wanted.path):
        raise InvalidRequestError("filter.path", problem)
    return ChunkFilter(
        types=tuple(kind.value for kind in wanted.type),
        languages=languages,
        paths=wanted.path,
        collections=wanted.collection,
    )


def _language(given: str, readers: Sequence[IndexReader]) -> str:
    """The language's own name, also for `js` and `Rust`. Raises InvalidRequestError for what is none."""
    for name in (given, language_of_fence(given)):
        if name in KNOWN_LANGUAGES:
            return name
    # A code fence may name any language.
    if any(reader.has_language(well_formed(given)) for reader in readers):
        return given
    nearest = nearest_language(given)
    hint = f"; did you mean {nearest}?" if nearest else ""
    raise InvalidRequestError("filter.language", f"unknown language {given!r}{hint}")
