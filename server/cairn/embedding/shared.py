"""The model that indexing and queries share: found when asked for, loaded once, on first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from cairn.config import EmbeddingSettings
from cairn.embedding.model_files import InstalledModel, find_model
from cairn.errors import ModelError

if TYPE_CHECKING:
    from cairn.embedding.embedder import Embedder
    from cairn.embedding.static import StaticTable


class SharedModel:
    """Gives every thread the same loaded model."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._embedder: Embedder | None = None
        self._failure: tuple[tuple[str, int], ModelError] | None = None
        """A model that could not be loaded is not tried again until it is installed anew."""
        self._static: tuple[str, StaticTable | None] | None = None
        self._loading = threading.Lock()

    def installed(self) -> InstalledModel | None:
        """The model in use, without loading it; None where there is none, or embedding is switched off.

        Raises ModelError if it is damaged.
        """
        if self._embedder is not None:
            return self._embedder.model
        model = find_model() if self._settings.enabled else None
        if model is not None and self._failure is not None and self._failure[0] == _version(model):
            raise self._failure[1]
        return model

    def embedder(self) -> Embedder | None:
        """The loaded model; the first call takes about 0.2 s. Raises ModelError if it is damaged."""
        from cairn.embedding.embedder import load_embedder  # with numpy: when there is something to embed

        with self._loading:
            if self._embedder is None:
                model = self.installed()
                if model is not None:
                    try:
                        self._embedder = load_embedder(model, self._settings)
                    except ModelError as problem:
                        self._failure = (_version(model), problem)
                        raise
        return self._embedder

    def version(self) -> tuple[str, int] | None:
        """Changes when another model is in use, or the same one was installed again; None while there is none."""
        try:
            model = self.installed()
            return None if model is None else _version(model)
        except (ModelError, OSError):  # removed while it is in use
            return None

    def static_table(self) -> StaticTable | None:
        """The static table of the model in use, loaded on first use; None where there is none."""
        try:
            model = self.installed()
        except ModelError:  # `installed` says why to whoever asks for the model
            return None
        if model is None:
            return None
        from cairn.embedding.static import find_static

        with self._loading:
            if self._static is None or self._static[0] != model.id:
                self._static = (model.id, find_static(model))
            return self._static[1]


def _version(model: InstalledModel) -> tuple[str, int]:
    """Changes when the model is installed again."""
    return (model.id, model.folder.stat().st_mtime_ns)
