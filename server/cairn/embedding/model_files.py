"""The models on disk: their folders, their descriptions, and which one is active.

    <data dir>/models/.active            the name of the active model; the default without this file
    <data dir>/models/<name>/            model.onnx, tokenizer.json, cairn-model.toml

This module reads and writes only small files, without network or onnxruntime.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import attrs
from attrs import frozen

from cairn.errors import ModelError
from cairn.paths import data_dir, write_private
from cairn.settings.layers import overlay

DEFAULT_NAME = "all-MiniLM-L6-v2"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
DESCRIPTION_FILE = "cairn-model.toml"
_ACTIVE_FILE = ".active"

# The name is a valid folder name on every platform and cannot lead out of the models folder.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Pooling(enum.StrEnum):
    """How the vectors of a text's tokens are combined into one."""

    AUTO = "auto"
    """`NONE` if a graph's output is the vector of the whole text, else `MEAN`."""
    MEAN = "mean"
    CLS = "cls"
    """The vector of the first token."""
    NONE = "none"


@frozen
class InstalledModel:
    """A sentence embedding model in a folder, whose `cairn-model.toml` has all fields but `folder`."""

    name: str
    folder: Path
    dimension: int = 0
    """The length of a vector; 0 until it is described or measured."""
    max_tokens: int = 256
    """The maximum number of tokens, including special ones; longer texts are cut. MiniLM's limit is 256."""
    pooling: Pooling = Pooling.AUTO
    normalize: bool = True
    """Whether Cairn normalises the vectors; False if they have unit length already."""
    query_prefix: str = ""
    text_prefix: str = ""
    sha256: str = ""
    """The hex digest, at installation, of everything that determines the vectors."""

    @property
    def id(self) -> str:
        """The name and a digest, `name@0123456789ab`. Vectors with different ids are never compared."""
        return f"{self.name}@{self.sha256[:12]}"


def models_dir() -> Path:
    """Return the folder that contains a folder for each installed model. It may not exist yet."""
    return data_dir() / "models"


def find_model() -> InstalledModel | None:
    """Return the active model, None if none was installed. Raise ModelError if it is missing or damaged."""
    name = active_name()
    check_name(name)
    folder = models_dir() / name
    if folder.is_dir():
        return read_model(folder)
    if name == DEFAULT_NAME:
        return None
    raise ModelError(f"The embedding model {name} is not installed. {remedy(name)}")


def read_model(folder: Path) -> InstalledModel:
    """Return the complete, installed model in `folder`. Raise ModelError with a remedy if it is damaged."""
    for file in (GRAPH_FILE, TOKENIZER_FILE, DESCRIPTION_FILE):
        if not (folder / file).is_file():
            raise ModelError(f"The embedding model in {folder} lacks {file}. {remedy(folder.name)}")
    try:
        model = describe(InstalledModel(folder.name, folder))
    except ModelError as problem:
        raise ModelError(f"{problem} {remedy(folder.name)}") from problem
    if not model.dimension or not model.sha256:
        raise ModelError(f"{folder / DESCRIPTION_FILE} is incomplete. {remedy(folder.name)}")
    return model


def describe(model: InstalledModel) -> InstalledModel:
    """Return `model` with the values of the `cairn-model.toml` in its folder, if there is one. Raise
    ModelError, without a remedy, if the file cannot be read or a value in it is invalid."""
    path = model.folder / DESCRIPTION_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return model
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ModelError(f"{path} cannot be read: {problem}.") from problem
    described, problems = overlay(model, values, DESCRIPTION_FILE)
    if problems:
        raise ModelError(f"The model in {model.folder} is not well described: {'; '.join(problems)}.")
    return described


def write_description(model: InstalledModel) -> None:
    values = attrs.asdict(model, filter=attrs.filters.exclude("folder"))
    # Strings, booleans and numbers of JSON are valid TOML, but TOML requires an escape for DEL.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    (model.folder / DESCRIPTION_FILE).write_text("".join(lines).replace("\x7f", "\\u007f"), encoding="utf-8")


def files_digest(paths: Iterable[Path], start: bytes = b"") -> str:
    """Return the SHA-256, in hex, of `start` and the digests of the files."""
    digest = hashlib.sha256(start)
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def active_name() -> str:
    path = models_dir() / _ACTIVE_FILE
    try:
        return path.read_text(encoding="utf-8").strip() or DEFAULT_NAME
    except FileNotFoundError:
        return DEFAULT_NAME
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelError(f"{path} cannot be read: {problem}. Delete it to use {DEFAULT_NAME}.") from problem


def activate(name: str) -> None:
    write_private(models_dir() / _ACTIVE_FILE, name)


def check_name(name: str) -> None:
    """Raise ModelError if `name` cannot be the name of a model."""
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"{name!r} is not a model name: use letters, digits, '.', '_' and '-', at most 100,"
            " starting with a letter or digit."
        )


def remedy(name: str) -> str:
    """Return the sentence that says how to repair the model `name`."""
    folder = "" if name == DEFAULT_NAME else " FOLDER"
    return f"Run `cairn model install{folder}` to install it again."
