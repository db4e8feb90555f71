"""Stage 5: a deeper search within one promising collection, with the passages around each hit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from cairn.discovery.order import merge
from cairn.discovery.searcher import Searcher
from cairn.discovery.terms import QueryTerms
from cairn.protocol.evidence import CollectionRef, ScoredChunk
from cairn.settings.discovery import SemanticFocusConfig

# S1's weights of the second ranking (stage 5).
BASE_WEIGHT = 0.6
TERM_WEIGHT = 0.2
QUALITY_WEIGHT = 0.1
POSITION_WEIGHT = 0.1
POSITION_DECAY = 0.1

TERM_SATURATION = 1.2
"""BM25's customary k1: after a few occurrences, more say little."""
CONTEXT_DECAY = 0.5
"""Score of a neighbour, for each step from its hit. S1 gives neighbours no score of their own; at one
half they fill the places that hits left and push out only hits that are much weaker."""

_PLAIN_WORD = re.compile(r"(?<!\S)[(\"'“‘]?[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"'”’]?[.,;:!?]?(?!\S)")


def semantic_focus(
    searcher: Searcher,
    collection: CollectionRef,
    queries: Sequence[str],
    k: int,
    config: SemanticFocusConfig,
) -> list[ScoredChunk]:
    """Up to `k` chunks of one collection, best first (S1, stage 5).

    Asks `2k` chunks for each query, drops those below `config.similarity_threshold`, ranks the rest
    again by the first query (the user's own) and adds `config.context_window` chunks before and after
    each, at half the hit's score for each step away. S1's `config.cross_encoder` has no effect: no cross-encoder
    comes with Cairn.
    """
    if not queries or k <= 0:
        return []
    found = searcher.search(queries, [collection.name], 2 * k)
    hits = merge(chunk for chunks in found for chunk in chunks if chunk.score >= config.similarity_threshold)
    if config.semantic_reranking:
        terms = QueryTerms.of(queries[0])
        hits = merge(_reranked(chunk, terms) for chunk in hits)
    # A neighbour scores less than its hit, so hits beyond the first k cannot contribute one.
    hits = hits[:k]
    if config.context_window > 0:
        # Nor can one of a hit so weak that even the step next to it scores less than the last of k.
        weakest = hits[-1].score if len(hits) == k else 0.0
        strong = [hit for hit in hits if hit.score * CONTEXT_DECAY > weakest]
        hits = merge([*hits, *_context(searcher, strong, config.context_window)])
    return hits[:k]


def term_frequency_score(terms: QueryTerms, text: str) -> float:
    """Mean over the terms of `tf / (tf + 1.2)`, 0 to 1. S1 names this signal without a formula."""
    if not terms.groups:
        return 0.0
    counts = terms.counts(text)
    return sum(tf / (tf + TERM_SATURATION) for tf in counts.values()) / len(terms.groups)


def sentence_quality_score(text: str) -> float:
    """Share of plain words in `text`, 0 to 1: sentences score high; tables, link lists and code low.

    S1 names this signal without a formula.
    """
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
