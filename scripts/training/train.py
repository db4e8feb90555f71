"""Trains the static model from pairs by contrast: a vector and two weights for each word piece.

    train.py PACKED DEST [--dimension 256] [--steps 2000] [--minutes 60]

`pack.py` wrote PACKED. The vector of a question or a text is the weighted sum of its pieces' vectors, at unit
length. Training pulls a question towards its text and away from the other texts of its block, all from the
same repository, so that the model does not learn to tell repositories apart. DEST gets `model.npz`, which
`export.py` turns into the table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from packed import Packed, Rows

from cairn.embedding.static import BODY_WEIGHT

_TEMPERATURE = 0.05


class StaticModel(torch.nn.Module):  # type: ignore[misc] # where torch is missing
    """The vectors, and the logarithms of a piece's weights in a text and in a question."""

    def __init__(self, pieces: int, dimension: int, frequencies: torch.Tensor) -> None:
        super().__init__()
        self.vectors = torch.nn.Parameter(torch.randn(pieces, dimension) / dimension**0.5)
        rarity = torch.log(1e-3 / (1e-3 + frequencies))
        self.text_weights = torch.nn.Parameter(rarity.clone())
        self.query_weights = torch.nn.Parameter(rarity.clone())

    def texts(self, skeletons: Rows, bodies: Rows, body_weight: float) -> torch.Tensor:
        table = self.vectors * self.text_weights.exp()[:, None]
        sums = _sums(table, skeletons) + body_weight * _sums(table, bodies)
        return torch.nn.functional.normalize(sums, dim=1)

    def queries(self, rows: Rows) -> torch.Tensor:
        table = self.vectors * self.query_weights.exp()[:, None]
        return torch.nn.functional.normalize(_sums(table, rows), dim=1)


def _sums(table: torch.Tensor, rows: Rows) -> torch.Tensor:
    """Return float32[rows, dimension]: the sum of the vectors of each row's pieces."""
    ids = torch.from_numpy(rows.ids.astype(np.int64))
    return torch.nn.functional.embedding_bag(ids, table, torch.from_numpy(rows.starts), mode="sum")


def block_loss(
    queries: torch.Tensor, texts: torch.Tensor, right: torch.Tensor, size: int, temperature: float
) -> torch.Tensor:
    """Return the mean loss of both directions over blocks of `size` rows. Two rows that share a number in
    `right`, int64[rows, n], are not wrong answers to each other."""
    blocks = len(queries) // size
    query_blocks, text_blocks = queries.view(blocks, size, -1), texts.view(blocks, size, -1)
    products = torch.bmm(query_blocks, text_blocks.transpose(1, 2)) / temperature
    numbers = right.view(blocks, size, -1)
    alike = (numbers[:, :, None] == numbers[:, None, :]).any(-1) & ~torch.eye(size, dtype=torch.bool)
    products = products.masked_fill(alike, -1e4)
    target = torch.arange(size).expand(blocks, size).reshape(-1)
    forth = torch.nn.functional.cross_entropy(products.reshape(-1, size), target)
    back = torch.nn.functional.cross_entropy(products.transpose(1, 2).reshape(-1, size), target)
    return (forth + back) / 2


def train(packed: Packed, options: argparse.Namespace) -> StaticModel:
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    counts = np.zeros(packed.pieces)
    for side in (packed.texts, packed.queries):
        counts += np.bincount(side.rows.ids, minlength=packed.pieces)
    model = StaticModel(packed.pieces, options.dimension, torch.from_numpy(counts / counts.sum()).float())
    if options.start:
        start = _start(np.load(options.start).astype(np.float32), options.dimension)
        with torch.no_grad():
            model.vectors.copy_(torch.from_numpy(start))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=options.rate)
    random = np.random.default_rng(options.seed)
    began = time.monotonic()
    losses = []
    for step in range(options.steps):
        rows = packed.batch(random, options.blocks, options.block)
        queries = packed.queries.take(rows).dropped(random, options.dropout)
        queries = packed.with_question_words(queries, random, options.asked)
        texts = packed.texts.take(rows).dropped(random, options.dropout)
        bodies = packed.bodies.take(rows).dropped(random, options.body_dropout)
        # Fewer tokens of a body are drawn, to save time, with a higher weight each.
        body_weight = options.body_weight * (1 - options.dropout) / (1 - options.body_dropout)
        found = model.texts(texts, bodies, body_weight)
        right = torch.from_numpy(packed.right[rows])
        loss = block_loss(model.queries(queries), found, right, options.block, options.temperature)
        optimizer.zero_grad()
        loss.backward()
        left = 1 - max(step / options.steps, (time.monotonic() - began) / 60 / options.minutes)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * max(0.02, min(1.0, left / 0.5))
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 49:
            seconds = time.monotonic() - began
            print(f"{step + 1} {seconds:.0f} s, loss {np.mean(losses[-50:]):.4f}", flush=True)
        if left <= 0:
            break
    return model


def _start(words: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Return another model's vectors of the pieces in fewer dimensions, with the mean length 1 of random
    ones."""
    centred = words - words.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ directions[:, ::-1][:, :dimension]
    return np.asarray(reduced / np.linalg.norm(reduced, axis=1).mean(), np.float32)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packed", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--block", type=int, default=256)
    parser.add_argument("--rate", type=float, default=0.03)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--body-dropout", type=float, default=0.7)
    parser.add_argument("--body-weight", type=float, default=BODY_WEIGHT)
    parser.add_argument("--asked", type=float, default=0.4)
    parser.add_argument("--temperature", type=float, default=_TEMPERATURE)
    parser.add_argument("--text-tokens", type=int, default=96)
    parser.add_argument("--without", default="", help="sources, separated by commas")
    parser.add_argument("--repeat", default="", help="sources to draw more often, as MESSAGE=3")
    parser.add_argument("--start", type=Path, help="another model's vectors of the pieces, float[pieces, n]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    packed = Packed.read(options.packed, options.text_tokens, options.without, options.repeat)
    model = train(packed, options)
    options.dest.mkdir(parents=True, exist_ok=True)
    arrays = {name: value.detach().numpy() for name, value in model.named_parameters()}
    np.savez(options.dest / "model.npz", **arrays)
    shutil.copyfile(options.packed / "vocabulary.txt", options.dest / "vocabulary.txt")
    (options.dest / "options.json").write_text(json.dumps(vars(options), default=str, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
