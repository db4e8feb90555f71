"""The models that indexing and queries share: the code model that comes with Cairn, and a user's own.

Each model is loaded once, on first use.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cairn.embedding.packaged import FOLDER, PackagedModel, load_packaged, load_vocabulary, packaged_model
from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

# Modules that need numpy are imported on use: opening a complete index does not need it.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.embedding.onnx_model import OnnxEmbedder, OnnxModel
    from cairn.embedding.static import StaticTable
    from cairn.embedding.word_pieces import WordPieces

logger = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
TokenCounter = Callable[[str], int]
_CODE_MODEL, _OWN_MODEL = "code model", "own model"


class TextEncoder(Protocol):
    """Makes the vectors of an index and of queries: the code model's table, or the user's own model."""

    id: str
    """Vectors of encoders with different ids are never compared."""

    @property
    def dimension(self) -> int: ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dimension] of unit-length rows."""

    def embed_int8(
        self, texts: Sequence[str], max_tokens: int, bodies: Sequence[str] | None = None
    ) -> NDArray[np.int8]:
        """Return int8[n, dimension], 127 times the unit vectors of the first `max_tokens` tokens."""

    def embed_queries_int8(self, texts: Sequence[str]) -> NDArray[np.int8]: ...


class SharedModel:
    """The loaded models, which all threads share. The files of an unusable model are not read again: the
    error persists until the next start."""

    def __init__(self, settings: EmbeddingSettings, code_model: Path = FOLDER) -> None:
        self._settings = settings
        self._code_model = code_model
        self._packaged: PackagedModel | None = None
        self._table: StaticTable | None = None
        self._pieces: WordPieces | None = None
        self._own: OnnxModel | None = None
        self._embedder: OnnxEmbedder | None = None
        self._failures: dict[str, ModelError] = {}
        self._loading = threading.Lock()

    @contextlib.contextmanager
    def _using(self, model: str) -> Iterator[None]:
        """Raise the model's earlier error again, or log and keep a new one."""
        if model in self._failures:
            raise self._failures[model]
        try:
            yield
        except ModelError as problem:
            logger.warning("%s", problem)
            self._failures[model] = problem
            raise

    # --- the code model ----------------------------------------------------------------------------

    def packaged(self) -> PackagedModel | None:
        """Return the code model's description; None with embedding off. Raise ModelError if it is damaged."""
        if not self._settings.enabled:
            return None
        with self._using(_CODE_MODEL):
            self._packaged = self._packaged or packaged_model(self._code_model)
        return self._packaged

    def static_table(self) -> StaticTable | None:
        """Return the code model's table, loaded on first use; None if it is damaged or embedding is off."""
        if self._table is None and self._settings.enabled:
            # `packaged` raises the error to its callers.
            with contextlib.suppress(ModelError), self._loading, self._using(_CODE_MODEL):
                self._table = self._table or load_packaged(self._code_model)
        return self._table

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens a language model needs for `text`, by the code model's vocabulary; if
        that is damaged, one for four characters."""
        if (table := self.static_table()) is not None:
            return table.count_tokens(text)
        try:
            if self._pieces is None:
                self._pieces = load_vocabulary(self._code_model)
        except ModelError:
            return estimate_tokens(text)
        return self._pieces.count(text)

    # --- the user's own model ----------------------------------------------------------------------

    def own(self) -> OnnxModel | None:
        """Return the model that the settings name, without loading it; None if they name none. Raise
        ModelError with a remedy if it cannot be used."""
        if not self._settings.enabled or not self._settings.model:
            return None
        with self._using(_OWN_MODEL):
            if self._own is None:
                from cairn.embedding.onnx_model import find_model

                self._own = find_model(Path(self._settings.model))
        return self._own

    def encoder(self) -> TextEncoder | None:
        """Return the model that makes vectors, loaded on first use: the user's own, or the code model's table
        if there is none or it cannot be used; None if neither can."""
        with contextlib.suppress(ModelError), self._loading:  # `own` raises the error to its callers.
            if (own := self.own()) is not None and self._embedder is None:
                from cairn.embedding.onnx_model import load_embedder

                with self._using(_OWN_MODEL):
                    self._embedder = load_embedder(own, self._settings.threads)
                    self._own = self._embedder.model
        return self._embedder or self.static_table()

    def made_by(self, is_maker: Callable[[str], bool]) -> TextEncoder | None:
        """Return the model whose id satisfies `is_maker`, loaded on first use; None if there is none."""
        with contextlib.suppress(ModelError):
            own = self.own()
            if own is not None and is_maker(own.id) and (encoder := self.encoder()) and is_maker(encoder.id):
                return encoder
        table = self.static_table()
        return table if table is not None and is_maker(table.id) else None


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of `text`: one for four characters, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
