"""Packed pairs, and batches of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

_QUESTIONS = (
    "how does", "how do", "how is", "how are", "where is", "where are", "where does", "which", "what", "what does", "find",
    "how to", "how do we", "where do we", "code that", "function that", "logic for", "implementation of", "which file",
)


@frozen(eq=False)
class Rows:
    """Token ids of some texts, one after the other."""

    ids: NDArray[np.uint16]
    lengths: NDArray[np.int64]
    fields: NDArray[np.uint8] | None = None

    def take(self, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> Rows:
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        at = np.repeat(starts[rows] - (ends - lengths), lengths) + np.arange(ends[-1])
        return Rows(self.ids[at], lengths, None if self.fields is None else self.fields[at])

    def dropped(self, random: np.random.Generator, share: float) -> Rows:
        """Without a random share of the tokens; each text keeps one."""
        kept = random.random(len(self.ids)) >= share
        kept[np.cumsum(self.lengths) - self.lengths + random.integers(0, self.lengths)] = True
        lengths = np.add.reduceat(kept.astype(np.int64), np.cumsum(self.lengths) - self.lengths)
        return Rows(self.ids[kept], lengths, None if self.fields is None else self.fields[kept])


@frozen(eq=False)
class Side:
    rows: Rows
    starts: NDArray[np.int64]

    @property
    def ids(self) -> NDArray[np.uint16]:
        return self.rows.ids

    def take(self, rows: NDArray[np.int64]) -> Rows:
        return self.rows.take(rows, self.starts)


@frozen(eq=False)
class Packed:
    """All pairs."""

    queries: Side
    texts: Side
    sketch: NDArray[np.int64]
    order: NDArray[np.int64]
    """Pairs by repository…"""
    bounds: NDArray[np.int64]
    """…and where each repository begins in that order, with the end."""
    shares: NDArray[np.float64]
    """How often each repository is drawn."""
    questions: tuple[tuple[int, ...], ...]
    pieces: int
    fields: int

    @classmethod
    def read(cls, folder: Path, text_tokens: int, without: str = "") -> Packed:
        from fields import Field
        from sources import Source
        from vocabulary import WordPieces

        with np.load(folder / "pairs.npz") as file:
            data = {name: file[name] for name in file.files}
        words = WordPieces((folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines())
        out = [list(Source).index(Source[name]) for name in without.split(",") if name]
        kept = np.flatnonzero(~np.isin(data["source"], out))
        order = kept[np.argsort(data["repository"][kept], kind="stable")]
        counts = np.bincount(data["repository"][kept])
        shares = counts**0.75 * (counts > 64)
        queries, texts = data["query_lengths"].astype(np.int64), data["lengths"].astype(np.int64)
        return cls(
            Side(Rows(data["query_ids"], queries), np.cumsum(queries) - queries),
            Side(Rows(data["ids"], np.minimum(texts, text_tokens), data["fields"]), np.cumsum(texts) - texts),
            data["sketch"].astype(np.int64),
            order,
            np.concatenate([[0], np.cumsum(counts)]),
            shares / shares.sum(),
            tuple(tuple(words.ids(question, 8)) for question in _QUESTIONS),
            len(words.pieces),
            len(Field),
        )

    def batch(self, random: np.random.Generator, blocks: int, size: int) -> NDArray[np.int64]:
        """int64[blocks × size]: pairs, each block of one repository."""
        rows = []
        for repository in random.choice(len(self.shares), blocks, p=self.shares):
            own = self.order[self.bounds[repository] : self.bounds[repository + 1]]
            rows.append(random.choice(own, size, replace=len(own) < size))
        return np.concatenate(rows)

    def asked(self, queries: Rows, random: np.random.Generator, share: float) -> Rows:
        """The queries, a share of them with words of a question before them."""
        parts, lengths = [], queries.lengths.copy()
        starts = np.cumsum(queries.lengths) - queries.lengths
        at, what = [], []
        for row in np.flatnonzero(random.random(len(lengths)) < share):
            words = self.questions[random.integers(len(self.questions))]
            at += [starts[row]] * len(words)
            what += words
            lengths[row] += len(words)
        return Rows(np.insert(queries.ids, at, what), lengths)


@frozen(eq=False)
class Sentences:
    """Sentences, and what another model makes of them."""

    side: Side
    vectors: NDArray[np.float16]
    groups: tuple[NDArray[np.int64], ...]
    """The sentences of each repository."""

    @classmethod
    def read(cls, path: Path, vocabulary: Path) -> Sentences:
        from vocabulary import WordPieces

        words = WordPieces(vocabulary.read_text(encoding="utf-8").splitlines())
        with np.load(path) as file:
            vectors, repository = file["vectors"], file["repo"]
        texts = json.loads(Path(f"{path}.json").read_text())
        rows = [words.ids(text, 32) for text in texts]
        lengths = np.array([len(row) for row in rows])
        side = Side(Rows(np.concatenate([np.array(row, np.uint16) for row in rows]), lengths), np.cumsum(lengths) - lengths)
        usable = np.flatnonzero(lengths > 1)
        groups = [usable[repository[usable] == number] for number in np.unique(repository)]
        return cls(side, vectors, tuple(group for group in groups if len(group) >= 128))

    def batch(self, random: np.random.Generator, blocks: int, size: int) -> tuple[Rows, NDArray[np.float32]]:
        """`blocks` × `size` sentences, each block of one repository, and float32[blocks, size, n] of the other model."""
        chosen = [self.groups[n] for n in random.integers(0, len(self.groups), blocks)]
        rows = np.concatenate([random.choice(own, size, replace=len(own) < size) for own in chosen])
        return self.side.take(rows), self.vectors[rows].astype(np.float32).reshape(blocks, size, -1)
