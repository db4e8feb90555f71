"""Reads the static vectors of an index from sqlite-vec's table, all of them or what changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from cairn.index.store.schema import STATIC_TABLE
from cairn.index.vectors.blocks import UnknownLayoutError, VectorBlock, read_block_vectors
from cairn.index.vectors.codes import BLOCK
from cairn.index.vectors.static_rows import RowStore, StaticRows

_HOLES = 0.1
"""Share of deleted rows from which all are read again."""


def read_all(db: apsw.Connection, blocks: dict[int, VectorBlock], content: int) -> StaticRows:
    dimension = int(db.execute("SELECT value FROM meta WHERE key = 'static_dimension'").get or 0)
    number = sum(int.from_bytes(block.validity, "little").bit_count() for block in blocks.values())
    store = RowStore(number, dimension)
    for key, block in blocks.items():
        _add(db, store, key, block, None)
    _check(db, store)
    return StaticRows(store, store.count, None, _sorter(store), content)


def read_changes(
    db: apsw.Connection,
    rows: StaticRows,
    before: dict[int, VectorBlock],
    now: dict[int, VectorBlock],
    content: int,
) -> StaticRows | None:
    """`rows` with what changed from the blocks `before` to those `now`; None where too much did."""
    store, present = rows.store, rows.present
    other = {number: block for number, block in now.items() if before.get(number) != block}
    old = _ids(block for number, block in before.items() if number in other or number not in now)
    new = _ids(other.values())
    gone, added = np.setdiff1d(old, new), np.setdiff1d(new, old)  # a row that moved is neither
    if not store.has_room(len(added)) or rows.places_ever(added).size:
        return None
    for number, block in other.items() if len(added) else ():
        _add(db, store, number, block, added)
    if len(gone) or present is not None:
        kept = np.ones(store.count, np.bool_)
        kept[: rows.count] = True if present is None else present
        kept[rows.places(gone)] = False
        present = kept
        if store.count - np.count_nonzero(kept) > max(BLOCK, _HOLES * store.count):
            return None
    sorter = _sorter(store) if len(added) else rows.sorter
    return StaticRows(store, store.count, present, sorter, content, rows.masks)


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
    for place in {0, store.count - 1} if store.count else ():
        said = db.execute(
            f"SELECT embedding FROM {STATIC_TABLE} WHERE rowid = ?", (int(store.ids[place]),)
        ).get
        if cast(object, said) != store.vectors[place].tobytes():
            raise UnknownLayoutError("rows are not where they were looked for")
