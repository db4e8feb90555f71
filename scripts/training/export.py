"""Turns a trained model into the table that comes with Cairn: int8, and for each piece two scales.

    export.py MODEL DEST

`train.py` wrote MODEL; DEST gets `vectors.npy` and `vocabulary.txt`, which `scripts/package_model.py` puts in
place. A piece's scales are the factors of its int8 vector in a text and in a question.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from cairn.embedding.static import entry_type


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    model, dest = map(Path, sys.argv[1:])
    dest.mkdir(parents=True, exist_ok=True)
    with np.load(model / "model.npz") as trained:
        vectors, text, query = (trained[name] for name in ("vectors", "text_weights", "query_weights"))
    largest = np.maximum(np.abs(vectors).max(axis=1), np.finfo(np.float32).tiny)
    entries = np.zeros(len(vectors), entry_type(vectors.shape[1]))
    entries["vector"] = np.rint(vectors / largest[:, None] * 127)
    entries["scale"] = largest / 127 * np.exp(text)
    entries["query_scale"] = largest / 127 * np.exp(query)
    np.save(dest / "vectors.npy", entries)
    shutil.copyfile(model / "vocabulary.txt", dest / "vocabulary.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
