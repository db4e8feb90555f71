"""The static vectors of one index in memory, where there are many: a matrix is searched faster than sqlite-vec's table.

sqlite-vec stays the store. The matrix is read from it when a question first needs it, follows what is written by
whichever process, and is let go when it was not used for some minutes. What serves when is in docs/design.md, with
the measurements.

A search computes all squared distances exactly, block by block. From `_CODED_FROM` rows on, a code of two bits for
each number finds `_CANDIDATES` rows first, and distances are computed for those alone.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import cast

import apsw
import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from cairn.index.store.database import open_reader
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_LENGTH, STATIC_TABLE
from cairn.index.vectors.blocks import Block, UnknownLayoutError, read_block_vectors, read_blocks
from cairn.startup.memory import give_back_memory

logger = logging.getLogger(__name__)

FEWEST_ROWS = 5_000
"""Of fewer, sqlite-vec finds the nearest in less than 2 ms."""

_CODED_FROM = 130_000
"""Rows from which codes find candidates: distances to all of them take 5 ms with 128 numbers each, and codes as much memory
as a fourth of the rows."""
_CANDIDATES = 24_000
"""Rows whose distances are computed then: recall@200 is 0.998 of 200,000 rows and 0.994 of 500,000."""
_BLOCK = 2_048
"""Rows made float32 at once: 2 MB with 256 numbers each, which stays in the processor's cache."""
_SPARSE = 0.5
"""Share of rows up to which those that may be found are picked out, instead of comparing all."""
_SAMPLED = 8
"""Every eighth row tells how near the candidates must be."""
_ROOM = 0.25
"""Share of rows that can be added before all are read again. Memory that was never written to costs nothing."""
_HOLES = 0.1
"""Share of deleted rows from which all are read again."""
_MASKS = 4
"""Filters whose chunks are remembered: 30 ms to list them among 107,000 chunks, and a byte for each."""
_IDLE_SECONDS = 300.0
_READ_BEHIND_FROM = 200_000
"""Chunks from which a thread reads the rows, 0.5 s for 500,000, while sqlite-vec answers."""
_LONGEST_WAIT = 0.1
"""Seconds to wait while another thread reads the matrix; then sqlite-vec answers."""

_Vectors = NDArray[np.int8]
_FAR = np.float32(np.inf)


def read_ids(db: apsw.Connection, select: str, values: Sequence[str]) -> NDArray[np.int64]:
    """int64[n]: what `select` gives as `id`. As one text: 80,000 take 35 ms so, and 54 ms row by row."""
    text = db.execute(f"SELECT group_concat(id) FROM ({select})", tuple(values)).get
    return np.fromstring(text, np.int64, sep=",") if text else np.empty(0, np.int64)


class _Coder:
    """Codes vectors by the signs of their numbers, less the mean, before and after a rotation.

    The more signs two vectors share, the nearer they are. The static vectors of a workspace have a direction in common
    (any two have a cosine of 0.2 or so by the code model), of which signs say nothing once the mean is taken away. The
    second half, of the rotated vector, raised recall@200 among 8,000 candidates of 107,000 from 0.90 to 0.98.
    """

    def __init__(self, mean: NDArray[np.float32]) -> None:
        self._mean = mean
        random = np.random.default_rng(0).normal(size=(mean.size, mean.size))
        self._rotation = np.linalg.qr(random)[0].astype(np.float32)
        self.words = -(-2 * mean.size // 64)

    def encode(self, rows: NDArray[np.int8], out: NDArray[np.uint64]) -> None:
        """Write the codes of int8[n, dimension] into `out`, uint64[words, n]."""
        bits = np.zeros((min(len(rows), _BLOCK), self.words * 64), np.bool_)
        half = self._mean.size
        for start in range(0, len(rows), _BLOCK):
            centred = rows[start : start + _BLOCK] - self._mean
            block = bits[: len(centred)]
            np.greater(centred, 0, out=block[:, :half])
            np.greater(centred @ self._rotation, 0, out=block[:, half : 2 * half])
            out[:, start : start + _BLOCK] = np.packbits(block, axis=1).view(np.uint64).T


@define(eq=False)
class _Codes:
    """Codes of the first rows of a store."""

    coder: _Coder
    words: NDArray[np.uint64]
    """uint64[words, capacity]."""

    def candidates(self, vector: _Vectors, allowed: NDArray[np.bool_] | None, rows: int) -> NDArray[np.intp]:
        """Of the first `rows` rows that are allowed, some `_CANDIDATES` whose codes differ least, in their order."""
        differing = self._differing(vector, rows)
        never = 64 * self.coder.words + 1
        if allowed is not None:
            differing[~allowed] = never
        counts = np.bincount(differing[::_SAMPLED], minlength=never + 1)[:never].cumsum()
        most = int(np.searchsorted(counts, _CANDIDATES / _SAMPLED))
        return np.flatnonzero(differing <= min(most, never - 1))

    def _differing(self, vector: _Vectors, rows: int) -> NDArray[np.uint16]:
        """uint16[rows]: how many signs differ from those of `vector`."""
        own = np.empty((self.coder.words, 1), np.uint64)
        self.coder.encode(vector[None], own)
        total = np.zeros(rows, np.uint16)
        step = 8 * _BLOCK
        for start in range(0, rows, step):
            end = min(rows, start + step)
            for words, word in zip(self.words, own[:, 0], strict=True):
                total[start:end] += np.bitwise_count(words[start:end] ^ word)
        return total


class _Store:
    """Rows in the order in which they were read. Rows are added behind those that are there, which never change."""

    def __init__(self, rows: int, dimension: int) -> None:
        capacity = rows + max(_BLOCK, int(rows * _ROOM))
        self.count = 0
        self.ids = np.empty(capacity, np.int64)
        self.vectors = np.empty((capacity, dimension), np.int8)
        self.squares = np.empty(capacity, np.float32)
        """The squared length of each row."""
        self.codes: _Codes | None = None

    def has_room(self, rows: int) -> bool:
        return self.count + rows <= len(self.ids)

    def add(self, ids: NDArray[np.int64], vectors: _Vectors) -> None:
        """Add int8[n, dimension] under int64[n]."""
        start, end = self.count, self.count + len(ids)
        self.ids[start:end], self.vectors[start:end] = ids, vectors
        as_float = vectors.astype(np.float32)
        self.squares[start:end] = np.einsum("ij,ij->i", as_float, as_float)
        if self.codes is not None:
            self.codes.coder.encode(self.vectors[start:end], self.codes.words[:, start:end])
        self.count = end

    def mean(self) -> NDArray[np.float32]:
        """Of every sixteenth row."""
        mean: NDArray[np.float32] = self.vectors[: self.count : 16].mean(axis=0, dtype=np.float32)
        return mean


class _Masks:
    """Which rows the latest filters let pass."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, NDArray[np.bool_]] = {}
        self._using = threading.Lock()

    def get(self, key: Hashable, rows: int) -> NDArray[np.bool_] | None:
        """bool[rows]; None where it is not known for as many."""
        mask = self._kept.get(key)
        return None if mask is None or len(mask) < rows else mask[:rows]

    def put(self, key: Hashable, mask: NDArray[np.bool_]) -> None:
        with self._using:
            self._kept.pop(key, None)
            self._kept[key] = mask
            while len(self._kept) > _MASKS:
                del self._kept[next(iter(self._kept))]


@frozen(eq=False)
class StaticRows:
    """The rows as they were at one moment. Methods may be called from several threads at once."""

    _store: _Store
    _count: int
    _present: NDArray[np.bool_] | None
    """bool[count]: which rows were not deleted; None for all."""
    _sorter: NDArray[np.intp] | None
    """Sorts the ids; None where they are sorted."""
    _content: int
    """Rises with every change of chunks."""
    _masks: _Masks

    @property
    def nbytes(self) -> int:
        """Bytes that are kept in memory, without the room for rows to come, which is not resident."""
        store = self._store
        row = store.vectors.itemsize * store.vectors.shape[1] + store.ids.itemsize + store.squares.itemsize
        if store.codes is not None:
            row += store.codes.words.itemsize * len(store.codes.words)
        present = 0 if self._present is None else self._present.nbytes
        return self._count * row + present + (0 if self._sorter is None else self._sorter.nbytes)

    def nearest(
        self, vector: _Vectors, limit: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ids and cosine similarities of the `limit` rows nearest to `vector`, int8[dimension], best first.

        Of equally near ones the lower id comes first. `allowed` is what `among` or `except_for` gave.
        """
        allowed = self._present if allowed is None else allowed
        passing = self._count if allowed is None else int(np.count_nonzero(allowed))
        codes = self._store.codes
        places: NDArray[np.intp] | None = None
        if codes is not None and passing > _CANDIDATES:
            places = codes.candidates(vector, allowed, self._count)
        elif allowed is not None and passing <= _SPARSE * self._count:
            places = np.flatnonzero(allowed)
        distances = self._squared_distances(vector, places)
        if allowed is not None and places is None:
            distances[~allowed] = _FAR
        wanted = min(limit, passing, len(distances))
        if wanted < 1:
            return np.empty(0, np.int64), np.empty(0)
        found = np.flatnonzero(distances <= np.partition(distances, wanted - 1)[wanted - 1])
        ids = self._store.ids[found if places is None else places[found]]
        order = np.lexsort((ids, distances[found]))[:wanted]
        return ids[order], _cosines(distances[found[order]])

    def similarities(self, ids: Iterable[int], vector: _Vectors) -> dict[int, float]:
        """The cosine similarities of the rows with these ids; one that is not there is left out."""
        places = self._places(np.fromiter(ids, np.int64))
        cosines = _cosines(self._squared_distances(vector, places))
        return dict(zip(self._store.ids[places].tolist(), cosines.tolist(), strict=True))

    def among(self, key: Hashable, ids: Callable[[], NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Lets those with `ids` be found. Questions with the same `key` share the answer while no chunk changes."""
        key = (key, self._content)
        mask = self._masks.get(key, self._count)
        if mask is None:
            mask = np.zeros(self._count, np.bool_)
            mask[self._places(ids())] = True
            self._masks.put(key, mask)
        return mask if self._present is None else mask & self._present

    def except_for(self, ids: Iterable[int]) -> NDArray[np.bool_]:
        """Lets all but these be found."""
        mask = np.ones(self._count, np.bool_) if self._present is None else self._present.copy()
        mask[self._places(np.fromiter(ids, np.int64))] = False
        return mask

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where the rows with these ids are, those that are there."""
        places = self._places_ever(ids)
        return places if self._present is None else places[self._present[places]]

    def _places_ever(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Deleted rows included."""
        if not self._count:
            return np.empty(0, np.intp)
        known = self._store.ids[: self._count]
        at = np.minimum(np.searchsorted(known, ids, sorter=self._sorter), self._count - 1)
        places: NDArray[np.intp] = at if self._sorter is None else self._sorter[at]
        present: NDArray[np.intp] = places[known[places] == ids]
        return present

    def _squared_distances(
        self, vector: _Vectors, places: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        """float32[n] for the rows at `places`, for all by default. Whole numbers below 2^24, so they are exact."""
        store = self._store
        doubled = vector.astype(np.float32) * np.float32(-2)
        rows = self._count if places is None else len(places)
        distances = np.empty(rows, np.float32)
        room = np.empty((min(rows, _BLOCK), vector.size), np.float32)
        for start in range(0, rows, _BLOCK):
            end = min(rows, start + _BLOCK)
            block = room[: end - start]
            block[...] = store.vectors[slice(start, end) if places is None else places[start:end]]
            np.vecdot(block, doubled, out=distances[start:end])  # never in several threads, as `@` is
        distances += store.squares[: self._count] if places is None else store.squares[places]
        distances += np.float32(np.dot(vector.astype(np.int64), vector.astype(np.int64)))
        return distances


def _cosines(squared_distances: NDArray[np.float32]) -> NDArray[np.float64]:
    """As `cairn.index.store.schema.static_cosine` has them."""
    return 1.0 - squared_distances.astype(np.float64) / (2.0 * STATIC_LENGTH**2)


@frozen
class _Version:
    """Of which index, table and moment the rows are."""

    identity: object
    tables: int
    """Differs once the table of vectors was dropped and made anew."""
    table: str
    """Which static table the vectors are of."""
    generation: int
    content: int

    def follows(self, earlier: _Version) -> bool:
        """Whether the rows of `earlier` can be brought up to this one."""
        same = (self.identity, self.tables, self.table) == (earlier.identity, earlier.tables, earlier.table)
        return same and self.generation >= earlier.generation


@frozen(eq=False)
class _Current:
    version: _Version
    rows: StaticRows | None
    """None where they are too few, or cannot be read."""
    blocks: dict[int, Block] = field(factory=dict)


class StaticMatrix:
    """Holds the rows of one index for all threads of the process."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._current: _Current | None = None
        self._reading = threading.Lock()
        self._starting = threading.Lock()
        self._behind = False
        self._coding = False
        self._timer: threading.Timer | None = None
        self._used = 0.0

    def rows(self, db: apsw.Connection, identity: object) -> StaticRows | None:
        """The rows as they are now, None where sqlite-vec is to be asked instead.

        `identity` differs once `db` is another index. The first call for 107,000 rows takes 25 ms where the file is in
        the system's cache, one after a change 1 to 3 ms.
        """
        self._used = time.monotonic()
        current, version = self._current, _version(db, identity)
        if current is None or current.version != version:
            if self._behind or self._must_be_read_behind(db, current, version):
                self._read_behind(Path(db.filename), identity)
                return None
            if not self._reading.acquire(timeout=_LONGEST_WAIT):
                return None
            try:
                current = self._read(db, identity)
            finally:
                self._reading.release()
        return current.rows

    def forget(self) -> None:
        """Free the memory; the next question reads the rows anew."""
        with self._reading:
            self._current = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        give_back_memory()

    # --- reading many rows ------------------------------------------------------------------------------

    def _must_be_read_behind(self, db: apsw.Connection, current: _Current | None, version: _Version) -> bool:
        held = current is not None and current.rows is not None and version.follows(current.version)
        return not held and read_facts(db).chunks >= max(_READ_BEHIND_FROM, FEWEST_ROWS)

    def _read_behind(self, path: Path, identity: object) -> None:
        with self._starting:
            if not self._behind:
                self._behind = True
                arguments = (path, identity)
                threading.Thread(
                    target=self._read_all, args=arguments, name="cairn-vectors", daemon=True
                ).start()

    def _read_all(self, path: Path, identity: object) -> None:
        try:
            db = open_reader(path)
            if db is not None:
                try:
                    with self._reading:
                        self._read(db, identity)
                finally:
                    db.close()
        except apsw.Error as problem:  # whoever asks next, through the reader, is told
            logger.warning("static vectors could not be read: %s", problem)
        finally:
            self._behind = False

    # --- following the index, with the lock held ------------------------------------------------------

    def _read(self, db: apsw.Connection, identity: object) -> _Current:
        with db:  # one moment of the index
            version = _version(db, identity)
            if self._current is not None and self._current.version == version:
                return self._current
            try:
                current = self._followed(db, version)
            except UnknownLayoutError as problem:
                logger.warning("static vectors are compared by sqlite-vec alone: %s", problem)
                current = _Current(version, None)
        self._current = current
        self._attend(current)
        return current

    def _followed(self, db: apsw.Connection, version: _Version) -> _Current:
        facts = read_facts(db)
        if facts.chunks < FEWEST_ROWS or not version.table:
            return _Current(version, None)
        blocks = read_blocks(db, STATIC_TABLE)
        # Forgotten first: what was followed half is of no use, and two matrices would take twice the memory.
        before, self._current = self._current, None
        if before is not None and before.rows is not None and version.follows(before.version):
            rows = _changed(db, before.rows, before.blocks, blocks, version.content)
            if rows is not None:
                return _Current(version, rows, blocks)
        before = None
        return _Current(version, _read_all(db, blocks, version.content), blocks)

    def _attend(self, current: _Current) -> None:
        """Have the rows coded where they are many, and let go when nobody needs them."""
        if current.rows is None:
            return
        store = current.rows._store
        if store.codes is None and store.count >= _CODED_FROM and not self._coding:
            self._coding = True
            threading.Thread(target=self._code, args=(store,), name="cairn-codes", daemon=True).start()
        if self._timer is None:
            self._wait_idle(self._idle_seconds)

    def _code(self, store: _Store) -> None:
        """Code the rows: 0.5 s for 500,000, meanwhile distances are computed to all of them."""
        try:
            coder = _Coder(store.mean())
            words = np.empty((coder.words, len(store.ids)), np.uint64)
            count = store.count
            coder.encode(store.vectors[:count], words[:, :count])
            with self._reading:  # rows that were added meanwhile
                coder.encode(store.vectors[count : store.count], words[:, count : store.count])
                store.codes = _Codes(coder, words)
        finally:
            with self._reading:
                self._coding = False
                if self._current is not None:
                    self._attend(self._current)  # all may have been read anew meanwhile

    # --- letting go -----------------------------------------------------------------------------------

    def _wait_idle(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, _forget_unused, (weakref.ref(self),))
        self._timer.daemon = True
        self._timer.start()

    def _forget_unused(self) -> None:
        with self._reading:
            left = self._used + self._idle_seconds - time.monotonic()
            if left > 0:
                self._wait_idle(left)
                return
            self._current = self._timer = None
        give_back_memory()


def _forget_unused(matrix: weakref.ref[StaticMatrix]) -> None:
    held = matrix()
    if held is not None:
        held._forget_unused()


def _version(db: apsw.Connection, identity: object) -> _Version:
    rows = db.execute("SELECT key, value FROM meta WHERE key IN ('generation', 'content', 'static_table')")
    values = {str(key): str(value) for key, value in rows}
    return _Version(
        identity,
        int(db.pragma("schema_version")),
        values.get("static_table", ""),
        int(values.get("generation", 0)),
        int(values.get("content", 0)),
    )


def _read_all(db: apsw.Connection, blocks: dict[int, Block], content: int) -> StaticRows:
    dimension = int(db.execute("SELECT value FROM meta WHERE key = 'static_dimension'").get or 0)
    number = sum(int.from_bytes(block.validity, "little").bit_count() for block in blocks.values())
    store = _Store(number, dimension)
    for key, block in blocks.items():
        _add(db, store, key, block, None)
    _check(db, store)
    return StaticRows(store, store.count, None, _sorter(store), content, _Masks())


def _changed(
    db: apsw.Connection, rows: StaticRows, before: dict[int, Block], now: dict[int, Block], content: int
) -> StaticRows | None:
    """`rows` with what changed from the blocks `before` to those `now`; None where too much did."""
    store, present = rows._store, rows._present
    other = {number: block for number, block in now.items() if before.get(number) != block}
    old = _ids(block for number, block in before.items() if number in other or number not in now)
    new = _ids(other.values())
    gone, added = np.setdiff1d(old, new), np.setdiff1d(new, old)  # a row that moved is neither
    if not store.has_room(len(added)) or rows._places_ever(added).size:
        return None
    for number, block in other.items() if len(added) else ():
        _add(db, store, number, block, added)
    if len(gone) or present is not None:
        kept = np.ones(store.count, np.bool_)
        kept[: rows._count] = True if present is None else present
        kept[rows._places(gone)] = False
        present = kept
        if store.count - np.count_nonzero(kept) > max(_BLOCK, _HOLES * store.count):
            return None
    sorter = _sorter(store) if len(added) else rows._sorter
    return StaticRows(store, store.count, present, sorter, content, rows._masks)


def _sorter(store: _Store) -> NDArray[np.intp] | None:
    ids = store.ids[: store.count]
    return None if np.all(ids[1:] > ids[:-1]) else np.argsort(ids, kind="stable")


def _ids(blocks: Iterable[Block]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(block.places()[0] for block in blocks)])


def _add(
    db: apsw.Connection, store: _Store, number: int, block: Block, wanted: NDArray[np.int64] | None
) -> None:
    """Add the block's rows, those with `wanted` ids alone where they are given."""
    ids, places = block.places()
    if wanted is not None:
        chosen = np.isin(ids, wanted)
        ids, places = ids[chosen], places[chosen]
    if len(ids):
        store.add(ids, read_block_vectors(db, STATIC_TABLE, number, store.vectors.shape[1])[places])


def _check(db: apsw.Connection, store: _Store) -> None:
    """Raise UnknownLayoutError if the first and last row are not what sqlite-vec says they are."""
    for place in {0, store.count - 1} if store.count else ():
        said = db.execute(
            f"SELECT embedding FROM {STATIC_TABLE} WHERE rowid = ?", (int(store.ids[place]),)
        ).get
        if cast(object, said) != store.vectors[place].tobytes():
            raise UnknownLayoutError("rows are not where they were looked for")
