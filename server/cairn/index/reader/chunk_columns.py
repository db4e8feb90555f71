"""Arrays in memory with the file and the length of each chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids

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
