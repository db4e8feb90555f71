"""The numbers that a snapshot gives to its files and chunks.

The ids of a pool's rows show in which order its repositories were indexed, and gaps between them show rows of
other repositories. So ids stay inside this package. Everything that a reader gets has numbers that depend on
the snapshot alone: its files are numbered by path, and its chunks by file and position.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.postgres.segment import renumbered
from cairn.index.reader.postings import Postings


@frozen(eq=False)
class Numbering:
    """The numbers 1 to n of a snapshot's rows, and the ids of these rows in the pool."""

    ids: NDArray[np.int32]
    """int32[n + 1], the id of each number; 0 for the number 0."""
    numbers: NDArray[np.int32]
    """int32[ids], the number of each id; 0 for rows that the snapshot does not have."""

    @classmethod
    def of(cls, ids: NDArray[np.int32]) -> Numbering:
        """Number the rows with these ids in their order."""
        numbers = np.zeros(int(ids.max(initial=0)) + 1, np.int32)
        numbers[ids] = np.arange(1, len(ids) + 1)
        return cls(np.concatenate([np.zeros(1, np.int32), ids]), numbers)

    def __len__(self) -> int:
        return len(self.ids) - 1

    def ids_of(self, numbers: Iterable[int]) -> list[int]:
        """Return the ids of these numbers. Numbers that the snapshot does not have are left out."""
        wanted = np.fromiter(numbers, np.int64)
        found: list[int] = self.ids[wanted[self.has(wanted)]].tolist()
        return found

    def has(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool[n]: whether the snapshot has a row of each number."""
        found: NDArray[np.bool_] = (numbers > 0) & (numbers < len(self.ids))
        return found

    def number(self, id: int) -> int:
        """Return the number of an id, or 0 if the snapshot does not have this row."""
        return int(self.numbers[id]) if id < len(self.numbers) else 0

    def numbers_of(self, ids: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return int32[n]: the number of each id, or 0."""
        found = np.zeros(len(ids), np.int32)
        inside = ids < len(self.numbers)
        found[inside] = self.numbers[ids[inside]]
        return found

    def postings(self, found: Postings) -> Postings:
        """Return the postings of the snapshot's documents, with numbers instead of ids."""
        return renumbered(found, self.numbers)
