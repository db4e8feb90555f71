"""Stage 5: search one promising collection for more passages, and add the passages around each hit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from cairn.discovery.order import merge
from cairn.discovery.searcher import Searcher
from cairn.discovery.terms import QueryTerms
from cairn.protocol.evidence import CollectionRef, ScoredChunk
from cairn.settings.discovery import SemanticFocusConfig

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

_PLAIN_WORD = re.compile(r"(?<!\S)[(\"'“‘]?[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"'”’]?[.,;:!?]?(?!\S)")


def semantic_focus(
    searcher: Searcher,
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
    return len(_PLAIN_WORD.findall(text)) / len(words) if words else 0.0


def _reranked(chunk: ScoredChunk, terms: QueryTerms) -> ScoredChunk:
    position = 1 / (1 + chunk.metadata.chunk_index * POSITION_DECAY)
    score = (
        chunk.score * BASE_WEIGHT
        + term_frequency_score(terms, chunk.content) * TERM_WEIGHT
        + sentence_quality_score(chunk.content) * QUALITY_WEIGHT
        + position * POSITION_WEIGHT
    )
    return attrs.evolve(chunk, score=score)


def _context(searcher: Searcher, hits: Sequence[ScoredChunk], window: int) -> Iterator[ScoredChunk]:
    for hit, around in zip(hits, searcher.neighbours(hits, window), strict=True):
        for neighbour in around:
            steps = abs(neighbour.metadata.chunk_index - hit.metadata.chunk_index)
            if steps:
                yield attrs.evolve(neighbour, score=hit.score * CONTEXT_DECAY**steps)
