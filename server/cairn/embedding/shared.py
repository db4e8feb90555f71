"""The models that indexing and queries share: the code model that comes with Cairn, and the installed one, if there is one.

Each is found when it is asked for, and loaded once, on first use.
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
    """Gives every thread the same loaded models."""

    def __init__(self, settings: EmbeddingSettings, code_model: Path = FOLDER) -> None:
        """`code_model` is the folder of the code model."""
        self._settings = settings
        self._code_model = code_model
        self._embedder: Embedder | None = None
        self._failure: tuple[tuple[str, int], ModelError] | None = None
        """A model that could not be loaded is not tried again until it is installed anew."""
        self._packaged: PackagedModel | None = None
        self._table: StaticTable | None = None
        self._packaged_failure: ModelError | None = None
        """The code model changes with Cairn alone: once unusable, it stays so until the next start."""
        self._loading = threading.Lock()

    def installed(self) -> InstalledModel | None:
        """The installed model, not loaded; None where there is none, or embedding is off. Raises ModelError if damaged."""
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
            model = self.installed()
            if self._embedder is None and model is not None:
                try:
                    self._embedder = load_embedder(model, self._settings)
                except ModelError as problem:
                    self._failure = (_version(model), problem)
                    raise
            return self._embedder

    def tokenizer(self) -> TextTokenizer | None:
        """The installed model's, without the model itself; None where there is none to use, of which the status tells."""
        try:
            model = self.installed()
            return None if model is None else load_tokenizer(model)
        except ModelError:
            return None

    def version(self) -> tuple[str, int] | None:
        """Changes when another model is in use, or the same one was installed again; None while there is none."""
        try:
            model = self.installed()
            return None if model is None else _version(model)
        except (ModelError, OSError):  # removed while it is in use
            return None

    def packaged(self) -> PackagedModel | None:
        """The code model, not loaded; None where embedding is switched off. Raises ModelError if it is damaged."""
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
        """The table of the code model, loaded on first use; None where there is none to use."""
        if self._table is None:
            with self._loading:
                try:
                    if self._table is None and self.packaged() is not None:
                        self._table = load_packaged(self._code_model)
                except ModelError as problem:  # `packaged` says so to whoever asks for it
                    self._note_failure(problem)
        return self._table

    def _note_failure(self, problem: ModelError) -> None:
        if self._packaged_failure is None:
            logger.warning("%s", problem)
            self._packaged_failure = problem


def _version(model: InstalledModel) -> tuple[str, int]:
    """Changes when the model is installed again."""
    return (model.id, model.folder.stat().st_mtime_ns)
