"""Makes the initial vectors of the training: another model's vector of each piece alone.

    start.py PACKED MODEL

MODEL is a folder with model.onnx and tokenizer.json, for the committed table those of all-MiniLM-L6-v2.
PACKED/words.npy gets float16[pieces, dimension of the model]. From random vectors, training learns less about
rare words: on repositories that were never trained on, NDCG@10 by vectors alone was 0.405 instead of 0.422.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from vocabulary import read_pieces

from cairn.embedding.onnx_model import find_model, load_embedder
from cairn.embedding.word_pieces import CONTINUES

_PAGE = 512
_TOKENS = 8


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    packed, model = map(Path, sys.argv[1:])
    embedder = load_embedder(find_model(model), os.cpu_count() or 1)
    words = [piece.removeprefix(CONTINUES) for piece in read_pieces(packed / "vocabulary.txt")]
    pages = [embedder.embed(words[start : start + _PAGE], _TOKENS) for start in range(0, len(words), _PAGE)]
    np.save(packed / "words.npy", np.concatenate(pages).astype(np.float16))
    return 0


if __name__ == "__main__":
    sys.exit(main())
