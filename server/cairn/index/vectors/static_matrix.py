"""Keeps the static vectors of one index in memory, where they are many: a matrix is searched faster than sqlite-vec's table.

sqlite-vec stays the store. The matrix is read from it when a question first needs it, follows what is written by
whichever process, and is freed when it was not used for half an hour. What serves when is in docs/design.md, with
the measurements.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from pathlib import Path

import apsw
from attrs import field, frozen

from cairn.index.store.database import open_reader
from cairn.index.store.deadline import Cancelled
from cairn.index.store.meta import Facts, read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.vectors.blocks import UnknownLayoutError, VectorBlock, read_blocks
from cairn.index.vectors.static_rows import RowStore, StaticRows
from cairn.startup.interpreter import give_back_memory

logger = logging.getLogger(__name__)

FEWEST_ROWS = 5_000
"""Of fewer, sqlite-vec finds the nearest in less than 2 ms."""
_CODED_FROM = 130_000
"""Rows from which codes find candidates: distances to all of them take 5 ms with 128 numbers each, and codes as much memory
as a fourth of the rows."""
_IDLE_SECONDS = 1_800.0
"""Reading and coding a million rows takes 2 s of a core, and who reads an answer asks again in some minutes."""
_READ_BEHIND_FROM = 200_000
"""Chunks from which a thread of its own reads the rows, 0.4 to 0.7 s for a million: whoever waits can be told that the time is over.
sqlite-vec needs longer than that for each of the questions that wait."""
_LOOK_SECONDS = 0.02
"""Between two looks whether that is so."""
_LONGEST_WAIT = 0.1
"""Seconds to wait while another thread brings the rows up to date; then those of a moment ago answer, or sqlite-vec."""


@frozen
class _Version:
    """Of which index, table and moment the rows are."""

    identity: object
    schema: int
    """Differs once the table of vectors was dropped and made anew."""
    generation: int

    @classmethod
    def at(cls, db: apsw.Connection, identity: object, facts: Facts) -> _Version:
        return cls(identity, int(db.pragma("schema_version")), facts.generation)


@frozen(eq=False)
class _Current:
    version: _Version
    rows: StaticRows | None = None
    """None where they are too few, or cannot be read."""
    blocks: dict[int, VectorBlock] = field(factory=dict)

    def leads_to(self, version: _Version) -> bool:
        """Whether the rows can be brought up to `version`."""
        mine = self.version
        same = (mine.identity, mine.schema) == (version.identity, version.schema)
        return self.rows is not None and same and mine.generation <= version.generation


class StaticMatrix:
    """The rows of one index, for all threads of the process."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._current: _Current | None = None
        self._reading = threading.Lock()
        self._beginning = threading.Lock()
        self._behind: threading.Thread | None = None
        """The latest thread that read the rows for the first time."""
        self._coding = False
        self._timer: threading.Timer | None = None
        self._used = 0.0

    def rows(
        self, db: apsw.Connection, identity: object, facts: Facts, until: Cancelled | None = None
    ) -> StaticRows | None:
        """The rows as they are at the moment of `facts`, None where sqlite-vec is to be asked instead.

        While another thread brings them up to that moment, and takes long, they are as they were before. Many that are not
        read yet are waited for `until` it is true; without it, there are none meanwhile. `identity` differs once `db` is
        another index. The first call for 107,000 rows takes 25 ms where the file is in the system's cache, one after a
        change 1 to 3 ms.
        """
        self._used = time.monotonic()
        current = self._current
        if current is not None:
            at = current.version
            if (at.identity, at.generation) == (identity, facts.generation):
                return current.rows
        version = _Version.at(db, identity, facts)
        follows = current is not None and current.leads_to(version)
        if not follows and facts.chunks >= _READ_BEHIND_FROM:
            behind = self._read_behind(Path(db.filename), identity)
            if until is None or not _has_ended(behind, until):
                return None
            current = self._current
            follows = current is not None and current.leads_to(version)
        if not self._reading.acquire(timeout=_LONGEST_WAIT):
            return current.rows if current is not None and follows else None
        try:
            return self._read(db, identity).rows
        finally:
            self._reading.release()

    def forget(self) -> None:
        """Free the memory; the next question reads the rows anew."""
        with self._reading:
            if self._timer is not None:
                self._timer.cancel()
            self._current = self._timer = None
        give_back_memory()

    def _read_behind(self, path: Path, identity: object) -> threading.Thread:
        """The thread that reads the rows, begun if need be."""
        with self._beginning:
            if self._behind is None or not self._behind.is_alive():
                arguments = (path, identity)
                self._behind = threading.Thread(
                    target=self._read_at, args=arguments, name="cairn-vectors", daemon=True
                )
                self._behind.start()
            return self._behind

    def _read_at(self, path: Path, identity: object) -> None:
        try:
            db = open_reader(path)
            if db is not None:
                with contextlib.closing(db), self._reading:
                    self._read(db, identity)
        except apsw.Error as problem:  # the next question, through the reader, raises it
            logger.warning("static vectors could not be read: %s", problem)

    # --- following the index, inside the lock ------------------------------------------------------

    def _read(self, db: apsw.Connection, identity: object) -> _Current:
        with db:  # one moment of the index
            facts = read_facts(db)
            version = _Version.at(db, identity, facts)
            if self._current is not None and self._current.version == version:
                return self._current
            try:
                current = self._followed(db, version, facts)
            except UnknownLayoutError as problem:
                logger.warning("static vectors are compared by sqlite-vec alone: %s", problem)
                current = _Current(version)
        self._current = current
        self._attend(current)
        return current

    def _followed(self, db: apsw.Connection, version: _Version, facts: Facts) -> _Current:
        if facts.chunks < FEWEST_ROWS or not facts.has_static:
            return _Current(version)
        before = self._current
        try:
            if before is not None and before.rows is not None and before.leads_to(version):
                blocks = read_blocks(db, STATIC_TABLE, before.blocks)
                rows = before.rows.changed(db, before.blocks, blocks, facts.content)
                if rows is not None:
                    return _Current(version, rows, blocks)
        except BaseException:
            self._current = None  # what was followed half is of no use
            raise
        # Forgotten first, or two matrices would take twice the memory.
        self._current = before = None
        blocks = read_blocks(db, STATIC_TABLE, {})
        return _Current(version, StaticRows.read(db, blocks, facts.content), blocks)

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
        """Code the rows: 1.6 s for a million, meanwhile distances are computed to all of them."""
        try:
            codes, count = store.coded()
            with self._reading:  # rows that were added meanwhile
                codes.add(count, store.vectors[count : store.count])
                store.codes = codes
        finally:
            with self._reading:
                self._coding = False
                if self._current is not None:
                    self._attend(self._current)  # all may have been read anew meanwhile

    # --- letting go -----------------------------------------------------------------------------------

    def _wait_idle(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._forget_unused)
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


def _has_ended(thread: threading.Thread, until: Cancelled) -> bool:
    """Wait for the thread `until` it is true; false if that came first."""
    while thread.is_alive() and not until():
        thread.join(_LOOK_SECONDS)
    return not thread.is_alive()
