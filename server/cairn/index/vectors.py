"""Gives every chunk of an index its vector, a second's worth of work at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cairn.config import EmbeddingSettings
from cairn.embedding import Embedder, InstalledModel
from cairn.errors import ModelError
from cairn.index.intake import Progress
from cairn.index.writer import IndexWriter, PendingText

_PENDING_PAGE = 512
"""Texts fetched at once; those of like length are embedded together, since padding costs as much as text."""
_TEXTS_A_STEP = 32
"""Texts embedded between two looks at what else there is to do: about half a second of one core."""


class ModelSource(Protocol):
    """Gives the model that vectors are made with."""

    def installed(self) -> InstalledModel | None:
        """The model in use, without loading it. Raises ModelError where it cannot be used."""

    def embedder(self) -> Embedder | None:
        """The loaded model. Raises ModelError where it cannot be used."""


class VectorIntake:
    """Embeds what has no vector of the model in use. Lives on the thread that owns the writer."""

    def __init__(
        self, writer: IndexWriter, models: ModelSource, progress: Progress, on_problem: Callable[[str], None]
    ) -> None:
        """`on_problem` gets a sentence for the status where the model cannot be used."""
        self._writer = writer
        self._models = models
        self._progress = progress
        self._on_problem = on_problem
        self._model_id = 0

    @property
    def has_model(self) -> bool:
        """Whether there is a model to embed with."""
        return self._model_id != 0

    def select_model(self) -> None:
        """Use the installed model from now on, or none."""
        try:
            model = self._models.installed()
        except ModelError as problem:
            self._on_problem(str(problem))
            model = None
        self._model_id = self._writer.use_model(model.id, model.dimension) if model else 0
        if model is None:
            self._writer.use_no_model()

    def embed_some(
        self, settings: EmbeddingSettings, interrupted: Callable[[], bool], on_step: Callable[[], None]
    ) -> bool:
        """Embed a page of texts, or less if `interrupted()`; False once nothing is left to embed."""
        pending = self._writer.pending_texts(self._model_id, _PENDING_PAGE) if self.has_model else []
        if not pending:
            self._progress.queued = 0
            if self.has_model:
                self._writer.set_embedded(True)
            return False
        try:
            embedder = self._models.embedder()
        except ModelError:
            self.select_model()  # says why, and goes on without
            return False
        if embedder is None:
            return False
        self._progress.queued = self._writer.count_pending(self._model_id)
        for step, max_tokens in _steps(pending, settings):
            if interrupted():
                return True
            vectors = embedder.embed([text.text for text in step], max_tokens)
            self._writer.store_vectors(self._model_id, [text.key for text in step], vectors)
            self._progress.queued -= len(step)
            on_step()
        self._writer.checkpoint()
        return True


def _steps(pending: list[PendingText], settings: EmbeddingSettings) -> list[tuple[list[PendingText], int]]:
    """The texts in steps of like length, each with the number of tokens that count."""
    steps = []
    for is_code, max_tokens in ((True, settings.code_tokens), (False, settings.text_tokens)):
        texts = sorted((p for p in pending if p.is_code == is_code), key=lambda p: (len(p.text), p.key))
        for start in range(0, len(texts), _TEXTS_A_STEP):
            steps.append((texts[start : start + _TEXTS_A_STEP], max_tokens))
    return steps
