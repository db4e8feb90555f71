"""The models that indexing and queries share: the packaged code model and the installed one, if any.

Each model is loaded once, on first use.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.embedding.model_files import InstalledModel, find_model
from cairn.embedding.packaged import FOLDER, PackagedModel, load_packaged, packaged_model
from cairn.embedding.tokenization import TextTokenizer, load_tokenizer
from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

if TYPE_CHECKING:
    from cairn.embedding.embedder import Embedder
    from cairn.embedding.static import StaticTable

logger = logging.getLogger(__name__)


class SharedModel:
    """The loaded models, which all threads share."""

    def __init__(self, settings: EmbeddingSettings, code_model: Path = FOLDER) -> None:
        self._settings = settings
        self._code_model = code_model
        self._embedder: Embedder | None = None
        self._failure: tuple[tuple[str, int], ModelError] | None = None
        """The version of a model that failed to load, and the error. A new installation is tried again."""
        self._packaged: PackagedModel | None = None
        self._table: StaticTable | None = None
        self._packaged_failure: ModelError | None = None
        """The error of an unusable code model. It persists until the next start."""
        self._loading = threading.Lock()

    def installed(self) -> InstalledModel | None:
        """Return the installed model without loading it; None if there is none or embedding is off. Raise
        ModelError if it is damaged."""
        if self._embedder is not None:
            return self._embedder.model
        model = find_model() if self._settings.enabled else None
        if model is not None and self._failure is not None and self._failure[0] == _version(model):
            raise self._failure[1]
        return model

    def embedder(self) -> Embedder | None:
        """Return the loaded model. The first call takes about 0.2 s. Raise ModelError if it is damaged."""
        # This imports numpy, so it is imported only when needed.
        from cairn.embedding.embedder import load_embedder

        with self._loading:
            model = self.installed()
            if self._embedder is None and model is not None:
                try:
                    self._embedder = load_embedder(model, self._settings)
                except ModelError as problem:
                    self._failure = (_version(model), problem)
                    raise
            return self._embedder

    def tokenizer(self) -> TextTokenizer | None:
        """Return the installed model's tokenizer without loading the model; None without a usable model."""
        try:
            model = self.installed()
            return None if model is None else load_tokenizer(model)
        except ModelError:
            return None

    def version(self) -> tuple[str, int] | None:
        """Return a value that changes with the model and with each installation; None without a model."""
        try:
            model = self.installed()
            return None if model is None else _version(model)
        except (ModelError, OSError):
            return None

    def packaged(self) -> PackagedModel | None:
        """Return the code model's description; None with embedding off. Raise ModelError if it is damaged."""
        if not self._settings.enabled:
            return None
        if self._packaged_failure is not None:
            raise self._packaged_failure
        if self._packaged is None:
            try:
                self._packaged = packaged_model(self._code_model)
            except ModelError as problem:
                self._note_failure(problem)
                raise
        return self._packaged

    def static_table(self) -> StaticTable | None:
        """Return the code model's table, loaded on first use; None if it is damaged or embedding is off."""
        if self._table is None:
            with self._loading:
                try:
                    if self._table is None and self.packaged() is not None:
                        self._table = load_packaged(self._code_model)
                except ModelError as problem:  # `packaged` raises this error to its callers.
                    self._note_failure(problem)
        return self._table

    def _note_failure(self, problem: ModelError) -> None:
        if self._packaged_failure is None:
            logger.warning("%s", problem)
            self._packaged_failure = problem


def _version(model: InstalledModel) -> tuple[str, int]:
    """Return a value that changes when the model is installed again."""
    return (model.id, model.folder.stat().st_mtime_ns)
