"""Stages 4 to 6, from queries to ranked chunks: search all collections for all variations of the question and
drop similar chunks, search one promising collection more closely, and put a README first if the question is
one that a README answers. Equally good chunks have a fixed order, so that runs are repeatable."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from cairn.discovery.indexed_searcher import IndexedSearcher, best_first, merge
from cairn.discovery.preparation import QueryTerms
from cairn.index.queries.file_queries import readme_rule
from cairn.protocol.discovery_messages import CollectionRef, ScoredChunk
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import BroadDiscoveryConfig, ReadmePromotionConfig, SemanticFocusConfig
from cairn.text.identifiers import RunCache
from cairn.workspace.collections import FileKind, file_kind

Floats = NDArray[np.float32]

_WORD = re.compile(r"\w+")
_BUCKETS = 4_096
"""The number of hash values of words. Of a passage's 100 different words, one or two collide."""


def jaccard(texts: Sequence[str]) -> Floats:
    """Return float32[n, n]: the share of common words in each two texts; 1 for two empty texts."""
    sets = np.zeros((len(texts), _BUCKETS), np.float32)
    for row, text in enumerate(texts):
        words = set(_WORD.findall(text.lower()))
        sets[row, [zlib.crc32(word.encode()) % _BUCKETS for word in words]] = 1.0
    sizes = sets.sum(axis=1)
    # Half of the words or more are in only one text, and so are shared with no other text.
    several = sets[:, sets.sum(axis=0) > 1]
    shared = several @ several.T
    np.fill_diagonal(shared, sizes)
    every = sizes[:, None] + sizes[None, :] - shared
    similarity: Floats = np.divide(shared, every, out=np.ones_like(shared), where=every > 0)
    return similarity


def distinct(similarity: Floats, threshold: float) -> list[int]:
    """Return the indices of the texts whose similarity to all those already chosen is at most `threshold`."""
    kept: list[int] = []
    for index, row in enumerate(similarity):
        if not kept or row[kept].max() <= threshold:
            kept.append(index)
    return kept


def maximal_marginal_relevance(
    relevance: Sequence[float], similarity: Floats, k: int, trade_off: float
) -> list[int]:
    """Return up to `k` indices, each the best by `λ · relevance - (1 - λ) · similarity to those before it`.

    `similarity` is float32[n, n]. `trade_off` is λ: 1 ranks by relevance alone, 0 by novelty alone. The first
    index is always that of the most relevant text; of equal ones, the first in the input is chosen (Carbonell
    and Goldstein, SIGIR 1998).
    """
    if not len(relevance) or k <= 0:
        return []
    relevant = np.asarray(relevance, np.float64)
    chosen = [int(relevant.argmax())]
    nearest = np.zeros(len(relevant))
    while len(chosen) < min(k, len(relevant)):
        nearest = np.maximum(nearest, similarity[chosen[-1]])
        worth = trade_off * relevant - (1 - trade_off) * nearest
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return chosen


def broad_discovery(
    searcher: IndexedSearcher,
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


# These are the weights of the second ranking.
BASE_WEIGHT = 0.6
TERM_WEIGHT = 0.2
QUALITY_WEIGHT = 0.1
POSITION_WEIGHT = 0.1
POSITION_DECAY = 0.1

TERM_SATURATION = 1.2
"""The usual k1 of BM25: further occurrences of a term add less and less."""
CONTEXT_DECAY = 0.5
"""The factor for a neighbour's score, per step from its hit. With 0.5, neighbours displace only weak hits."""

_PLAIN_WORD = re.compile(r"[(\"'“‘]?[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"'”’]?[.,;:!?]?")
_IS_PLAIN = RunCache(lambda word: _PLAIN_WORD.fullmatch(word) is not None, 20_000)


def semantic_focus(
    searcher: IndexedSearcher,
    collection: CollectionRef,
    queries: Sequence[str],
    k: int,
    config: SemanticFocusConfig,
) -> list[ScoredChunk]:
    """Return up to `k` chunks of one collection, best first.

    The search requests `2k` chunks for each query and drops those below `config.similarity_threshold`. The
    rest is ranked again by the first query, which is the user's. For each hit, `config.context_window` chunks
    before and after it are added; their score is halved with each step. `config.cross_encoder` has no effect.
    """
    if not queries or k <= 0:
        return []
    found = searcher.search(queries, [collection.name], 2 * k)
    hits = merge(chunk for chunks in found for chunk in chunks if chunk.score >= config.similarity_threshold)
    if config.semantic_reranking:
        terms = QueryTerms.of(queries[0])
        hits = merge(_reranked(chunk, terms) for chunk in hits)
    # A neighbour scores less than its hit, so only neighbours of the first k hits can be among the best k.
    hits = hits[:k]
    if config.context_window > 0:
        # If there are k hits, a neighbour must score more than the last hit.
        weakest = hits[-1].score if len(hits) == k else 0.0
        strong = [hit for hit in hits if hit.score * CONTEXT_DECAY > weakest]
        hits = merge([*hits, *_context(searcher, strong, config.context_window)])
    return hits[:k]


def term_frequency_score(terms: QueryTerms, text: str) -> float:
    """Return the mean of `tf / (tf + 1.2)` over the terms, 0 to 1, where `tf` counts occurrences."""
    if not terms.groups:
        return 0.0
    counts = terms.counts(text)
    return sum(tf / (tf + TERM_SATURATION) for tf in counts.values()) / len(terms.groups)


def sentence_quality_score(text: str) -> float:
    """Return the share of plain words in `text`, 0 to 1, high for sentences, low for tables and code."""
    words = text.split()
    return sum(map(_IS_PLAIN.__getitem__, words)) / len(words) if words else 0.0


def _reranked(chunk: ScoredChunk, terms: QueryTerms) -> ScoredChunk:
    position = 1 / (1 + chunk.metadata.chunk_index * POSITION_DECAY)
    score = (
        chunk.score * BASE_WEIGHT
        + term_frequency_score(terms, chunk.content) * TERM_WEIGHT
        + sentence_quality_score(chunk.content) * QUALITY_WEIGHT
        + position * POSITION_WEIGHT
    )
    return attrs.evolve(chunk, score=score)


def _context(searcher: IndexedSearcher, hits: Sequence[ScoredChunk], window: int) -> Iterator[ScoredChunk]:
    for hit, around in zip(hits, searcher.neighbours(hits, window), strict=True):
        for neighbour in around:
            steps = abs(neighbour.metadata.chunk_index - hit.metadata.chunk_index)
            if steps:
                yield attrs.evolve(neighbour, score=hit.score * CONTEXT_DECAY**steps)


def promote_readme(
    hits: Sequence[ScoredChunk], config: ReadmePromotionConfig, place: Readme = Readme.FIRST
) -> list[ScoredChunk]:
    """Return `hits` with READMEs boosted, best first.

    A README is a file whose name matches one of `config.readme_patterns` (globs, case-insensitive). The score
    of its chunks is multiplied by `config.readme_boost` and may then exceed 1. With `config.always_top`, its
    chunks come before all others. `place` depends on the question (`readme_of`): with
    `RAISED`, READMEs are only boosted; with `AS_IT_IS`, the hits are only sorted. READMEs of tests and
    examples are never promoted.
    """
    if place is Readme.AS_IT_IS:
        return best_first(hits)
    matches = readme_rule(config.readme_patterns)

    def is_readme(hit: ScoredChunk) -> bool:
        path = hit.metadata.file_path.replace("\\", "/")
        return matches(path) and file_kind(path) not in (FileKind.TESTS, FileKind.EXAMPLES)

    boosted = (attrs.evolve(h, score=h.score * config.readme_boost) if is_readme(h) else h for h in hits)
    ranked = best_first(boosted)
    if config.always_top and place is Readme.FIRST:
        ranked.sort(key=lambda hit: not is_readme(hit))
    return ranked
