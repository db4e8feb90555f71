"""Compute how rare each term of a query is in the searched indexes."""

from __future__ import annotations

import math
import re

from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.query import Query

_WORD = re.compile(r"\w+")


def term_shares(query: Query, vocabulary: IndexVocabulary) -> tuple[float, ...]:
    """Return each term's share of the query's total inverse document frequency, as in BM25. The shares add up
    to 1.

    A term that occurs nowhere has the largest share. A chunk that contains an alternative contains the term.
    """
    chunks = vocabulary.chunks()
    words = {word for group in query.groups for text in group for word in _WORD.findall(text)}
    documents = vocabulary.documents(words)

    def holding(text: str) -> int:
        return min((documents[word] for word in _WORD.findall(text)), default=0)

    rarities = []
    for group in query.groups:
        found = min(chunks, sum(map(holding, group)))
        rarities.append(math.log(1 + (chunks - found + 0.5) / (found + 0.5)))
    whole = sum(rarities)
    return tuple(rarity / whole for rarity in rarities)
