"""What the legs of a question found in each index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from attrs import define, field, frozen

from cairn.index.queries.words import FoundWords
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import Hit


@frozen
class HeldWord:
    """A word of the question, and where it stands."""

    stems: frozenset[str]
    """Of the word and what counts as it."""
    idf: float
    """Its inverse document frequency."""
    held: Postings


@define
class Pool:
    """What was found in one index."""

    found: defaultdict[str, dict[int, float]] = field(factory=lambda: defaultdict(dict))
    """For each leg, what it says of each chunk that it found."""
    words: list[HeldWord] = field(factory=list)
    """The question's words, but for those that stand nearly everywhere."""
    keywords: FoundWords = field(factory=FoundWords)
    """The same, with other spellings: what every chunk is worth by them, whichever leg found it."""
    files: dict[str, None] = field(factory=dict)
    """Paths of files that were found as wholes."""
    named: Mapping[str, float] = field(factory=dict)
    """Paths of files that the question names, with how surely each of them is meant, 1 at most."""
    subjects: Mapping[str, float] = field(factory=dict)
    """BM25 over the subjects of their commits, as a share of what is possible, by path."""

    def add(self, leg: str, hits: Iterable[Hit]) -> None:
        self.found[leg].update((hit.chunk_id, hit.score) for hit in hits)

    def chunks(self) -> list[int]:
        """All that was found, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.found.values())))

    def legs_of(self, chunk: int) -> set[str]:
        """The legs that found the chunk."""
        return {leg for leg, found in self.found.items() if chunk in found}
