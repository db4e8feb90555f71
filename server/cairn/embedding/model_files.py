"""Where models are on disk and what Cairn knows of each: folder layout, description file, the active one.

    <data dir>/models/.active            name of the model in use; without it, the default's
    <data dir>/models/<name>/            model.onnx, tokenizer.json, cairn-model.toml

Only small files are read and written here: no network, no onnxruntime.
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
from cairn.paths import data_dir
from cairn.settings.layers import overlay

DEFAULT_NAME = "all-MiniLM-L6-v2"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
DESCRIPTION_FILE = "cairn-model.toml"
_ACTIVE_FILE = ".active"

# A name is a folder name on every platform, and can never lead out of the models folder.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Pooling(enum.StrEnum):
    """How the vectors of a text's tokens become one."""

    AUTO = "auto"
    """By the graph's outputs: `NONE` if one is the vector of the whole text, else `MEAN`."""
    MEAN = "mean"
    CLS = "cls"
    """The first token's vector."""
    NONE = "none"
    """The graph does it."""


@frozen
class InstalledModel:
    """A sentence embedding model in a folder; `cairn-model.toml` there has all fields but `folder`."""

    name: str
    folder: Path
    dimension: int = 0
    """Numbers per vector; 0 as long as nobody said or measured it."""
    max_tokens: int = 256
    """Longest input, special tokens included; the rest of a text is not seen. 256 is MiniLM's own limit."""
    pooling: Pooling = Pooling.AUTO
    normalize: bool = True
    """False if the graph's vectors have unit length already."""
    query_prefix: str = ""
    text_prefix: str = ""
    sha256: str = ""
    """Hex digest over everything that decides the vectors, taken when the model was installed."""

    @property
    def id(self) -> str:
        """Name and content, `name@0123456789ab`; vectors with different ids are never compared."""
        return f"{self.name}@{self.sha256[:12]}"


def models_dir() -> Path:
    """The folder that holds one folder per installed model; it may not exist yet."""
    return data_dir() / "models"


def find_model() -> InstalledModel | None:
    """The active model; None if none was ever installed. Raises ModelError if it is not there, or damaged."""
    name = active_name()
    check_name(name)
    folder = models_dir() / name
    if folder.is_dir():
        return read_model(folder)
    if name == DEFAULT_NAME:
        return None
    raise ModelError(f"The embedding model {name} is not installed. {remedy(name)}")


def read_model(folder: Path) -> InstalledModel:
    """The complete, installed model in `folder`. Raises ModelError with a remedy if it is damaged."""
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
    """`model` with what the `cairn-model.toml` in its folder, if there is one, says of it.

    Raises ModelError, without a remedy, if the file cannot be read or a value in it does not fit.
    """
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
    """Write `cairn-model.toml` into the model's folder."""
    values = attrs.asdict(model, filter=attrs.filters.exclude("folder"))
    # JSON's strings, booleans and numbers are TOML's, but for DEL, which TOML wants escaped.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    (model.folder / DESCRIPTION_FILE).write_text("".join(lines).replace("\x7f", "\\u007f"), encoding="utf-8")


def files_digest(paths: Iterable[Path], start: bytes = b"") -> str:
    """SHA-256, in hex, over `start` and the digests of the files."""
    digest = hashlib.sha256(start)
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def active_name() -> str:
    """Name of the model that is used, installed or not."""
    path = models_dir() / _ACTIVE_FILE
    try:
        return path.read_text(encoding="utf-8").strip() or DEFAULT_NAME
    except FileNotFoundError:
        return DEFAULT_NAME
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelError(f"{path} cannot be read: {problem}. Delete it to use {DEFAULT_NAME}.") from problem


def activate(name: str) -> None:
    """Make the installed model `name` the one that is used from now on."""
    fresh = models_dir() / f"{_ACTIVE_FILE}.new"
    fresh.write_text(name, encoding="utf-8")
    fresh.replace(models_dir() / _ACTIVE_FILE)


def check_name(name: str) -> None:
    """Raise ModelError if `name` cannot be the name of a model."""
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"{name!r} is no model name: use letters, digits, '.', '_' and '-', at most 100,"
            " starting with a letter or digit."
        )


def remedy(name: str) -> str:
    """The sentence that tells a user how to get the model `name` back in order."""
    folder = "" if name == DEFAULT_NAME else " FOLDER"
    return f"Run `cairn model install{folder}` to install it again."
