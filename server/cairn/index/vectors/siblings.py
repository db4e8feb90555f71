"""Reads vectors from other indexes: those of other folders, and this folder's previous one. A vector depends
only on the model and the text, so no text need be embedded twice on one machine."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import apsw

from cairn.index.store.database import DATABASE_NAME, PREVIOUS_NAME, connect_read_only
from cairn.index.store.schema import vectors_table

logger = logging.getLogger(__name__)

_MOST = 64
"""The maximum number of other indexes used; looking up a page takes about a millisecond in each."""


class Siblings:
    """The indexes in folders beside `folder` that have vectors of the model. Call `close` after use."""

    def __init__(self, folder: Path, model: str) -> None:
        beside = (path for path in folder.parent.glob(f"*/{DATABASE_NAME}") if path.parent != folder)
        others = sorted(beside, key=_modified, reverse=True)
        paths = (folder / PREVIOUS_NAME, *others[:_MOST])
        self._databases = [opened for path in paths if (opened := _open(path, model))]

    def look_up(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that other indexes have for `keys`: float32 as bytes, by key."""
        missing = set(keys)
        found: dict[bytes, bytes] = {}
        for db, model_id in self._databases:
            if not missing:
                break
            try:
                rows = db.execute(
                    f"""SELECT e.key, v.embedding FROM json_each(?) wanted
                        CROSS JOIN embeddings e ON e.model_id = {model_id} AND e.key = unhex(wanted.value)
                        CROSS JOIN {vectors_table(model_id)} v ON v.rowid = e.id""",
                    (json.dumps([key.hex() for key in missing]),),
                ).fetchall()
            except apsw.Error as problem:  # the index is being rebuilt; the texts will be embedded instead
                logger.info("vectors of another index cannot be read: %s", problem)
                continue
            found.update((bytes(cast(bytes, key)), bytes(cast(bytes, vector))) for key, vector in rows)
            missing.difference_update(found)
        return found

    def close(self) -> None:
        for db, _ in self._databases:
            db.close()
        self._databases = []


def _open(path: Path, model: str) -> tuple[apsw.Connection, int] | None:
    """Return a connection to an index and the model's id there; None if it has no vectors of the model."""
    try:
        db = connect_read_only(path)
        model_id = db.execute("SELECT id FROM models WHERE model = ?", (model,)).get
    except apsw.Error:
        return None  # the index is missing, of a version without these tables, or being created
    if model_id is None:
        db.close()
        return None
    return db, int(model_id)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
