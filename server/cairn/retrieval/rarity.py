"""How rare each term of a question is: what few chunks hold says more than what most of them do."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Protocol

from cairn.retrieval.query import Query

_WORD = re.compile(r"\w+")


class CountedWords(Protocol):
    """How often words occur in one or several indexes."""

    def documents(self, words: Collection[str]) -> Mapping[str, int]:
        """For each of the lower-case `words` how many chunks hold it."""
        ...

    def chunks(self) -> int:
        """How many chunks there are."""
        ...


def term_shares(query: Query, counted: CountedWords) -> tuple[float, ...]:
    """For each term its share of the question's inverse document frequency (BM25's); they add up to 1.

    A term that occurs nowhere has the largest share. A chunk that holds an alternative counts as one that holds the term.
    """
    chunks = counted.chunks()
    words = {word for group in query.groups for text in group for word in _WORD.findall(text)}
    documents = counted.documents(words)

    def holding(text: str) -> int:
        return min((documents[word] for word in _WORD.findall(text)), default=0)

    rarities = []
    for group in query.groups:
        found = min(chunks, sum(map(holding, group)))
        rarities.append(math.log(1 + (chunks - found + 0.5) / (found + 0.5)))
    whole = sum(rarities)
    return tuple(rarity / whole for rarity in rarities)
