"""A matrix of vectors, read from sqlite-vec's table: nearest-neighbour search and similarities.

A search computes squared distances exactly, block by block. If the rows have codes
(`cairn.index.vectors.codes`), it computes only those of the candidates that the codes find.

The rows of a large matrix are in a memory-mapped file without a name, which the system can reclaim. A query
reads some ten thousand of a million rows. The pages that it reads count as memory of the process, so it
releases them at the end. They stay in the system's file cache while no other program needs the space. Reading
24,000 of a million rows takes 3.3 ms, and 2.7 ms if pages are not released.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, cast

import apsw
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.index.store.caches import GenerationCache
from cairn.index.store.schema import STATIC_LENGTH, STATIC_TABLE
from cairn.index.vectors import codes
from cairn.index.vectors.codes import BLOCK, Codes
from cairn.index.vectors.vec0 import UnknownLayoutError, VectorBlock, read_block_vectors

logger = logging.getLogger(__name__)

_ZEROS = bytes(1 << 20)


@frozen(eq=False)
class RowMemory:
    """The rows of a matrix and the memory they are in."""

    rows: NDArray[np.int8]
    """int8[capacity, dimension]."""
    _mapped: mmap.mmap | None = None

    @classmethod
    def of(cls, capacity: int, dimension: int, folder: Path | None) -> RowMemory:
        """Make room for `capacity` rows in an unnamed file in `folder`. Use ordinary memory if `folder` is
        None or no file can be created there."""
        if folder is not None and capacity * dimension:
            try:
                with tempfile.TemporaryFile(prefix="vectors-", dir=folder) as file:
                    _fill(file, capacity * dimension)
                    mapped = mmap.mmap(file.fileno(), capacity * dimension)
            except OSError as problem:
                logger.warning("no file can be created for static vectors, they stay in memory: %s", problem)
            else:
                return cls(np.frombuffer(mapped, np.int8).reshape(capacity, dimension), mapped)
        return cls(np.empty((capacity, dimension), np.int8))

    def release(self) -> None:
        """Let the system reclaim the pages, in 0.1 ms for a million rows. Their content stays in the file.
        Windows has no such call and reclaims pages when it needs them."""
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _fill(file: IO[bytes], size: int) -> None:
    """Allocate the whole file, because on a full disk a write to mapped memory would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        for start in range(0, size, len(_ZEROS)):
            file.write(_ZEROS[: size - start])
        file.flush()


_SPARSE = 0.5
"""If at most this share of the rows is allowed, only the allowed rows are compared, otherwise all rows."""
_ROOM = 0.25
"""The share of rows that can be added before all are read again. Room takes no memory until it is used."""
_HOLES = 0.1
"""All rows are read again if more than this share of them is deleted."""
_MAPPED_FROM = 130_000
"""A matrix of at least this many rows is in a memory-mapped file. Codes let a query read few of its rows."""
_SAMPLED = 16
"""Every sixteenth row is sampled to estimate the mean."""
_CODED_AT_ONCE = 65_536
_RELEASE_EVERY = 64
"""The number of blocks of sqlite-vec that are read before memory is released: 16 MB with 256 dimensions."""
_MASKS = 4
"""The number of cached filters. For 107,000 chunks, a filter takes 30 ms to evaluate, and 107 KB."""

_Vectors = NDArray[np.int8]
_FAR = np.float32(np.inf)


class RowStore:
    """A matrix of vectors and their ids, to which rows are only added."""

    def __init__(self, rows: int, dimension: int, folder: Path | None = None) -> None:
        """Make room for `rows` and a quarter more; if they are many, in a file in `folder`."""
        capacity = rows + max(BLOCK, int(rows * _ROOM))
        self.count = 0
        self.ids = np.empty(capacity, np.int64)
        self.memory = RowMemory.of(capacity, dimension, folder if rows >= _MAPPED_FROM else None)
        self.vectors = self.memory.rows
        self.squares = np.empty(capacity, np.float32)
        """The squared length of each row."""
        self._as_float = np.empty((0, dimension), np.float32)
        """A buffer kept between calls, because allocating a megabyte takes a millisecond."""
        self.codes: Codes | None = None

    def coded(self) -> tuple[Codes, int]:
        """Return the codes of the present rows, and their number, because rows may be added meanwhile."""
        count = self.count
        starts = range(0, count, _CODED_AT_ONCE)
        sums = np.zeros(self.vectors.shape[1], np.int64)
        for start in starts:
            sums += self.vectors[start : min(count, start + _CODED_AT_ONCE) : _SAMPLED].sum(
                axis=0, dtype=np.int64
            )
            self.memory.release()
        mean = (sums / max(1, -(-count // _SAMPLED))).astype(np.float32)
        codes = Codes(mean, len(self.ids))
        for start in starts:
            codes.add(start, self.vectors[start : min(count, start + _CODED_AT_ONCE)])
            self.memory.release()
        return codes, count

    def add(self, ids: NDArray[np.int64], vectors: _Vectors) -> None:
        """Append `vectors`, int8[n, dimension], with their ids, int64[n]."""
        start, end = self.count, self.count + len(ids)
        self.put(slice(start, end), ids, vectors)
        if self.codes is not None:
            self.codes.add(start, vectors)
        self.count = end

    def put(self, places: slice | NDArray[np.integer], ids: NDArray[np.integer], vectors: _Vectors) -> None:
        """Set the rows at n `places`, without codes. The caller sets `count` after the last row."""
        self.ids[places], self.vectors[places] = ids, vectors
        if len(self._as_float) < len(ids):
            self._as_float = np.empty((len(ids), self.vectors.shape[1]), np.float32)
        as_float = self._as_float[: len(ids)]
        as_float[...] = vectors
        self.squares[places] = np.einsum("ij,ij->i", as_float, as_float)


@frozen(eq=False)
class StaticRows:
    """An immutable view of the first `count` rows of a store, safe for several threads at once."""

    store: RowStore
    count: int
    present: NDArray[np.bool_] | None
    """bool[count], false for deleted rows; None if no row is deleted."""
    sorter: NDArray[np.intp] | None
    """The argsort of the ids; None if they are sorted."""
    content: int
    masks: GenerationCache[Hashable, NDArray[np.bool_]] = field(factory=partial(GenerationCache, _MASKS))
    """The recent filters: bool[count], true for the rows that pass."""

    @classmethod
    def read(cls, db: apsw.Connection, blocks: dict[int, VectorBlock], content: int) -> StaticRows:
        """Read all rows of these blocks. Raises UnknownLayoutError."""
        dimension = int(db.execute("SELECT value FROM meta WHERE key = 'static_dimension'").get or 0)
        number = sum(int.from_bytes(block.validity, "little").bit_count() for block in blocks.values())
        store = RowStore(number, dimension, Path(db.filename).parent)
        for place, (key, block) in enumerate(blocks.items()):
            _add(db, store, key, block, None)
            if place % _RELEASE_EVERY == 0:
                store.memory.release()
        _check(db, store)
        store.memory.release()
        return cls(store, store.count, None, _sorter(store), content)

    def changed(
        self, db: apsw.Connection, before: dict[int, VectorBlock], now: dict[int, VectorBlock], content: int
    ) -> StaticRows | None:
        """Return the rows with the changes from the blocks `before` to `now`; None if too much changed."""
        store, present = self.store, self.present
        other = {number: block for number, block in now.items() if before.get(number) != block}
        old = _ids(block for number, block in before.items() if number in other or number not in now)
        new = _ids(other.values())
        gone, added = np.setdiff1d(old, new), np.setdiff1d(new, old)  # a moved row is in neither
        if store.count + len(added) > len(store.ids) or self._places_with_deleted(added).size:
            return None
        for number, block in other.items() if len(added) else ():
            _add(db, store, number, block, added)
        store.memory.release()
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
        """Return the ids and cosines of the `limit` rows nearest to `vector`, int8[dimension], best first.
        Ties are ordered by id. `allowed` is a result of `among` or `except_for`."""
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
        """Return the cosine similarities of these rows to `vector` by id. Unknown ids are left out."""
        places = self._places(np.fromiter(ids, np.int64))
        cosines = _cosines(self._squared_distances(vector, places))
        return dict(zip(self.store.ids[places].tolist(), cosines.tolist(), strict=True))

    def vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], _Vectors]:
        """Return the known ids, int64[n], and their rows, int8[n, dimension]."""
        places = self._places(np.fromiter(ids, np.int64))
        vectors = self.store.vectors.take(places, 0)
        self.store.memory.release()
        return self.store.ids[places], vectors

    def among(self, key: Hashable, ids: Callable[[], NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Return a filter that allows `ids`. It is cached by `key` while no chunk changes."""

        def passing(keys: Sequence[Hashable]) -> dict[Hashable, NDArray[np.bool_]]:
            mask = np.zeros(self.count, np.bool_)
            mask[self._places(ids())] = True
            return dict.fromkeys(keys, mask)

        mask = self.masks.get((self.content, self.count), [key], passing)[key]
        return mask if self.present is None else mask & self.present

    def except_for(self, ids: Iterable[int]) -> NDArray[np.bool_]:
        """Return a filter that allows all rows but these."""
        mask = np.ones(self.count, np.bool_) if self.present is None else self.present.copy()
        mask[self._places(np.fromiter(ids, np.int64))] = False
        return mask

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        places = self._places_with_deleted(ids)
        return places if self.present is None else places[self.present[places]]

    def _places_with_deleted(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        if not self.count:
            return np.empty(0, np.intp)
        known = self.store.ids[: self.count]
        order = np.argsort(ids)  # sorted ids are found ten times as fast if they are a million
        at = np.empty(len(ids), np.intp)
        at[order] = np.searchsorted(known, ids[order], sorter=self.sorter)
        np.minimum(at, self.count - 1, out=at)
        places: NDArray[np.intp] = at if self.sorter is None else self.sorter[at]
        present: NDArray[np.intp] = places[known[places] == ids]
        return present

    def _squared_distances(
        self, vector: _Vectors, places: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        """Return the squared distances, float32[n], of the rows at `places`, or of all rows. They are exact,
        because they are integers below 2^24."""
        store = self.store
        doubled = vector.astype(np.float32) * np.float32(-2)
        rows = self.count if places is None else len(places)
        distances = np.empty(rows, np.float32)
        room = np.empty((min(rows, BLOCK), vector.size), np.float32)
        for start in range(0, rows, BLOCK):
            end = min(rows, start + BLOCK)
            block = room[: end - start]
            # `take` needs a third of the time of an index array.
            block[...] = (
                store.vectors[start:end] if places is None else store.vectors.take(places[start:end], 0)
            )
            np.vecdot(block, doubled, out=distances[start:end])  # single-threaded, unlike `@`
            if start % _CODED_AT_ONCE == 0:
                store.memory.release()
        store.memory.release()
        distances += store.squares[: self.count] if places is None else store.squares[places]
        distances += np.float32(np.dot(vector.astype(np.int64), vector.astype(np.int64)))
        return distances


def _cosines(squared_distances: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return cosines as `cairn.index.store.schema.static_cosine` computes them."""
    return 1.0 - squared_distances.astype(np.float64) / (2.0 * STATIC_LENGTH**2)


def _sorter(store: RowStore) -> NDArray[np.intp] | None:
    ids = store.ids[: store.count]
    return None if np.all(ids[1:] > ids[:-1]) else np.argsort(ids, kind="stable")


def _ids(blocks: Iterable[VectorBlock]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(block.places()[0] for block in blocks)])


def _add(
    db: apsw.Connection, store: RowStore, number: int, block: VectorBlock, wanted: NDArray[np.int64] | None
) -> None:
    """Add the block's rows to the store, or only the rows with the ids `wanted` if these are given."""
    ids, places = block.places()
    if wanted is not None:
        chosen = np.isin(ids, wanted)
        ids, places = ids[chosen], places[chosen]
    if len(ids):
        store.add(ids, read_block_vectors(db, STATIC_TABLE, number, store.vectors.shape[1])[places])


def _check(db: apsw.Connection, store: RowStore) -> None:
    """Raise UnknownLayoutError if sqlite-vec has another vector for the first or the last row."""
    stored = f"SELECT embedding FROM {STATIC_TABLE} WHERE rowid = ?"
    for place in {0, store.count - 1} if store.count else ():
        row = db.execute(stored, (int(store.ids[place]),)).get
        if cast(object, row) != store.vectors[place].tobytes():
            raise UnknownLayoutError("sqlite-vec has other rows than its tables")
