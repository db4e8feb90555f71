"""The few facts about a whole index, kept in its `meta` table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache

import apsw
import attrs
from attrs import frozen


@frozen
class Facts:
    """The facts at one moment. Flags are 0 or 1."""

    generation: int = 0
    """Rises with every change."""
    content: int = 0
    """Rises with every change of files and chunks, not with that of vectors."""
    paths: int = 0
    """Rises when files come or go."""
    links: int = 0
    """Rises when files come or go, or import something else."""
    counted: int = 0
    """The `links` for which imports were counted."""
    compared: int = 0
    """The `links` for which copies were looked for."""
    scanned: int = 0
    """Every present file is indexed."""
    files_total: int = 0
    chunks: int = 0
    model_id: int = 0
    """The model whose vectors searches compare; 0 for none."""
    queued: int = 0
    """Chunks that wait for a vector of that model."""
    embedded: int = 0
    """None waits."""
    static_queued: int = 0
    """Chunks that wait for a static vector."""
    static: int = 0
    """None waits, and static vectors are wanted."""
    paused: int = 0
    writing: int = 0
    """Set while a process writes; left behind by one that died."""

    tidied: int = 0
    """The `content` for which the index was tidied."""
    tidied_on: int = 0
    """The day on which it was tidied, counted from 1970."""
    checked_on: int = 0
    """The day on which the whole file was last found to be sound."""
    has_static: int = 0
    """Chunks have static vectors, or will."""
    static_key: int = 0
    """`static_key` of the table that these are made with."""
    history: int = -1
    """The `paths` for which the git history was followed; -1 before it was for the first time."""

    @property
    def complete(self) -> bool:
        """Every present file is indexed, and has the vectors that it is to have."""
        return bool(
            self.scanned and (not self.has_static or self.static) and (not self.model_id or self.embedded)
        )

    @property
    def is_counted(self) -> bool:
        """Imports and copies are those of the files that are indexed."""
        return (self.counted, self.compared) == (self.links, self.links)


def static_key(table: str) -> int:
    """A number that tells the static table with the id `table` from others, 0 never."""
    return zlib.crc32(table.encode()) or 1


CHECK_IS_DUE: Mapping[str, int] = {"checked_on": 1, "tidied_on": 0}
"""Facts of an index that is to be checked when there is nothing else to do, as if it had last been found sound in 1970."""

_NAMES = frozenset(attribute.name for attribute in attrs.fields(Facts))


def read_facts(db: apsw.Connection) -> Facts:
    """The facts as they are now."""
    return _facts(tuple(db.execute("SELECT key, value FROM meta")))


@lru_cache(maxsize=16)
def _facts(rows: tuple[tuple[object, object], ...]) -> Facts:
    """The facts of the rows of `meta`; a question reads them some ten times, and they are seldom others."""
    return Facts(**{str(key): _number(str(value)) for key, value in rows if key in _NAMES})


def _number(value: str) -> int:
    """A fact; of the history, which is kept with the commit, as JSON, the number behind it."""
    return int(json.loads(value)[1] if value.startswith("[") else value)


def set_facts(db: apsw.Connection, **facts: int) -> None:
    """Set facts, in the transaction at hand."""
    rows = [(name, int(value)) for name, value in facts.items()]
    db.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", rows)


def raise_generation(db: apsw.Connection, *counters: str) -> None:
    """Let every reader see that something changed; `counters` are the others of the facts that rise with it."""
    db.executemany(
        "INSERT INTO meta(key, value) VALUES (?, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1",
        [(name,) for name in ("generation", *counters)],
    )
