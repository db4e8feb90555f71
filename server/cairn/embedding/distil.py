"""Distillation: the static table of a transformer, made once, when the model is installed.

model2vec's recipe: each token of the vocabulary goes through the model alone, and the vectors are brought to
fewer dimensions by principal components. Its weighting by frequency is left out: in all variants tried it
changed NDCG@10 by less than 0.01 in either direction, and it needs a vocabulary sorted by frequency.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cairn.config import EmbeddingSettings
from cairn.embedding.embedder import Embedder, load_embedder
from cairn.embedding.model_files import InstalledModel
from cairn.embedding.static import entry_type
from cairn.embedding.tokenization import load_tokenizer
from cairn.errors import ModelError

# NDCG@10 on the development set, folder alone / whole checkout: keywords alone 0.828 / 0.774, with 64
# dimensions 0.839 / 0.785, with 128 0.841 / 0.791, with 256 0.843 / 0.788.
_DIMENSION = 128
_BATCH_TOKENS = 256
_REPORT_SECONDS = 5.0


def distil(model: InstalledModel, report: Callable[[str], None]) -> NDArray[np.void]:
    """`entry_type`[vocabulary] for `model`, whose files must be in place; uses all cores.

    `report` gets a line at the start and every five seconds. Raises ModelError if the model cannot do it.
    """
    tokenizer = load_tokenizer(model)
    size, special = tokenizer.vocabulary_size(), tokenizer.special_ids()
    tokens = np.array([number for number in range(size) if number not in special], np.intp)
    if not tokens.size:
        raise ModelError(f"The tokenizer of {model.name} has no vocabulary.")
    report(f"Distilling the static table from {len(tokens):,} tokens")
    embedder = load_embedder(model, EmbeddingSettings(threads=os.cpu_count() or 1))
    # onnxruntime raises its own, undocumented types.
    try:
        vectors = _token_vectors(embedder, tokenizer.frame(), tokens, report)
    except Exception as problem:
        raise ModelError(f"The model {model.name} fails on single tokens: {problem}") from problem
    if not np.isfinite(vectors).all():
        raise ModelError(f"The model {model.name} does not return numbers for single tokens.")
    return _quantised(_principal_components(vectors, min(_DIMENSION, vectors.shape[1])), tokens, size)


def _token_vectors(
    embedder: Embedder,
    frame: tuple[list[int], list[int]],
    tokens: NDArray[np.intp],
    report: Callable[[str], None],
) -> NDArray[np.float32]:
    """float32[n, model dimension]: each token alone between the special tokens of `frame`."""
    before, after = frame
    vectors = np.empty((len(tokens), embedder.dimension), np.float32)
    reported = time.monotonic()
    for start in range(0, len(tokens), _BATCH_TOKENS):
        batch = tokens[start : start + _BATCH_TOKENS].tolist()
        vectors[start : start + len(batch)] = embedder.embed_ids(
            [[*before, token, *after] for token in batch]
        )
        if time.monotonic() - reported > _REPORT_SECONDS:
            report(f"Distilling: {start + len(batch):,} of {len(tokens):,} tokens")
            reported = time.monotonic()
    return vectors


def _principal_components(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """float32[n, dimension]: `vectors`, less their mean, along the directions in which they differ most."""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov(centred, rowvar=False).reshape(2 * (vectors.shape[1],)))
    strongest = directions[:, ::-1][:, :dimension].astype(np.float32)
    return np.asarray(centred @ strongest, np.float32)


def _quantised(vectors: NDArray[np.float32], tokens: NDArray[np.intp], size: int) -> NDArray[np.void]:
    """Each vector as int8 with a scale of its own; tokens that have none count nothing."""
    entries = np.zeros(size, entry_type(vectors.shape[1]))
    scales = np.abs(vectors).max(axis=1) / 127
    entries["scale"][tokens] = scales
    entries["vector"][tokens] = np.rint(vectors / np.maximum(scales, np.finfo(np.float32).tiny)[:, None])
    return entries
