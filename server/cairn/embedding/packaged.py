"""The code model that comes with Cairn: its folder, its name, and the check that it is intact.

    cairn/embedding/code_model/vectors.npy       `entry_type`[vocabulary]
    cairn/embedding/code_model/vocabulary.txt    UTF-8, one piece a line; its 0-based line is the piece's id
    cairn/embedding/code_model/cairn-model.toml  name, dimension, SHA-256 of both; from `describe_packaged`

The name and id can be read without numpy. Loading compares the files with their digest, which takes 5 of its
20 ms: a damaged file would give wrong results without an explanation.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from cairn.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.embedding.static import StaticTable
    from cairn.embedding.word_pieces import WordPieces

FOLDER = Path(__file__).with_name("code_model")
VECTORS_FILE, VOCABULARY_FILE, DESCRIPTION_FILE = "vectors.npy", "vocabulary.txt", "cairn-model.toml"
NAME = "cairn-code"

_RECIPE = 1
"""Increase this number with each change to how texts become vectors that the files do not show."""
_DIGEST_DIGITS = 12


@frozen
class PackagedModel:
    """The description of the code model, without its vectors and vocabulary."""

    name: str
    folder: Path
    dimension: int
    sha256: str

    @property
    def id(self) -> str:
        """The name, a hash of the content, and the recipe. Vectors with different ids are never compared."""
        return f"{self.name}@{self.sha256[:_DIGEST_DIGITS]}.{_RECIPE}"


def packaged_model(folder: Path = FOLDER) -> PackagedModel:
    """Return the code model's description in 0.2 ms. Raise ModelError with a remedy if a file is missing."""
    try:
        for name in (VECTORS_FILE, VOCABULARY_FILE):
            (folder / name).stat()
        described = tomllib.loads((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"))
        return PackagedModel(
            str(described["name"]), folder, int(described["dimension"]), str(described["sha256"])
        )
    except (KeyError, TypeError) as problem:
        raise _unusable(f"{DESCRIPTION_FILE} is incomplete") from problem
    except (OSError, ValueError) as problem:
        raise _unusable(problem) from problem


def load_vocabulary(folder: Path = FOLDER) -> WordPieces:
    """Return the code model's vocabulary alone, with which tokens are counted where vectors are switched off
    or damaged. Raise ModelError with a remedy if the file is missing."""
    from cairn.embedding.word_pieces import WordPieces

    try:
        return WordPieces(_read_pieces(folder))
    except (OSError, ValueError) as problem:
        raise _unusable(problem) from problem


def load_packaged(folder: Path = FOLDER) -> StaticTable:
    """Return the code model's table. Raise ModelError with a remedy if a file is missing or changed."""
    from cairn.embedding.static import StaticTable
    from cairn.embedding.word_pieces import WordPieces

    model = packaged_model(folder)
    try:
        if _digest(folder) != model.sha256:
            raise ValueError("its content has changed")
        pieces = _read_pieces(folder)
        return StaticTable(model.id, _read_entries(folder, len(pieces)), WordPieces(pieces))
    except (OSError, ValueError) as problem:
        raise _unusable(problem) from problem


def describe_packaged(folder: Path = FOLDER) -> PackagedModel:
    """Write the description of the files in `folder`. Raise OSError, or ValueError if they do not match."""
    entries = _read_entries(folder, len(_read_pieces(folder)))
    model = PackagedModel(NAME, folder, int(entries.dtype["vector"].shape[0]), _digest(folder))
    values = {"name": model.name, "dimension": model.dimension, "sha256": model.sha256}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    (folder / DESCRIPTION_FILE).write_text("".join(lines), encoding="utf-8", newline="\n")
    return model


def _read_pieces(folder: Path) -> list[str]:
    text = (folder / VOCABULARY_FILE).read_bytes().decode("utf-8")
    return text.removesuffix("\n").split("\n")


def _read_entries(folder: Path, size: int) -> NDArray[np.void]:
    """Return `entry_type`[size]. Raise ValueError if the file has other content."""
    import numpy as np

    from cairn.embedding.static import entry_type

    # The files are mapped: processes share their pages, and the system reclaims them when memory is short. On
    # Windows they are not, since a newer version could not replace a mapped file.
    mode: Literal["r"] | None = None if os.name == "nt" else "r"
    entries: NDArray[np.void] = np.load(folder / VECTORS_FILE, mmap_mode=mode, allow_pickle=False)
    shape = entries.dtype["vector"].shape if "vector" in (entries.dtype.names or ()) else ()
    if len(shape) != 1 or entries.dtype != entry_type(shape[0]):
        raise ValueError(f"{VECTORS_FILE} does not hold vectors with two scales each")
    if entries.shape != (size,):
        raise ValueError(f"{VECTORS_FILE} and {VOCABULARY_FILE} are not of one length")
    return entries


def _digest(folder: Path) -> str:
    """Return the SHA-256, in hex, of the digests of the files."""
    digest = hashlib.sha256()
    for name in (VECTORS_FILE, VOCABULARY_FILE):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _unusable(problem: object) -> ModelError:
    return ModelError(f"The code model that comes with Cairn cannot be used: {problem}. Install Cairn again.")
