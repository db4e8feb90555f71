"""Reads packed pairs, and draws batches of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from sources import Source
from vocabulary import read_pieces

from cairn.embedding.word_pieces import WordPieces

_QUESTIONS = (
    "how does,how do,how is,how are,where is,where are,where does,which,what,what does,find,how to,how do we,"
    "where do we,code that,function that,logic for,implementation of,which file"
).split(",")


@frozen(eq=False)
class Rows:
    """Token ids of some texts, one after the other. A text may have none."""

    ids: NDArray[np.uint16]
    lengths: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths) - self.lengths

    def dropped(self, random: np.random.Generator, share: float) -> Rows:
        """Return the rows without a random share of the tokens; each text that has any keeps one."""
        chosen = random.random(len(self.ids)) >= share
        filled = self.lengths > 0
        chosen[(self.starts + random.integers(0, np.maximum(self.lengths, 1)))[filled]] = True
        counts = np.concatenate([[0], np.cumsum(chosen)])
        return Rows(self.ids[chosen], counts[self.starts + self.lengths] - counts[self.starts])


@frozen(eq=False)
class Side:
    """All texts of one kind."""

    rows: Rows
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, ids: NDArray[np.uint16], lengths: NDArray[np.integer], most: int = 255) -> Side:
        """Return the first `most` tokens of each text."""
        whole = Rows(ids, lengths.astype(np.int64))
        return cls(Rows(ids, np.minimum(whole.lengths, most)), whole.starts)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return the texts with these numbers."""
        lengths = self.rows.lengths[rows]
        ends = np.cumsum(lengths)
        at = np.repeat(self.starts[rows] - (ends - lengths), lengths) + np.arange(ends[-1])
        return Rows(self.rows.ids[at], lengths)


@frozen(eq=False)
class Packed:
    """All pairs."""

    queries: Side
    texts: Side
    bodies: Side
    right: NDArray[np.int64]
    """The question, text and place of each pair, int64[pairs, 3]. A pair that shares one of them with another
    is not a wrong answer to it."""
    order: NDArray[np.int64]
    """The pairs, ordered by repository."""
    bounds: NDArray[np.int64]
    """The start of each repository in `order`, and the end of the last."""
    shares: NDArray[np.float64]
    """The share of draws of each repository."""
    questions: tuple[tuple[int, ...], ...]
    pieces: int

    @classmethod
    def read(cls, folder: Path, text_tokens: int, without: str = "", repeat: str = "") -> Packed:
        """Read pairs without the sources in `without`, separated by commas; `repeat`, as in `NAME=3,OTHER=2`,
        draws a source more often."""
        with np.load(folder / "pairs.npz") as file:
            data = {name: file[name] for name in file.files}
        pieces = read_pieces(folder / "vocabulary.txt")
        words = WordPieces(pieces)
        out = [list(Source).index(Source[name]) for name in without.split(",") if name]
        chosen = np.flatnonzero(~np.isin(data["source"], out))
        order = chosen[np.argsort(data["repository"][chosen], kind="stable")]
        counts = np.bincount(data["repository"][chosen])
        shares = counts**0.75 * (counts > 64)
        times = np.ones(len(Source), np.int64)
        for name, often in (part.split("=") for part in repeat.split(",") if part):
            times[list(Source).index(Source[name])] = int(often)
        order = np.repeat(order, times[data["source"][order]])
        return cls(
            Side.of(data["query_ids"], data["query_lengths"]),
            Side.of(data["ids"], data["lengths"], text_tokens),
            Side.of(data["body_ids"], data["body_lengths"]),
            np.stack([data[name].astype(np.int64) for name in ("query_sketch", "sketch", "place")], axis=1),
            order,
            np.concatenate([[0], np.cumsum(np.bincount(data["repository"][order]))]),
            shares / shares.sum(),
            tuple(tuple(words.ids(question, 8)) for question in _QUESTIONS),
            len(pieces),
        )

    def batch(self, random: np.random.Generator, blocks: int, size: int) -> NDArray[np.int64]:
        """Return int64[blocks × size]: pairs, each block of one repository."""
        rows = []
        for repository in random.choice(len(self.shares), blocks, p=self.shares):
            own = self.order[self.bounds[repository] : self.bounds[repository + 1]]
            rows.append(random.choice(own, size, replace=len(own) < size))
        return np.concatenate(rows)

    def with_question_words(self, queries: Rows, random: np.random.Generator, share: float) -> Rows:
        """Return the queries, a share of them after words of a question."""
        lengths = queries.lengths.copy()
        at: list[int] = []
        what: list[int] = []
        for row in np.flatnonzero(random.random(len(lengths)) < share):
            words = self.questions[random.integers(len(self.questions))]
            at += [queries.starts[row]] * len(words)
            what += words
            lengths[row] += len(words)
        return Rows(np.insert(queries.ids, at, what), lengths)
