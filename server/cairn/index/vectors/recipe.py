"""The recipe of an index's static vectors, which can be sent to another process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from cairn.chunking.model import Chunk
from cairn.index.vectors.store import ChunkText
from cairn.settings.tree import EmbeddingSettings

# Modules that need numpy are imported where vectors are made.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.embedding.static import StaticTable


@frozen
class StaticRecipe:
    """The folder of a static table, and the settings that limit the tokens of a text."""

    folder: Path
    settings: EmbeddingSettings

    def vectors(self, chunks: Sequence[Chunk], embedded: Sequence[str]) -> list[bytes]:
        """Return each chunk's vector, int8[dimension] as bytes. The first call loads the table in 20 ms."""
        texts = list(map(ChunkText.of, chunks, embedded))
        return [row.tobytes() for row in static_vectors(_table(self.folder), texts, self.settings)]


def static_vectors(
    table: StaticTable, texts: Sequence[ChunkText], settings: EmbeddingSettings
) -> NDArray[np.int8]:
    """Return the vectors of `texts`, int8[n, dimension]. Those of code are made of skeleton and body."""
    import numpy as np

    vectors = np.empty((len(texts), table.dimension), np.int8)
    for is_code, tokens in ((True, settings.code_tokens), (False, settings.text_tokens)):
        rows = [row for row, text in enumerate(texts) if text.is_code == is_code]
        if rows:
            chosen = [texts[row] for row in rows]
            bodies = [text.body for text in chosen] if is_code else None
            vectors[rows] = table.embed_int8([text.text for text in chosen], tokens, bodies)
    return vectors


@lru_cache(maxsize=1)
def _table(folder: Path) -> StaticTable:
    from cairn.embedding.packaged import load_packaged

    return load_packaged(folder)
