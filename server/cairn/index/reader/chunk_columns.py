"""By each chunk's id its file and its length, in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids

LONGEST = np.iinfo(np.uint16).max
"""Tokens of a chunk that are counted at most."""


@frozen(eq=False)
class ChunkColumns:
    """What is known of each chunk by its id. Of a chunk that is gone it stays: ids are never used again."""

    file_of: NDArray[np.int32]
    """int32[ids]: the id of the chunk's file; 0 where there is no chunk."""
    tokens: NDArray[np.uint16]
    """uint16[ids]: its length in the keyword index."""
    upto: int = 0
    """The highest id that is known; the arrays have room beyond it."""
    mean_tokens: float = 1.0
    unsaved: ChunkColumns | None = None
    """The columns of unsaved text, whose chunks have negative ids; their files' ids are their own."""

    def tokens_of(self, chunks: Ids | NDArray[np.int32]) -> NDArray[Any]:
        """number[n]: how long each is; of the usual length where that is not known."""
        return self._of(chunks, "tokens", self.mean_tokens)

    def files_of(self, chunks: Ids) -> Ids:
        """int64[n]: the id of each chunk's file, negative for unsaved ones; 0 where it is not known."""
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
