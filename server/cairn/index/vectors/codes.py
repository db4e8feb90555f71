"""Codes of static vectors, by which the rows that may be nearest are found before any distance is computed."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

CANDIDATES = 24_000
"""Rows whose distances are computed then: recall@200 is 0.998 of 200,000 rows and 0.994 of 500,000."""
BLOCK = 2_048
"""Rows made float32 at once: 2 MB with 256 numbers each, which stays in the processor's cache."""
_CODED = 512
"""Rows coded at once: 256 KB with 256 numbers each, twice."""
_COMPARED = 32_768
"""Codes compared at once, by three calls of numpy. Each gives the interpreter's lock away, and waits for it while another thread
runs Python: with 1,500 calls, a search of a million rows took 717 ms beside such a thread, with 100 it takes 25, and 11 alone."""
_SAMPLED = 8
"""Every eighth row tells how near the candidates must be."""

_Numbers = TypeVar("_Numbers", NDArray[np.int16], NDArray[np.float32])


class Codes:
    """Codes of the first rows of a store: the signs of their numbers, less the mean, before and after a rotation.

    The more signs two vectors share, the nearer they are. The static vectors of a workspace have a direction in common
    (any two have a cosine of 0.2 or so by the code model), of which signs say nothing once the mean is taken away. The
    second half, of the rotated vector, raised recall@200 among 8,000 candidates of 107,000 from 0.90 to 0.98.

    The rotation is Walsh and Hadamard's transform of the numbers, some of them negated by chance: sums and differences of whole
    numbers, so that a million rows are coded in 1.6 s of a core. A random matrix finds as many of the nearest (0.998 of 200 among
    24,000 candidates of 300,000) in 4 s, and numpy multiplies with it in several threads.
    """

    def __init__(self, mean: NDArray[np.float32], capacity: int) -> None:
        """`mean`, float32[dimension], is that of the rows, of which `capacity` can be coded."""
        self._dimension = mean.size
        self._rotated = 1 << (mean.size - 1).bit_length()
        """Numbers after the rotation, a power of two."""
        self._signs = np.ones((self._rotated, 1), np.int16)
        self._signs[np.random.default_rng(0).integers(0, 2, self._rotated, dtype=np.bool_)] = -1
        # A whole number is above the mean where it is above the whole number below it.
        self._levels = np.floor(mean).astype(np.int16)[:, None]
        rotated = np.zeros((self._rotated, 1), np.float32)
        rotated[: mean.size, 0] = mean
        self._rotated_levels = np.floor(_transformed(rotated * self._signs, rotated)).astype(np.int16)
        self.words = np.empty((-(-(mean.size + self._rotated) // 64), capacity), np.uint64)

    def add(self, start: int, rows: NDArray[np.int8]) -> None:
        """Code int8[n, dimension] as the rows from `start` on."""
        self.encode(rows, self.words[:, start : start + len(rows)])

    def encode(self, rows: NDArray[np.int8], out: NDArray[np.uint64]) -> None:
        """Write the codes of int8[n, dimension] into `out`, uint64[words, n]."""
        dimension, end = self._dimension, self._dimension + self._rotated
        for start in range(0, len(rows), _CODED):
            block = rows[start : start + _CODED]
            if start == 0 or len(block) < _CODED:
                # Rows are columns here, so that numpy adds hundreds of numbers that lie side by side.
                numbers, room = np.zeros((2, self._rotated, len(block)), np.int16)
                above = np.zeros((64 * len(self.words), len(block)), np.bool_)
            numbers[:dimension], numbers[dimension:] = block.T, 0
            np.greater(numbers[:dimension], self._levels, out=above[:dimension])
            numbers *= self._signs
            np.greater(_transformed(numbers, room), self._rotated_levels, out=above[dimension:end])
            by_row = np.ascontiguousarray(above.T)
            out[:, start : start + _CODED] = np.packbits(by_row, axis=1).view(np.uint64).T

    def candidates(
        self, vector: NDArray[np.int8], allowed: NDArray[np.bool_] | None, rows: int
    ) -> NDArray[np.intp]:
        """Of the first `rows` rows that are allowed, some `CANDIDATES` whose codes differ least, in their order."""
        differing = self._differing(vector, rows)
        never = 64 * len(self.words) + 1
        if allowed is not None:
            differing[~allowed] = never
        counts = np.bincount(differing[::_SAMPLED], minlength=never + 1)[:never].cumsum()
        most = int(np.searchsorted(counts, CANDIDATES / _SAMPLED))
        return np.flatnonzero(differing <= min(most, never - 1))

    def _differing(self, vector: NDArray[np.int8], rows: int) -> NDArray[np.uint16]:
        """uint16[rows]: how many signs differ from those of `vector`."""
        own = np.empty((len(self.words), 1), np.uint64)
        self.encode(vector[None], own)
        total = np.empty(rows, np.uint16)
        step = min(rows, _COMPARED)
        signs, counts = (np.empty((len(own), step), kind) for kind in (np.uint64, np.uint8))
        for start in range(0, rows, step):
            end = min(rows, start + step)
            differing, count = signs[:, : end - start], counts[:, : end - start]
            np.bitwise_xor(self.words[:, start:end], own, out=differing)
            np.bitwise_count(differing, out=count)
            np.add.reduce(count, axis=0, dtype=np.uint16, out=total[start:end])
        return total


def _transformed(numbers: _Numbers, room: _Numbers) -> _Numbers:
    """Walsh and Hadamard's transform of each column of [2^n, columns]. Writes into both arrays; the result is one of them."""
    columns = numbers.shape[1]
    apart = 1
    while apart < len(numbers):
        pairs, sums = (each.reshape(-1, 2, apart, columns) for each in (numbers, room))
        np.add(pairs[:, 0], pairs[:, 1], out=sums[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=sums[:, 1])
        numbers, room = room, numbers
        apart *= 2
    return numbers
