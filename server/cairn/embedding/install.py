"""Install the default model or a user's folder, after a trial of the model.

A model is prepared in a hidden folder beside the others, then renamed into place. So a reader sees either no
model or a complete one, even if the installation is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import numpy as np
from filelock import FileLock, Timeout

from cairn.embedding import model_files
from cairn.embedding.default_model import prepare_default
from cairn.embedding.embedder import load_embedder
from cairn.embedding.model_files import DEFAULT_NAME, GRAPH_FILE, TOKENIZER_FILE, InstalledModel
from cairn.errors import ModelError
from cairn.paths import private_folder
from cairn.settings.tree import EmbeddingSettings

# The tolerance for unit length: the rows that a graph normalises in float32 are off by some 1e-7.
_UNIT_TOLERANCE = 1e-3
# A model name cannot start with a dot, so neither of these is mistaken for a model.
_LOCK_FILE = ".install.lock"
_PARTIAL_PREFIX = ".partial-"


def install_default(report: Callable[[str], None]) -> InstalledModel:
    """Install the default model, unless it is installed and intact, and activate it. `report` gets a line to
    show at each slow step. If this fails, raise ModelError and change nothing."""
    # This comes before any lock or write, so that an installation by another user can be used.
    model = _intact_default()
    if model is None or model_files.active_name() != DEFAULT_NAME:
        with _staging_folder(report) as staging:
            # Another installation may have ended just now.
            model = _intact_default() or _finish(prepare_default(staging, report), report)
            model_files.activate(DEFAULT_NAME)
    return model


def install_folder(folder: Path, report: Callable[[str], None]) -> InstalledModel:
    """Install a copy of the user's model in `folder` and activate it.

    The folder contains `model.onnx` (and its `model.onnx*` data files) and `tokenizer.json`. An optional
    `cairn-model.toml` may set any field of `InstalledModel`. By default, the name is the folder's and the
    dimension is that of the graph's vectors. If this fails, raise ModelError with a remedy, change nothing.
    """
    for name in (GRAPH_FILE, TOKENIZER_FILE):
        if not (folder / name).is_file():
            raise ModelError(
                f"{folder} has no {name}. Give a folder that holds {GRAPH_FILE} and {TOKENIZER_FILE}."
            )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name)
    model = model_files.describe(InstalledModel(name, folder))
    model_files.check_name(model.name)
    with _staging_folder(report) as staging:
        report(f"Copying and checking {model.name}")
        copy = staging / "model"
        copy.mkdir()
        for source in (*folder.glob(f"{GRAPH_FILE}*"), folder / TOKENIZER_FILE):
            shutil.copyfile(source, copy / source.name)
        model = _finish(attrs.evolve(model, folder=copy), report)
        model_files.activate(model.name)
        return model


def _finish(model: InstalledModel, report: Callable[[str], None]) -> InstalledModel:
    model = attrs.evolve(model, dimension=_tried_dimension(model), sha256=fingerprint(model))
    model_files.write_description(model)
    model = attrs.evolve(model, folder=_put_in_place(model.folder, model.name))
    report(f"Installed {model.id}")
    return model


def _tried_dimension(model: InstalledModel) -> int:
    """Return the dimension of two sample vectors. Raise ModelError if the model fails or does not fit."""
    advice = "Check the folder's files and its cairn-model.toml."
    embedder = load_embedder(model, EmbeddingSettings())
    try:
        vectors = embedder.embed_queries(("sample", "sample " * model.max_tokens))
    except Exception as problem:
        raise ModelError(f"The model {model.name} fails on a sample text: {problem}\n{advice}") from problem
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise ModelError(f"The model {model.name} does not return one vector of numbers per text. {advice}")
    dimension: int = vectors.shape[1]
    if model.dimension not in (0, dimension):
        raise ModelError(
            f"The model {model.name} returns {dimension} numbers per vector, its description says"
            f" {model.dimension}. {advice}"
        )
    if np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > _UNIT_TOLERANCE:
        raise ModelError(
            f"The vectors of {model.name} do not have unit length."
            " Remove `normalize = false` from its cairn-model.toml."
        )
    return dimension


def _intact_default() -> InstalledModel | None:
    """Return the default model if its folder has the installed content, byte for byte."""
    folder = model_files.models_dir() / DEFAULT_NAME
    if not folder.is_dir():
        return None
    try:
        model = model_files.read_model(folder)
        return model if model.sha256 == fingerprint(model) else None
    except (ModelError, OSError):
        return None


def fingerprint(model: InstalledModel) -> str:
    """Return the SHA-256, in hex, of all that determines the vectors: the files and how they are used."""
    use = (model.max_tokens, model.pooling.value, model.normalize, model.query_prefix, model.text_prefix)
    files = (*sorted(model.folder.glob(f"{GRAPH_FILE}*")), model.folder / TOKENIZER_FILE)
    return model_files.files_digest(files, repr(use).encode())


@contextlib.contextmanager
def _staging_folder(report: Callable[[str], None]) -> Iterator[Path]:
    """Within the context, provide an empty folder on the models' disk; it is removed at the end. This waits
    (and reports it) while another installation runs. Raise ModelError if a write fails here or inside."""
    models = model_files.models_dir()
    try:
        private_folder(models)
        with _acquired(FileLock(models / _LOCK_FILE), report):
            for leftover in models.glob(f"{_PARTIAL_PREFIX}*"):
                # The owner is dead, since it does not have the lock. Its pip may still write here for a
                # moment; a folder that cannot be removed now is removed by the next installation.
                shutil.rmtree(leftover, ignore_errors=True)
            with tempfile.TemporaryDirectory(
                prefix=_PARTIAL_PREFIX, dir=models, ignore_cleanup_errors=True
            ) as staging:
                yield Path(staging)
    except OSError as problem:
        raise ModelError(
            f"The model cannot be written: {problem}. Check the free space and the permissions of"
            f" {models}, or set CAIRN_DATA_DIR to another folder."
        ) from problem


def _put_in_place(prepared: Path, name: str) -> Path:
    """Rename `prepared`, a folder in the staging folder, to the model's own folder, and return that. A model
    of the same name is replaced. Call this inside `_staging_folder`. Raise OSError."""
    # The disk may store a rename before the data. After a power cut, the files would be empty.
    for path in prepared.iterdir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    place = model_files.models_dir() / name
    if place.exists():
        place.rename(prepared.with_name("replaced"))
    prepared.rename(place)
    return place


def _acquired(lock: FileLock, report: Callable[[str], None]) -> contextlib.AbstractContextManager[object]:
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        report("Waiting for another installation to end")
        return lock.acquire()
