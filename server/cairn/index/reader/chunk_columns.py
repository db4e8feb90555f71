"""The file and the length of each chunk, in memory by chunk id."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids

LONGEST = np.iinfo(np.uint16).max
"""The highest number of tokens that is stored for a chunk."""


@frozen(eq=False)
class ChunkColumns:
    """Columns by chunk id. Deleted chunks keep their values, as ids are never reused."""

    file_of: NDArray[np.int32]
    """int32[ids], the id of each chunk's file; 0 for unknown ids."""
    tokens: NDArray[np.uint16]
    """uint16[ids], the length of each chunk in the keyword index."""
    upto: int = 0
    """The highest known id; the arrays have room beyond it."""
    mean_tokens: float = 1.0
    unsaved: ChunkColumns | None = None
    """The columns of unsaved text. Its chunks have negative ids here, and its files have ids of their own."""

    def tokens_of(self, chunks: Ids | NDArray[np.int32]) -> NDArray[Any]:
        """Return the length of each chunk, number[n]; unknown chunks get the mean length."""
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
