"""What readers have in common whose index has static vectors alone: those are made at the pace of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import Hit
from cairn.index.store.deadline import Cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class StaticOnlyReader(IndexReader):
    """Has no vectors of the larger model."""

    def nearest(
        self, vector: NDArray[np.float32], model: str, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        return []

    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        import numpy as np

        return [], np.empty((0, dimension), np.float32)

    def model_in_use(self) -> tuple[str, int]:
        return "", 0

    def key_vectors(self, keys: Iterable[str], dimension: int, model: str) -> dict[str, NDArray[np.float32]]:
        return {}

    def embedding_keys(self, ids: Sequence[int]) -> list[str]:
        return []

    def lacking_vectors(self, keys: Sequence[str]) -> int:
        return 0
