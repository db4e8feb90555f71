"""The model that indexing and queries share: found when asked for, loaded once, on first use."""

from __future__ import annotations

import threading

from cairn.config import EmbeddingSettings
from cairn.embedding.embedder import Embedder, load_embedder
from cairn.embedding.model_files import InstalledModel, find_model


class SharedModel:
    """Gives every thread the same loaded model."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._embedder: Embedder | None = None
        self._loading = threading.Lock()

    def installed(self) -> InstalledModel | None:
        """The model in use, without loading it; None where there is none, or embedding is switched off.

        Raises ModelError if it is damaged.
        """
        if self._embedder is not None:
            return self._embedder.model
        return find_model() if self._settings.enabled else None

    def embedder(self) -> Embedder | None:
        """The loaded model; the first call takes about half a second. Raises ModelError if it is damaged."""
        with self._loading:
            if self._embedder is None:
                model = self.installed()
                if model is not None:
                    self._embedder = load_embedder(model, self._settings)
        return self._embedder
