"""Averages models that were trained from the same start, with other seeds or pairs; the mean is better than
each.

    average.py DEST MODEL MODEL ...

A piece's vector is the mean of theirs, with the weights that it has in texts; its weight in questions is the
geometric mean.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    dest, *models = map(Path, sys.argv[1:])
    vocabularies = {(model / "vocabulary.txt").read_bytes() for model in models}
    if len(vocabularies) > 1:
        print("The models do not have the same vocabulary.", file=sys.stderr)
        return 1
    vectors, weights = zip(*map(_weighted, models), strict=True)
    dest.mkdir(parents=True, exist_ok=True)
    mean = np.mean(vectors, axis=0)
    np.savez(
        dest / "model.npz",
        vectors=mean,
        text_weights=np.zeros(len(mean), np.float32),
        query_weights=np.mean(weights, axis=0),
    )
    shutil.copyfile(models[0] / "vocabulary.txt", dest / "vocabulary.txt")
    return 0


def _weighted(model: Path) -> tuple[Floats, Floats]:
    """Return the vectors times their weight in texts, of length 1 on average, and the logarithms of the
    additional weight in questions."""
    with np.load(model / "model.npz") as trained:
        text, query = trained["text_weights"], trained["query_weights"]
        vectors = trained["vectors"] * np.exp(text)[:, None]
    return vectors / np.linalg.norm(vectors, axis=1).mean(), query - text


if __name__ == "__main__":
    sys.exit(main())
