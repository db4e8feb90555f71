"""Stage 4: every variation of the question over every collection, without repetition."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.config import BroadDiscoveryConfig
from cairn.discovery.model import CollectionRef, ScoredChunk, Searcher
from cairn.discovery.order import merge
from cairn.discovery.similarity import distinct, maximal_marginal_relevance, word_masks


def broad_discovery(
    searcher: Searcher,
    queries: Sequence[str],
    collections: Sequence[CollectionRef],
    k: int,
    config: BroadDiscoveryConfig,
) -> list[ScoredChunk]:
    """Up to `k` chunks that answer and differ, in the order MMR picked them (S1, stage 4).

    One batched search asks `config.k_per_query` chunks for each query. Of a chunk found several times
    the best score counts; scores below `config.similarity_threshold` are dropped; of chunks whose word
    sets overlap by more than `config.dedup_threshold` (Jaccard) the best is kept.
    """
    if not queries or not collections or k <= 0:
        return []
    names = [ref.name for ref in collections]
    found = searcher.search(queries, names, config.k_per_query)
    chunks = merge(chunk for hits in found for chunk in hits if chunk.score >= config.similarity_threshold)
    masks = word_masks([chunk.content for chunk in chunks])
    if config.enable_deduplication:
        kept = distinct(masks, config.dedup_threshold)
        chunks, masks = [chunks[i] for i in kept], [masks[i] for i in kept]
    scores = [chunk.score for chunk in chunks]
    return [chunks[i] for i in maximal_marginal_relevance(scores, masks, k, config.mmr_lambda)]
