"""Static vectors as rows of a matrix, read from sqlite-vec's table: those nearest to a question, and how similar given ones are.

A search computes all squared distances exactly, block by block. Where the rows have codes (`cairn.index.vectors.codes`),
these find candidates first, and distances are computed for those alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import apsw
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.index.store.generation_cache import GenerationCache
from cairn.index.store.schema import STATIC_LENGTH, STATIC_TABLE
from cairn.index.vectors import codes
from cairn.index.vectors.blocks import UnknownLayoutError, VectorBlock, read_block_vectors
from cairn.index.vectors.codes import BLOCK, Codes
from cairn.index.vectors.row_memory import RowMemory

_SPARSE = 0.5
"""Share of rows up to which those that may be found are picked out, instead of comparing all."""
_ROOM = 0.25
"""Share of rows that can be added before all are read again. Memory that was never written to costs nothing."""
_HOLES = 0.1
"""Share of deleted rows from which all are read again."""
_MAPPED_FROM = 130_000
"""Rows from which they lie in a file; as many as have codes, so that a question looks at few of them."""
_SAMPLED = 16
"""Every sixteenth row tells what the mean of all is."""
_CODED_AT_ONCE = 65_536
_LET_GO_EVERY = 64
"""Blocks of sqlite-vec's that are read at once: 16 MB with 256 numbers for each row."""
_MASKS = 4
"""Filters whose chunks are kept: 30 ms to list them among 107,000 chunks, and a byte for each."""

_Vectors = NDArray[np.int8]
_FAR = np.float32(np.inf)


class RowStore:
    """Rows in the order in which they were read. Rows are added behind those that are there, which never change."""

    def __init__(self, rows: int, dimension: int, folder: Path | None = None) -> None:
        """Room for `rows` and some more; many rows lie in a file in `folder`."""
        capacity = rows + max(BLOCK, int(rows * _ROOM))
        self.count = 0
        self.ids = np.empty(capacity, np.int64)
        self.memory = RowMemory.of(capacity, dimension, folder if rows >= _MAPPED_FROM else None)
        self.vectors = self.memory.rows
        self.squares = np.empty(capacity, np.float32)
        """The squared length of each row."""
        self._as_float = np.empty((0, dimension), np.float32)
        """Kept from block to block: the system takes a millisecond to give a megabyte each time."""
        self.codes: Codes | None = None

    def coded(self) -> tuple[Codes, int]:
        """Codes of all rows that there are, and how many these are: rows may be added meanwhile."""
        count = self.count
        starts = range(0, count, _CODED_AT_ONCE)
        sums = np.zeros(self.vectors.shape[1], np.int64)
        for start in starts:
            sums += self.vectors[start : min(count, start + _CODED_AT_ONCE) : _SAMPLED].sum(
                axis=0, dtype=np.int64
            )
            self.memory.let_go()
        mean = (sums / max(1, -(-count // _SAMPLED))).astype(np.float32)
        codes = Codes(mean, len(self.ids))
        for start in starts:
            codes.add(start, self.vectors[start : min(count, start + _CODED_AT_ONCE)])
            self.memory.let_go()
        return codes, count

    def add(self, ids: NDArray[np.int64], vectors: _Vectors) -> None:
        """Add int8[n, dimension] under int64[n]."""
        start, end = self.count, self.count + len(ids)
        self.ids[start:end], self.vectors[start:end] = ids, vectors
        if len(self._as_float) < len(ids):
            self._as_float = np.empty((len(ids), self.vectors.shape[1]), np.float32)
        as_float = self._as_float[: len(ids)]
        as_float[...] = vectors
        np.einsum("ij,ij->i", as_float, as_float, out=self.squares[start:end])
        if self.codes is not None:
            self.codes.add(start, vectors)
        self.count = end


@frozen(eq=False)
class StaticRows:
    """The rows as they were at one moment. Methods may be called from several threads at once."""

    store: RowStore
    count: int
    present: NDArray[np.bool_] | None
    """bool[count]: which rows were not deleted; None for all."""
    sorter: NDArray[np.intp] | None
    """Sorts the ids; None where they are sorted."""
    content: int
    """Rises with every change of chunks."""
    masks: GenerationCache[Hashable, NDArray[np.bool_]] = field(factory=partial(GenerationCache, _MASKS))
    """bool[count]: which rows the latest filters let pass."""

    @classmethod
    def read(cls, db: apsw.Connection, blocks: dict[int, VectorBlock], content: int) -> StaticRows:
        """All that is in these blocks. Raises UnknownLayoutError."""
        dimension = int(db.execute("SELECT value FROM meta WHERE key = 'static_dimension'").get or 0)
        number = sum(int.from_bytes(block.validity, "little").bit_count() for block in blocks.values())
        store = RowStore(number, dimension, Path(db.filename).parent)
        for place, (key, block) in enumerate(blocks.items()):
            _add(db, store, key, block, None)
            if place % _LET_GO_EVERY == 0:
                store.memory.let_go()
        _check(db, store)
        store.memory.let_go()
        return cls(store, store.count, None, _sorter(store), content)

    def changed(
        self, db: apsw.Connection, before: dict[int, VectorBlock], now: dict[int, VectorBlock], content: int
    ) -> StaticRows | None:
        """These rows with what changed from the blocks `before` to those `now`; None where too much did."""
        store, present = self.store, self.present
        other = {number: block for number, block in now.items() if before.get(number) != block}
        old = _ids(block for number, block in before.items() if number in other or number not in now)
        new = _ids(other.values())
        gone, added = np.setdiff1d(old, new), np.setdiff1d(new, old)  # a row that moved is neither
        if store.count + len(added) > len(store.ids) or self._places_ever(added).size:
            return None
        for number, block in other.items() if len(added) else ():
            _add(db, store, number, block, added)
        store.memory.let_go()
        if len(gone) or present is not None:
            kept = np.ones(store.count, np.bool_)
            kept[: self.count] = True if present is None else present
            kept[self._places(gone)] = False
            present = kept
            if store.count - np.count_nonzero(kept) > max(BLOCK, _HOLES * store.count):
                return None
        sorter = _sorter(store) if len(added) else self.sorter
        return StaticRows(store, store.count, present, sorter, content, self.masks)

    def nearest(
        self, vector: _Vectors, limit: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ids and cosine similarities of the `limit` rows nearest to `vector`, int8[dimension], best first.

        Of equally near ones the lower id comes first. `allowed` is what `among` or `except_for` gave.
        """
        allowed = self.present if allowed is None else allowed
        passing = self.count if allowed is None else int(np.count_nonzero(allowed))
        coded = self.store.codes
        places: NDArray[np.intp] | None = None
        if coded is not None and passing > codes.CANDIDATES:
            places = coded.candidates(vector, allowed, self.count)
        elif allowed is not None and passing <= _SPARSE * self.count:
            places = np.flatnonzero(allowed)
        distances = self._squared_distances(vector, places)
        if allowed is not None and places is None:
            distances[~allowed] = _FAR
        wanted = min(limit, passing, len(distances))
        if wanted < 1:
            return np.empty(0, np.int64), np.empty(0)
        found = np.flatnonzero(distances <= np.partition(distances, wanted - 1)[wanted - 1])
        ids = self.store.ids[found if places is None else places[found]]
        order = np.lexsort((ids, distances[found]))[:wanted]
        return ids[order], _cosines(distances[found[order]])

    def similarities(self, ids: Iterable[int], vector: _Vectors) -> dict[int, float]:
        """The cosine similarities of the rows with these ids; one that is not there is left out."""
        places = self._places(np.fromiter(ids, np.int64))
        cosines = _cosines(self._squared_distances(vector, places))
        return dict(zip(self.store.ids[places].tolist(), cosines.tolist(), strict=True))

    def vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], _Vectors]:
        """int64[n] and int8[n, dimension]: the rows with these ids; one that is not there is left out."""
        places = self._places(np.fromiter(ids, np.int64))
        vectors = self.store.vectors.take(places, 0)
        self.store.memory.let_go()
        return self.store.ids[places], vectors

    def among(self, key: Hashable, ids: Callable[[], NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Lets those with `ids` be found. Questions with the same `key` share the answer while no chunk changes."""

        def passing(keys: Sequence[Hashable]) -> dict[Hashable, NDArray[np.bool_]]:
            mask = np.zeros(self.count, np.bool_)
            mask[self._places(ids())] = True
            return dict.fromkeys(keys, mask)

        mask = self.masks.get((self.content, self.count), [key], passing)[key]
        return mask if self.present is None else mask & self.present

    def except_for(self, ids: Iterable[int]) -> NDArray[np.bool_]:
        """Lets all but these be found."""
        mask = np.ones(self.count, np.bool_) if self.present is None else self.present.copy()
        mask[self._places(np.fromiter(ids, np.int64))] = False
        return mask

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where the rows with these ids are, those that are there."""
        places = self._places_ever(ids)
        return places if self.present is None else places[self.present[places]]

    def _places_ever(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Deleted rows included."""
        if not self.count:
            return np.empty(0, np.intp)
        known = self.store.ids[: self.count]
        order = np.argsort(ids)  # a million ids are looked through in a tenth of the time in their order
        at = np.empty(len(ids), np.intp)
        at[order] = np.searchsorted(known, ids[order], sorter=self.sorter)
        np.minimum(at, self.count - 1, out=at)
        places: NDArray[np.intp] = at if self.sorter is None else self.sorter[at]
        present: NDArray[np.intp] = places[known[places] == ids]
        return present

    def _squared_distances(
        self, vector: _Vectors, places: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        """float32[n] for the rows at `places`, for all by default. Whole numbers below 2^24, so they are exact."""
        store = self.store
        doubled = vector.astype(np.float32) * np.float32(-2)
        rows = self.count if places is None else len(places)
        distances = np.empty(rows, np.float32)
        room = np.empty((min(rows, BLOCK), vector.size), np.float32)
        for start in range(0, rows, BLOCK):
            end = min(rows, start + BLOCK)
            block = room[: end - start]
            # `take` copies rows in a third of the time that an index of places takes.
            block[...] = (
                store.vectors[start:end] if places is None else store.vectors.take(places[start:end], 0)
            )
            np.vecdot(block, doubled, out=distances[start:end])  # never in several threads, as `@` is
            if start % _CODED_AT_ONCE == 0:
                store.memory.let_go()
        store.memory.let_go()
        distances += store.squares[: self.count] if places is None else store.squares[places]
        distances += np.float32(np.dot(vector.astype(np.int64), vector.astype(np.int64)))
        return distances


def _cosines(squared_distances: NDArray[np.float32]) -> NDArray[np.float64]:
    """As `cairn.index.store.schema.static_cosine` has them."""
    return 1.0 - squared_distances.astype(np.float64) / (2.0 * STATIC_LENGTH**2)


def _sorter(store: RowStore) -> NDArray[np.intp] | None:
    ids = store.ids[: store.count]
    return None if np.all(ids[1:] > ids[:-1]) else np.argsort(ids, kind="stable")


def _ids(blocks: Iterable[VectorBlock]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(block.places()[0] for block in blocks)])


def _add(
    db: apsw.Connection, store: RowStore, number: int, block: VectorBlock, wanted: NDArray[np.int64] | None
) -> None:
    """Add the block's rows, those with `wanted` ids alone where they are given."""
    ids, places = block.places()
    if wanted is not None:
        chosen = np.isin(ids, wanted)
        ids, places = ids[chosen], places[chosen]
    if len(ids):
        store.add(ids, read_block_vectors(db, STATIC_TABLE, number, store.vectors.shape[1])[places])


def _check(db: apsw.Connection, store: RowStore) -> None:
    """Raise UnknownLayoutError if the first and last row are not what sqlite-vec says they are."""
    stored = f"SELECT embedding FROM {STATIC_TABLE} WHERE rowid = ?"
    for place in {0, store.count - 1} if store.count else ():
        said = db.execute(stored, (int(store.ids[place]),)).get
        if cast(object, said) != store.vectors[place].tobytes():
            raise UnknownLayoutError("rows are not where they were looked for")
