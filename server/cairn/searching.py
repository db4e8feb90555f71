"""Answers `cairn/search`: retrieval over the open folders' indexes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from cairn import answers, protocol
from cairn.config import SearchSettings
from cairn.embedding.embedder import Embedder
from cairn.embedding.shared import SharedModel
from cairn.errors import ModelError
from cairn.folders import Folder, index_state, on_screen, uris
from cairn.index.overlaid_reader import OverlaidReader
from cairn.index.reader import ChunkFilter
from cairn.index.vocabulary import IndexVocabulary
from cairn.retrieval.meaning import Meaning, choose_meaning
from cairn.retrieval.query import understand
from cairn.retrieval.search import retrieve
from cairn.retrieval.verdict import judge

logger = logging.getLogger(__name__)


def search_folders(
    folders: Sequence[Folder],
    model: SharedModel,
    settings: SearchSettings,
    params: protocol.SearchParams,
    cancelled: Callable[[], bool],
) -> tuple[protocol.SearchAnswer, str | None]:
    """The answer, and why a leg failed, if one did. Raises QueryCancelledError soon after `cancelled()` turns true."""
    started = time.perf_counter()
    readers = on_screen(folders)
    query = understand(params.query, params.alpha, IndexVocabulary(readers), settings)
    retrieved = retrieve(
        readers,
        query,
        meaning_of(readers, model),
        settings,
        limit=params.limit,
        only=_chunk_filter(params.filter),
        cancelled=cancelled,
    )
    results = answers.search_results(
        retrieved.ranked, query, readers, uris(folders), params.context, params.explain
    )
    verdict = judge(query, [ranked.stored for ranked in retrieved.ranked], settings.verdict)
    elapsed = (time.perf_counter() - started) * 1000
    answer = protocol.SearchAnswer(
        results=results,
        verdict=answers.verdict(verdict),
        query=answers.query_info(query),
        index=index_state(folders),
        timings={**retrieved.timings, "total": round(elapsed, 3)},
    )
    return answer, next(iter(retrieved.problems), None)


def meaning_of(readers: Sequence[OverlaidReader], model: SharedModel) -> Meaning | None:
    """How to compare by meaning now; nobody waits for a model before there are vectors to compare with."""

    def embedder() -> Embedder | None:
        try:
            return model.embedder()
        except ModelError as problem:  # `status` says so; the rest goes on
            logger.warning("%s", problem)
            return None

    return choose_meaning([reader.facts_with_screen() for reader in readers], embedder, model.static_table)


def _chunk_filter(wanted: protocol.SearchFilter) -> ChunkFilter:
    return ChunkFilter(
        types=tuple(kind.value for kind in wanted.type),
        languages=wanted.language,
        paths=wanted.path,
        collections=wanted.collection,
    )
