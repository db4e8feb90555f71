"""Stage 4: search all collections for all variations of the question, and drop similar passages."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.discovery.order import merge
from cairn.discovery.searcher import Searcher
from cairn.discovery.similarity import distinct, jaccard, maximal_marginal_relevance
from cairn.protocol.evidence import CollectionRef, ScoredChunk
from cairn.settings.discovery import BroadDiscoveryConfig


def broad_discovery(
    searcher: Searcher,
    queries: Sequence[str],
    collections: Sequence[CollectionRef],
    k: int,
    config: BroadDiscoveryConfig,
) -> list[ScoredChunk]:
    """Return up to `k` relevant and diverse chunks, in the order of maximal marginal relevance (MMR).

    One batched search requests `config.k_per_query` chunks for each query. A chunk that is found several
    times has its best score. Chunks with scores below `config.similarity_threshold` are dropped. Of chunks
    with word sets more similar than `config.dedup_threshold` (Jaccard), the best is kept. MMR compares word
    sets, too.
    """
    if not queries or not collections or k <= 0:
        return []
    names = [ref.name for ref in collections]
    found = searcher.search(queries, names, config.k_per_query)
    chunks = merge(chunk for hits in found for chunk in hits if chunk.score >= config.similarity_threshold)
    if not chunks:
        return []
    overlap = jaccard([chunk.content for chunk in chunks])
    if config.enable_deduplication:
        kept = distinct(overlap, config.dedup_threshold)
        chunks, overlap = [chunks[i] for i in kept], overlap[kept][:, kept]
    scores = [chunk.score for chunk in chunks]
    order = maximal_marginal_relevance(scores, overlap, k, config.mmr_lambda)
    return [chunks[i] for i in order]
