"""Installing a model: the default one, or a folder of the user's. Tried out before it is put in place.

All or nothing: a model is prepared in a hidden folder beside the others, then renamed into place. A reader therefore
sees either no model, or a complete one, whatever kills an installation.
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
from cairn.settings.tree import EmbeddingSettings

# float32 rows that a graph has scaled itself are off by some 1e-7.
_UNIT_TOLERANCE = 1e-3
# Model names cannot start with a dot, so neither of these is ever taken for a model.
_LOCK_FILE = ".install.lock"
_PARTIAL_PREFIX = ".partial-"


def install_default(report: Callable[[str], None]) -> InstalledModel:
    """Install the default model, unless it is there and intact, and make it the active one.

    `report` gets a line to show at each slow step. Raises ModelError with a remedy, having changed nothing.
    """
    # Before anything is locked or written, so that an installation made by another user can be used.
    model = _intact_default()
    if model is None or model_files.active_name() != DEFAULT_NAME:
        with _staging_folder(report) as staging:
            # Once more: another installation may have ended just now.
            model = _intact_default() or _finish(prepare_default(staging, report), report)
            model_files.activate(DEFAULT_NAME)
    return model


def install_folder(folder: Path, report: Callable[[str], None]) -> InstalledModel:
    """Install a copy of the user's model in `folder` and make it the active one.

    The folder holds `model.onnx` (and its `model.onnx*` data files) and `tokenizer.json`. An optional
    `cairn-model.toml` may set any field of `InstalledModel`; without it the name is the folder's and the
    dimension what the graph returns. Raises ModelError with a remedy, having changed nothing.
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
    """Try `model`, complete its description and rename its folder into place."""
    model = attrs.evolve(model, dimension=_tried_dimension(model), sha256=fingerprint(model))
    model_files.write_description(model)
    model = attrs.evolve(model, folder=_put_in_place(model.folder, model.name))
    report(f"Installed {model.id}")
    return model


def _tried_dimension(model: InstalledModel) -> int:
    """The numbers per vector of a short text and one of the greatest length; ModelError if they do not fit `model`."""
    advice = "Check the folder's files and its cairn-model.toml."
    embedder = load_embedder(model, EmbeddingSettings())
    # onnxruntime raises its own, undocumented types.
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
    """The default model, if its folder is complete and holds what was installed, byte for byte."""
    folder = model_files.models_dir() / DEFAULT_NAME
    if not folder.is_dir():
        return None
    try:
        model = model_files.read_model(folder)
        return model if model.sha256 == fingerprint(model) else None
    except (ModelError, OSError):
        # Whatever is wrong with it, a new installation sets it right or says why it cannot.
        return None


def fingerprint(model: InstalledModel) -> str:
    """SHA-256, in hex, over all that decides the vectors: the files, and how they are used."""
    use = (model.max_tokens, model.pooling.value, model.normalize, model.query_prefix, model.text_prefix)
    files = (*sorted(model.folder.glob(f"{GRAPH_FILE}*")), model.folder / TOKENIZER_FILE)
    return model_files.files_digest(files, repr(use).encode())


# --- writing -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _staging_folder(report: Callable[[str], None]) -> Iterator[Path]:
    """An empty folder on the models' own disk, held by this installation alone and removed at the end.

    Waits (and says so) while another installation runs; a dead one holds nothing, and its rest is removed.
    Raises ModelError if the disk does not do its part here or in the block.
    """
    models = model_files.models_dir()
    try:
        models.mkdir(parents=True, exist_ok=True)
        with _acquired(FileLock(models / _LOCK_FILE), report):
            for leftover in models.glob(f"{_PARTIAL_PREFIX}*"):
                # The owner is dead, or it would hold the lock. Its pip may live on for a moment and write here, so a
                # folder that cannot be removed now is left to the next installation.
                shutil.rmtree(leftover, ignore_errors=True)
            # What is still open on Windows stays as well.
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
    """Rename the folder `prepared`, a child of the staging folder, to the model's own; returns that.

    A model of the same name is replaced. Must run inside `_staging_folder`. Raises OSError.
    """
    # A rename may reach the disk before the data does; after a power cut the files would be empty.
    for path in prepared.iterdir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    place = model_files.models_dir() / name
    if place.exists():
        place.rename(prepared.with_name("replaced"))
    prepared.rename(place)
    return place


def _acquired(lock: FileLock, report: Callable[[str], None]) -> contextlib.AbstractContextManager[object]:
    """Holds the lock, for which it may have waited, while entered."""
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        report("Waiting for another installation to end")
        return lock.acquire()
