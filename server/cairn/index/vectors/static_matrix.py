"""Keeps the static vectors of one index in memory, where they are many: a matrix is searched faster than sqlite-vec's table.

sqlite-vec stays the store. The matrix is read from it when a question first needs it, follows what is written by
whichever process, and is freed when it was not used for some minutes. What serves when is in docs/design.md, with
the measurements.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from pathlib import Path

import apsw
import numpy as np
from attrs import field, frozen

from cairn.index.store.database import open_reader
from cairn.index.store.meta import Facts, read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.vectors.blocks import UnknownLayoutError, VectorBlock, read_blocks
from cairn.index.vectors.codes import Coder, Codes
from cairn.index.vectors.row_reading import read_all, read_changes
from cairn.index.vectors.static_rows import RowStore, StaticRows
from cairn.startup.memory import give_back_memory

logger = logging.getLogger(__name__)

FEWEST_ROWS = 5_000
"""Of fewer, sqlite-vec finds the nearest in less than 2 ms."""
_CODED_FROM = 130_000
"""Rows from which codes find candidates: distances to all of them take 5 ms with 128 numbers each, and codes as much memory
as a fourth of the rows."""
_IDLE_SECONDS = 300.0
_READ_BEHIND_FROM = 200_000
"""Chunks from which a thread reads the rows, 0.5 s for 500,000, while sqlite-vec answers."""
_LONGEST_WAIT = 0.1
"""Seconds to wait while another thread reads the matrix; then sqlite-vec answers."""


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

    def is_of(self, identity: object, facts: Facts) -> bool:
        """Whether the rows are those of this index at the moment of `facts`."""
        return (self.identity, self.generation) == (identity, facts.generation)

    def follows(self, earlier: _Version) -> bool:
        """Whether the rows of `earlier` can be brought up to this one."""
        same = (self.identity, self.tables, self.table) == (earlier.identity, earlier.tables, earlier.table)
        return same and self.generation >= earlier.generation


@frozen(eq=False)
class _Current:
    version: _Version
    rows: StaticRows | None
    """None where they are too few, or cannot be read."""
    blocks: dict[int, VectorBlock] = field(factory=dict)


class StaticMatrix:
    """The rows of one index, for all threads of the process."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._current: _Current | None = None
        self._reading = threading.Lock()
        self._starting = threading.Lock()
        self._behind = False
        self._coding = False
        self._timer: threading.Timer | None = None
        self._used = 0.0

    def rows(self, db: apsw.Connection, identity: object, facts: Facts) -> StaticRows | None:
        """The rows as they are at the moment of `facts`, None where sqlite-vec is to be asked instead.

        `identity` differs once `db` is another index. The first call for 107,000 rows takes 25 ms where the file is in
        the system's cache, one after a change 1 to 3 ms.
        """
        self._used = time.monotonic()
        current = self._current
        if current is None or not current.version.is_of(identity, facts):
            if self._behind or self._must_be_read_behind(current, _version(db, identity), facts):
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

    def _must_be_read_behind(self, current: _Current | None, version: _Version, facts: Facts) -> bool:
        follows = current is not None and current.rows is not None and version.follows(current.version)
        return not follows and facts.chunks >= max(_READ_BEHIND_FROM, FEWEST_ROWS)

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
        except apsw.Error as problem:  # the next question, through the reader, raises it
            logger.warning("static vectors could not be read: %s", problem)
        finally:
            self._behind = False

    # --- following the index, inside the lock ------------------------------------------------------

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
            rows = read_changes(db, before.rows, before.blocks, blocks, version.content)
            if rows is not None:
                return _Current(version, rows, blocks)
        before = None
        return _Current(version, read_all(db, blocks, version.content), blocks)

    def _attend(self, current: _Current) -> None:
        """Have the rows coded where they are many, and let go when nobody needs them."""
        if current.rows is None:
            return
        store = current.rows.store
        if store.codes is None and store.count >= _CODED_FROM and not self._coding:
            self._coding = True
            threading.Thread(target=self._code, args=(store,), name="cairn-codes", daemon=True).start()
        if self._timer is None:
            self._wait_idle(self._idle_seconds)

    def _code(self, store: RowStore) -> None:
        """Code the rows: 0.5 s for 500,000, meanwhile distances are computed to all of them."""
        try:
            coder = Coder(store.mean())
            words = np.empty((coder.words, len(store.ids)), np.uint64)
            count = store.count
            coder.encode(store.vectors[:count], words[:, :count])
            with self._reading:  # rows that were added meanwhile
                coder.encode(store.vectors[count : store.count], words[:, count : store.count])
                store.codes = Codes(coder, words)
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
    alive = matrix()
    if alive is not None:
        alive._forget_unused()


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
