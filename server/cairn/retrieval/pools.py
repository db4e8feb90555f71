"""Pool what the legs of a query find in one index: chunks and files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import chain

from attrs import define, field, frozen

from cairn.index.queries.found_words import FoundWords
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import Hit


@frozen
class QueryWord:
    stems: frozenset[str]
    idf: float
    postings: Postings


@define
class Pool:
    """The results of all legs in one index."""

    found: defaultdict[str, dict[int, float]] = field(factory=lambda: defaultdict(dict))
    """The score of each chunk, by leg and chunk id."""
    words: list[QueryWord] = field(factory=list)
    """The query's words without those that occur almost everywhere."""
    keywords: FoundWords = field(factory=FoundWords)
    """The query's words and other spellings, with the BM25 score of every chunk, whichever leg found it."""
    files: dict[str, None] = field(factory=dict)
    """The paths of files found as wholes, as keys. The values are unused."""
    named: Mapping[str, float] = field(factory=dict)
    """The likelihood that the query means each file which it names, 1 at most, by path."""
    subjects: Mapping[str, float] = field(factory=dict)
    """The BM25 score of each file's commit subjects, divided by the highest possible score, by path."""
    containing: set[int] | None = None
    """The chunks that contain the texts that results must contain; None if no such text was searched for."""

    def add(self, leg: str, hits: Iterable[Hit]) -> None:
        self.found[leg].update((hit.chunk_id, hit.score) for hit in hits)

    def chunks(self) -> list[int]:
        return list(dict.fromkeys(chain.from_iterable(self.found.values())))

    def keep(self, chunks: Set[int]) -> None:
        """Drop all other chunks."""
        for leg, found in self.found.items():
            self.found[leg] = {chunk: score for chunk, score in found.items() if chunk in chunks}

    def legs_of(self, chunk: int) -> set[str]:
        return {leg for leg, found in self.found.items() if chunk in found}
