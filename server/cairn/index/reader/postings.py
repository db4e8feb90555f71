"""Arrays in memory: the file and the length of each chunk, and postings, the chunks that contain a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

Ids = NDArray[np.int64]


def read_ids(db: apsw.Connection, select: str, values: Sequence[Any] = ()) -> Ids:
    """Return the column `id` of the query's result, int64[n].

    SQLite returns the column as one string of numbers. For 80,000 numbers this takes 9 ms; reading row by row
    takes 54 ms.
    """
    return numbers(db.execute(f"SELECT group_concat(id) FROM ({select})", tuple(values)).get)


def numbers(text: object) -> Ids:
    """Return comma-separated numbers as int64[n], and None as an empty array."""
    return np.fromstring(str(text), np.int64, sep=",") if text else np.empty(0, np.int64)


LONGEST = np.iinfo(np.uint16).max
"""The maximum length that is stored for a chunk, in tokens."""


@frozen(eq=False)
class ChunkColumns:
    """The file and the length of each chunk; the chunk's id is the index. Deleted chunks keep their values,
    because ids are never reused."""

    file_of: NDArray[np.int32]
    """int32[ids], the id of each chunk's file; 0 for an unknown chunk."""
    tokens: NDArray[np.uint16]
    """uint16[ids], the length of each chunk in the keyword index, in tokens."""
    upto: int = 0
    """The highest known chunk id. The arrays may be longer."""
    mean_tokens: float = 1.0
    unsaved: ChunkColumns | None = None
    """The columns of unsaved text. Outside of them, the ids of its chunks and files are negative."""

    def tokens_of(self, chunks: Ids | NDArray[np.int32]) -> NDArray[Any]:
        """Return the length of each chunk in tokens, number[n]; an unknown chunk gets the mean length."""
        return self._of(chunks, "tokens", self.mean_tokens)

    def files_of(self, chunks: Ids) -> Ids:
        """Return the id of each chunk's file, int64[n]: negative for unsaved files, 0 for unknown chunks."""
        return self._of(chunks, "file_of", 0.0).astype(np.int64)

    def _of(self, chunks: Ids | NDArray[np.int32], name: str, missing: float) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self, name)
        if len(chunks) and chunks.min() > 0 and chunks.max() < len(column):
            within: NDArray[Any] = column[chunks]
            return within
        found = np.full(len(chunks), missing)
        saved = (chunks > 0) & (chunks <= self.upto)
        found[saved] = column[chunks[saved]]
        if self.unsaved is not None:
            others = (chunks < 0) & (-chunks <= self.unsaved.upto)
            found[others] = getattr(self.unsaved, name)[-chunks[others]] * (1 if name == "tokens" else -1)
        return found


NO_CHUNKS = ChunkColumns(np.zeros(1, np.int32), np.zeros(1, np.uint16))


NAMES_WEIGHT = 2.5
"""The weight of an occurrence in the names that a chunk defines, instead of 1 (docs/ranking.md)."""


@frozen(eq=False)
class Postings:
    ids: NDArray[np.int32]
    """int32[n], the ids of the chunks, ascending. An index never has more than 2³¹ chunks."""
    counts: NDArray[np.uint8]
    """uint8[n], the number of occurrences in each chunk's text and the parts of compound identifiers."""
    names: NDArray[np.uint8]
    """uint8[n], the number of occurrences in the names that each chunk defines."""
    _last: tuple[Ids, NDArray[np.intp], NDArray[np.bool_]] | None = field(default=None, init=False)
    """The chunks of the last call of `at`, and its result. Ranking signals repeat the same lookup."""

    def weights(self, places: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float32]:
        """Return how often the word occurs in the chunks at `places`, float32[m]. Each occurrence in names
        counts NAMES_WEIGHT times."""
        return self.counts[places] + np.float32(NAMES_WEIGHT) * self.names[places]

    def names_at(self, places: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the occurrences in the names that the chunks at `places` define, uint8[m]."""
        return self.names[places]

    def at(self, chunks: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the place of each chunk in `ids`, intp[m], and whether it contains the word, bool[m]."""
        if not len(self.ids):
            return np.zeros(len(chunks), np.intp), np.zeros(len(chunks), np.bool_)
        last = self._last
        if last is not None and np.array_equal(last[0], chunks):
            return last[1], last[2]
        wanted = chunks.astype(np.int32)  # For int64 numbers, the search would convert all `ids`.
        places = np.searchsorted(self.ids, wanted)
        np.minimum(places, len(self.ids) - 1, out=places)
        there = np.equal(self.ids[places], wanted)
        object.__setattr__(self, "_last", (chunks, places, there))
        return places, there

    def shares(self, chunks: Ids) -> NDArray[np.float64]:
        """Return float64[m]: 1 for a chunk that defines a name with the word, ½ for another chunk that
        contains the word, and 0 for any other."""
        places, there = self.at(chunks)
        if not there.any():
            return np.zeros(len(chunks))
        found: NDArray[np.float64] = np.where(there, np.where(self.names[places] > 0, 1.0, 0.5), 0.0)
        return found

    def contain(self, chunks: Ids) -> NDArray[np.bool_]:
        """Return which of `chunks` contain the word, bool[m]."""
        return self.at(chunks)[1]

    def with_unsaved(self, unsaved: Postings) -> Postings:
        """Return these postings merged with those of unsaved text, whose ids become negative."""
        if not len(unsaved.ids):
            return self
        return Postings(
            np.concatenate((-unsaved.ids[::-1], self.ids)),
            np.concatenate((unsaved.counts[::-1], self.counts)),
            np.concatenate((unsaved.names[::-1], self.names)),
        )

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.ids.nbytes + self.counts.nbytes + self.names.nbytes


NOWHERE = Postings(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8))


def together(postings: list[Postings]) -> Postings:
    """Return the postings of several words as of one word, with their occurrences added up."""
    every = [each for each in postings if len(each.ids)]
    if len(every) < 2:
        return every[0] if every else NOWHERE
    ids, places = np.unique(np.concatenate([each.ids for each in every]), return_inverse=True)

    def summed(columns: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        return capped(np.bincount(places, np.concatenate(columns), len(ids)))

    return Postings(ids, summed([each.counts for each in every]), summed([each.names for each in every]))


def capped(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the counts as bytes, at most 255."""
    return np.minimum(counts, 255).astype(np.uint8)
