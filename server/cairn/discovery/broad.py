"""Stage 4: every variation of the question over every collection, without repetition."""

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
    """Up to `k` chunks that answer and differ, in the order MMR picked them (S1, stage 4).

    One batched search asks `config.k_per_query` chunks for each query. Of a chunk found several times
    the best score counts; scores below `config.similarity_threshold` are dropped; of chunks whose word
    sets overlap by more than `config.dedup_threshold` (Jaccard) the best is kept. MMR compares the chunks'
    vectors, and their word sets where the searcher has no vectors.
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
    vectors = searcher.vectors(chunks) if len(chunks) > k else None
    similarity = overlap if vectors is None else vectors @ vectors.T
    scores = [chunk.score for chunk in chunks]
    order = maximal_marginal_relevance(scores, similarity, k, config.mmr_lambda)
    return [chunks[i] for i in order]
