"""The static table: a vector for each token of the model's vocabulary, so that a text's is one mean away.

No network is run: thousands of texts a second instead of a hundred, at the price of word order and context.
`distil` makes a table from the installed model; here it is found, read and used. On the development set it is
worth two thirds of what the model itself adds to keywords (docs/ranking.md).
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.model_files import InstalledModel
from cairn.embedding.tokenization import TextTokenizer, load_tokenizer
from cairn.errors import ModelError

logger = logging.getLogger(__name__)

RECIPE = 1
"""Raised by any change of what `distil` writes; tables of another recipe are not used."""

_QUERY_TOKENS = 256
# Texts summed at once: at 64 tokens the rows in flight take 4 MB, which stays in the processor's cache.
_BATCH_TEXTS = 128
# A unit vector's largest numbers are far below 1, but a text of one token may come close.
_INT8_SCALE = 127.0
_DIGEST_DIGITS = 12


class StaticTable:
    """A loaded table. All methods may be called from several threads at once: nothing in it changes."""

    def __init__(self, table_id: str, entries: NDArray[np.void], tokenizer: TextTokenizer) -> None:
        """`entries` has one `entry_type` for each token id of `tokenizer`."""
        self.id = table_id
        """Changes with the model, the recipe and the numbers; vectors of two ids are never compared."""
        self._entries = entries
        self._tokenizer = tokenizer

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return int(self._entries.dtype["vector"].shape[0])

    def embed(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """C-contiguous float32[n, dimension] of unit-length rows, in the order of `texts`.

        Of each text, the first `max_tokens` tokens count. Texts without any known token share one vector.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _BATCH_TEXTS):
            rows = [self._tokenizer.ids(text, max_tokens) for text in texts[start : start + _BATCH_TEXTS]]
            self._add_up(rows, vectors[start : start + _BATCH_TEXTS])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[lengths[:, 0] == 0] = 1  # a row of zeros has a cosine to nothing
        lengths[lengths == 0] = np.sqrt(self.dimension)
        vectors /= lengths
        return vectors

    def embed_int8(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.int8]:
        """int8[n, dimension]: `embed` × 127, rounded; the product of two rows is about 16,129 × cosine."""
        rounded: NDArray[np.int8] = np.rint(self.embed(texts, max_tokens) * _INT8_SCALE).astype(np.int8)
        return rounded

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32[dimension] of unit length."""
        vector: NDArray[np.float32] = self.embed([text], _QUERY_TOKENS)[0]
        return vector

    def _add_up(self, rows: Sequence[Sequence[int]], sums: NDArray[np.float32]) -> None:
        """Write each row's sum of token vectors into `sums`, float32[n, dimension] of zeros."""
        lengths = np.array([len(row) for row in rows])
        filled = np.flatnonzero(lengths)
        if not filled.size:
            return
        tokens = self._entries[np.fromiter(itertools.chain.from_iterable(rows), np.intp, lengths.sum())]
        vectors = np.multiply(tokens["vector"], tokens["scale"][:, None], dtype=np.float32)
        starts = np.cumsum(lengths) - lengths
        # An empty row's start is the next one's, and reduceat would give it that row's first token.
        sums[filled] = np.add.reduceat(vectors, starts[filled], axis=0)


def find_static(model: InstalledModel) -> StaticTable | None:
    """The table of `model` (60 ms, 14 MB with the tokenizer); None where there is none, or it is damaged.

    Damage is logged; installing the model again mends it.
    """
    for path in table_files(model):
        try:
            return _read(path, model)
        except (OSError, ValueError, ModelError) as problem:
            logger.warning("the static table %s is not used: %s", path, problem)
    return None


def entry_type(dimension: int) -> np.dtype[Any]:
    """One token: its vector is `scale` × `vector`."""
    return np.dtype([("scale", "<f4"), ("vector", "i1", (dimension,))])


def write_table(entries: NDArray[np.void], model: InstalledModel, folder: Path) -> Path:
    """Write `entries`, `entry_type`[vocabulary], into `folder` under the table's name; returns the file.

    The name holds the model and a digest of the content: a half or changed file is never taken for a table.
    """
    fresh = folder / "static.new"
    with fresh.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(entries), allow_pickle=False)
    return fresh.replace(folder / f"{_prefix(model)}{_digest(fresh)}.npy")


def table_files(model: InstalledModel) -> list[Path]:
    """The files in the model's folder that are named as its tables of this recipe are, intact or not."""
    # Not Path.glob: a model's folder may lie under a name that reads as a pattern.
    name = re.compile(re.escape(_prefix(model)) + r"[0-9a-f]+\.npy")
    try:
        return sorted(path for path in model.folder.iterdir() if name.fullmatch(path.name))
    except OSError:
        return []


def _read(path: Path, model: InstalledModel) -> StaticTable:
    """Raises OSError, ValueError or ModelError if the file, or the model's tokenizer, is not what it was."""
    digest = _digest(path)
    if path.name != f"{_prefix(model)}{digest}.npy":
        raise ValueError("its content has changed")
    # Mapped: the system shares the pages between processes, and takes them back when memory is short.
    entries = np.lib.format.open_memmap(path, mode="r")
    tokenizer = load_tokenizer(model)
    if entries.shape != (tokenizer.vocabulary_size(),):
        raise ValueError("it was made with another tokenizer")
    return StaticTable(f"{model.id}+static{RECIPE}.{digest}", entries, tokenizer)


def _prefix(model: InstalledModel) -> str:
    return f"static-{RECIPE}-{model.sha256[:_DIGEST_DIGITS]}-"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGEST_DIGITS]
