"""The static table: a vector for each piece of a vocabulary. A text's vector is the sum of its pieces'.

Without a neural network it embeds thousands of texts a second instead of a hundred, but ignores word order
and context. `packaged` finds and loads the table that comes with Cairn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.word_pieces import WordPieces

BODY_TOKENS = 128
BODY_WEIGHT = 0.2
"""The weight of a token in a skeleton's body, with which the table is trained. Other tokens weigh 1."""

_WORTH = np.array([1.0, BODY_WEIGHT])
_QUERY_TOKENS = 256
# The number of texts summed at once. In a larger product of matrices, zeros outnumber the shared words.
_BATCH_TEXTS = 64
_ROWS_AT_ONCE = 4_096
_CACHED_QUERIES = 64
# The scale of int8 vectors. A unit vector's numbers are far below 1, but a text of one token may come close.
_INT8_SCALE = 127.0


class StaticTable:
    """A loaded table. It is immutable, so several threads may call it at once."""

    def __init__(self, table_id: str, entries: NDArray[np.void], pieces: WordPieces) -> None:
        """Create a table. `entries` has one `entry_type` for each id of `pieces`."""
        self.id = table_id
        """The id changes with the table. Vectors with different ids are never compared."""
        self._entries = np.asarray(entries)  # A plain array is faster to index than a mapped file.
        self._pieces = pieces
        self._query_vector = lru_cache(_CACHED_QUERIES)(
            lambda text: self._embed([text], _QUERY_TOKENS, "query_scale")[0]
        )

    @property
    def dimension(self) -> int:
        return int(self._entries.dtype["vector"].shape[0])

    @cached_property
    def _inverse_norms(self) -> NDArray[np.float32]:
        """float32[vocabulary]: 1 divided by the length of each vector."""
        squares = np.empty(len(self._entries), np.float32)
        for start in range(0, len(squares), _ROWS_AT_ONCE):
            rows = self._entries["vector"][start : start + _ROWS_AT_ONCE].astype(np.float32)
            squares[start : start + len(rows)] = np.einsum("ij,ij->i", rows, rows)
        inverse: NDArray[np.float32] = np.reciprocal(np.sqrt(np.maximum(squares, np.float32(1))))
        return inverse

    def embed(
        self, texts: Sequence[str], max_tokens: int, bodies: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Return C-contiguous float32[n, dimension] of unit-length rows, in the order of `texts`.

        The first `max_tokens` tokens of each text count, and at `BODY_WEIGHT` the first `BODY_TOKENS` of its
        body, the code behind a skeleton. All texts without a known token get the same vector.
        """
        return self._embed(texts, max_tokens, "scale", bodies)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors as `embed` does, for queries, in which tokens have other weights."""
        # Ranking files, comparing them and ranking their windows embed the same query.
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._query_vector(text)
        return vectors

    def embed_int8(
        self, texts: Sequence[str], max_tokens: int, bodies: Sequence[str] | None = None
    ) -> NDArray[np.int8]:
        """Return int8[n, dimension]: `embed` × 127, rounded. A product of rows is about 16,129 × cosine."""
        return to_int8(self.embed(texts, max_tokens, bodies))

    def embed_queries_int8(self, texts: Sequence[str]) -> NDArray[np.int8]:
        return to_int8(self.embed_queries(texts))

    def count_tokens(self, text: str) -> int:
        return self._pieces.count(text)

    def pieces(self, words: Sequence[str]) -> list[int]:
        """Return the ids of the tokens of words in lower case, from `word_pieces.words_of`."""
        return self._pieces.ids_of_words(words)

    def sum_pieces(self, ids: NDArray[np.integer], counts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the sum of each text's token vectors, float32[texts, dimension]. All texts are given by the
        `ids` of their tokens, and their numbers of tokens, int64[texts]."""
        sums = np.zeros((len(counts), self.dimension), np.float32)
        ends = np.concatenate(([0], np.cumsum(counts)))
        for start in range(0, len(counts), _BATCH_TEXTS):
            batch = sums[start : start + _BATCH_TEXTS]
            owners = np.repeat(np.arange(len(batch)), counts[start : start + len(batch)])
            self._add_up(ids[ends[start] : ends[start + len(batch)]], owners, None, "scale", batch)
        return sums

    def nearness(self, query: str, texts: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
        """Return float64[texts], about 0 to 1: the mean similarity of query tokens to a text's nearest token.

        The `texts` are given by the ids of their tokens. Query tokens count by weight (late interaction;
        Khattab and Zaharia, SIGIR 2020). Unlike the cosine of whole texts, this finds one relevant line among
        others.
        """
        query_ids = np.array(self._pieces.ids(query, _QUERY_TOKENS), np.intp)
        ids, times = np.unique(query_ids, return_counts=True)
        tokens = self._entries[ids]
        lengths = np.array([len(text) for text in texts], np.intp)
        if not len(tokens) or not lengths.any():
            return np.zeros(len(texts))
        others, columns = np.unique(np.concatenate(texts), return_inverse=True)
        own, there = (self._entries["vector"][each].astype(np.float32) for each in (ids, others))
        weights = times * np.abs(tokens["query_scale"]) / self._inverse_norms[ids]
        cosines = own @ there.T
        cosines *= self._inverse_norms[ids][:, None]
        cosines *= self._inverse_norms[others]
        starts = np.cumsum(lengths) - lengths
        some = lengths > 0
        nearest = np.zeros((len(tokens), len(texts)), np.float32)
        # Rows are processed one by one, since all at once take hundreds of MB.
        for row, similarities in zip(nearest, cosines, strict=True):
            row[some] = np.maximum.reduceat(similarities[columns], starts[some])
        near: NDArray[np.float64] = (weights @ nearest / (weights.sum() or 1.0)).astype(np.float64)
        return near

    def _embed(
        self, texts: Sequence[str], max_tokens: int, scale: str, bodies: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _BATCH_TEXTS):
            rows = [self._pieces.ids(text, max_tokens) for text in texts[start : start + _BATCH_TEXTS]]
            code = bodies[start : start + len(rows)] if bodies is not None else [""] * len(rows)
            below = [self._pieces.ids(text, BODY_TOKENS) for text in code]
            parts = list(itertools.chain.from_iterable(zip(rows, below, strict=True)))
            counts = np.array([len(part) for part in parts], np.intp)
            ids = np.fromiter(itertools.chain.from_iterable(parts), np.int64, counts.sum())
            owners = np.repeat(np.arange(len(parts)) // len(_WORTH), counts)
            worth = np.repeat(np.tile(_WORTH, len(rows)), counts)
            self._add_up(ids, owners, worth, scale, vectors[start : start + len(rows)])
        return _normalized(vectors)

    def _add_up(
        self,
        ids: NDArray[np.integer],
        owners: NDArray[np.intp],
        worth: NDArray[np.float64] | None,
        scale: str,
        sums: NDArray[np.float32],
    ) -> None:
        """Write the sum of the token vectors of each owner into `sums`, float32[owners, dimension]. `worth`
        has the weight of each token of `ids`; None stands for 1."""
        # Code repeats its words, so each word is looked up once and one product of matrices sums them.
        tokens, columns = np.unique(ids, return_inverse=True)
        shape = (len(sums), len(tokens))
        times = np.bincount(owners * len(tokens) + columns, worth, shape[0] * shape[1])
        weights = times.astype(np.float32).reshape(shape)
        entries = self._entries[tokens]
        weights *= entries[scale]
        np.matmul(weights, entries["vector"].astype(np.float32), out=sums)


def entry_type(dimension: int) -> np.dtype[Any]:
    """Return a token's type. Its vector is `vector` × `scale` in a text, × `query_scale` in a query."""
    return np.dtype([("scale", "<f4"), ("query_scale", "<f4"), ("vector", "i1", (dimension,))])


def _normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise the rows in place."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[lengths[:, 0] == 0] = 1  # A row of zeros would have no cosine.
    lengths[lengths == 0] = np.sqrt(vectors.shape[1])
    vectors /= lengths
    return vectors


def unit_int8(sums: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return int8[n, dimension], like `embed_int8`, for sums of token vectors, which it normalises."""
    return to_int8(_normalized(sums))


def to_int8(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return rows of unit length × 127, rounded, as an index stores them."""
    rounded: NDArray[np.int8] = np.rint(vectors * _INT8_SCALE).astype(np.int8)
    return rounded
