"""Facts about a whole index, stored in its `meta` table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from weakref import WeakKeyDictionary

import apsw
import attrs
from attrs import frozen


@frozen
class Facts:
    """The facts at one moment. Flags are 0 or 1, and days are counted from 1970."""

    generation: int = 0
    """A counter of all changes."""
    content: int = 0
    """A counter of changes of files and chunks, but not of vectors."""
    paths: int = 0
    """A counter of changes that add or remove files, or their text."""
    links: int = 0
    """A counter of changes that add or remove files or change their imports."""
    counted: int = 0
    """The value of `links` at the latest count of imports and search for copies."""
    scanned: int = 0
    files_total: int = 0
    chunks: int = 0
    static_queued: int = 0
    """The number of chunks without a vector."""
    static: int = 0
    """Whether vectors are enabled and every chunk has one."""
    paused: int = 0
    writing: int = 0
    """Whether a process writes, or died while it wrote."""

    tidied: int = 0
    """The value of `content` at the latest maintenance."""
    tidied_on: int = 0
    """The day of the latest maintenance."""
    checked_on: int = 0
    """The day of the latest successful check of the whole file."""
    has_static: int = 0
    """Whether vectors are enabled."""
    static_key: int = 0
    """The `static_key` of the model that makes the vectors."""
    commit: int = -1
    """The `Checkout.number` of the folder at the beginning of the latest comparison with it; -1 before."""
    history: int = -1
    """The value of `paths` when the git history was last read; -1 before the first time."""

    @property
    def complete(self) -> bool:
        return bool(self.scanned and (not self.has_static or self.static))

    @property
    def is_counted(self) -> bool:
        """Whether the counts of imports and copies are up to date."""
        return self.counted == self.links


def static_key(model: str) -> int:
    """Return a positive number that identifies the model with the id `model`."""
    return zlib.crc32(model.encode()) or 1


CHECK_IS_DUE: Mapping[str, int] = {"checked_on": 1, "tidied_on": 0}
"""Facts that make the writer check the index in the background: the latest check appears to be of 1970."""

_NAMES = frozenset(attribute.name for attribute in attrs.fields(Facts))


def read_facts(db: apsw.Connection) -> Facts:
    return _facts(tuple(db.execute("SELECT key, value FROM meta")))


_known: WeakKeyDictionary[apsw.Connection, tuple[object, Facts]] = WeakKeyDictionary()


def known_facts(db: apsw.Connection) -> Facts:
    """Return `read_facts`, which is repeated only once the database has changed: a discovery asks a hundred
    times, which takes 4 µs each instead of 18. Do not use it in a transaction that may be rolled back."""
    version = db.execute("PRAGMA data_version").get, db.total_changes()
    known = _known.get(db)
    if known is None or known[0] != version:
        known = _known[db] = version, read_facts(db)
    return known[1]


@lru_cache(maxsize=16)
def _facts(rows: tuple[tuple[object, object], ...]) -> Facts:
    """Return the facts of the rows of `meta`. They are cached because a query reads them about ten times."""
    return Facts(**{str(key): _number(str(value)) for key, value in rows if key in _NAMES})


def _number(value: str) -> int:
    # The value of `history` is a JSON list of the commit and the number.
    return int(json.loads(value)[1] if value.startswith("[") else value)


def set_facts(db: apsw.Connection, **facts: int) -> None:
    rows = [(name, int(value)) for name, value in facts.items()]
    db.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", rows)


def raise_generation(db: apsw.Connection, *counters: str) -> None:
    """Increment the generation, by which readers notice changes, and the facts `counters`."""
    db.executemany(
        "INSERT INTO meta(key, value) VALUES (?, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1",
        [(name,) for name in ("generation", *counters)],
    )


_LEFT_OUT = "left_out"


def set_left_out(db: apsw.Connection, counts: Mapping[str, int]) -> None:
    row = (_LEFT_OUT, json.dumps(counts))
    db.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", row)


SELECT_LEFT_OUT = f"SELECT value FROM meta WHERE key = '{_LEFT_OUT}'"
"""A query for a JSON object with the number of files and directories that are left out, by rule."""
