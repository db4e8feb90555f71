"""Where words of questions stand: the chunks that contain each, and how often."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids

NAMES_WEIGHT = 2.5
"""How often a word counts in the names that a chunk defines (docs/ranking.md)."""


@frozen(eq=False)
class Postings:
    """The chunks that contain a word or phrase, and how often."""

    ids: NDArray[np.int32]
    """int32[n], ascending; there are never more than 2³¹ chunks."""
    counts: NDArray[np.uint8]
    """uint8[n]: in the text, and in the parts of compound identifiers."""
    names: NDArray[np.uint8]
    """uint8[n]: in the names that the chunk defines."""
    _last: tuple[Ids, NDArray[np.intp], NDArray[np.bool_]] | None = field(default=None, init=False)
    """What was looked for last, and what `at` found of it: ranking asks for the same chunks several times, one signal after another."""

    def weights(self, places: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float32]:
        """float32[m]: how often it stands in the chunks at `places`, names counting more."""
        return self.counts[places] + np.float32(NAMES_WEIGHT) * self.names[places]

    def names_at(self, places: NDArray[np.intp]) -> NDArray[np.uint8]:
        """uint8[m]: how often it stands in the names that the chunks at `places` define."""
        return self.names[places]

    def at(self, chunks: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """intp[m] and bool[m]: where each of `chunks` stands, and whether it does."""
        if not len(self.ids):
            return np.zeros(len(chunks), np.intp), np.zeros(len(chunks), np.bool_)
        last = self._last
        if last is not None and np.array_equal(last[0], chunks):
            return last[1], last[2]
        wanted = chunks.astype(np.int32)  # or all ids would become as wide for each search
        places = np.searchsorted(self.ids, wanted)
        np.minimum(places, len(self.ids) - 1, out=places)
        there = np.equal(self.ids[places], wanted)
        object.__setattr__(self, "_last", (chunks, places, there))
        return places, there

    def shares(self, chunks: Ids) -> NDArray[np.float64]:
        """float64[m]: for each of `chunks` 1 where it defines a name with the word, ½ where it just contains it."""
        places, there = self.at(chunks)
        if not there.any():
            return np.zeros(len(chunks))
        found: NDArray[np.float64] = np.where(there, np.where(self.names[places] > 0, 1.0, 0.5), 0.0)
        return found

    def contain(self, chunks: Ids) -> NDArray[np.bool_]:
        """bool[m]: which of `chunks` contain the word."""
        return self.at(chunks)[1]

    def with_unsaved(self, unsaved: Postings) -> Postings:
        """These and those of unsaved text, whose ids become negative."""
        if not len(unsaved.ids):
            return self
        return Postings(
            np.concatenate((-unsaved.ids[::-1], self.ids)),
            np.concatenate((unsaved.counts[::-1], self.counts)),
            np.concatenate((unsaved.names[::-1], self.names)),
        )

    @property
    def size(self) -> int:
        """Bytes."""
        return self.ids.nbytes + self.counts.nbytes + self.names.nbytes


NOWHERE = Postings(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8))


def together(postings: list[Postings]) -> Postings:
    """The chunks of any of them; of several words that count as one, each counts."""
    every = [each for each in postings if len(each.ids)]
    if len(every) < 2:
        return every[0] if every else NOWHERE
    ids, places = np.unique(np.concatenate([each.ids for each in every]), return_inverse=True)

    def summed(columns: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        return capped(np.bincount(places, np.concatenate(columns), len(ids)))

    return Postings(ids, summed([each.counts for each in every]), summed([each.names for each in every]))


def capped(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.uint8]:
    """The counts as bytes, which end at 255."""
    return np.minimum(counts, 255).astype(np.uint8)
