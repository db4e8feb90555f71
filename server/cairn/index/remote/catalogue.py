"""The form in which a server sends the catalogue of a snapshot to a reader."""

from __future__ import annotations

import itertools
import zlib
from typing import TYPE_CHECKING

import apsw
import numpy as np

from cairn.errors import WireError
from cairn.index.reader.chunk_columns import ChunkColumns
from cairn.index.remote.reader import RemoteMemory
from cairn.index.remote.wire import dumps, loads

if TYPE_CHECKING:  # A machine that only receives catalogues has no PostgreSQL client.
    from cairn.index.postgres.catalogue import SnapshotMemory

_UNREADABLE = "The catalogue of the team's index cannot be read."

_names = itertools.count()


def packed_catalogue(memory: SnapshotMemory) -> bytes:
    """Return the bytes of all that a reader needs of a snapshot before its first read."""
    columns = memory.columns
    head = dumps(
        {
            # Differences between neighbours are small numbers, which compress well.
            "files": np.diff(columns.file_of, prepend=np.int32(0)),
            "tokens": columns.tokens,
            "upto": columns.upto,
            "mean": columns.mean_tokens,
            "languages": sorted(memory.languages),
        }
    )
    database = memory.connect()
    try:
        content = database.serialize("main")
    finally:
        database.close()
    return zlib.compress(b"".join([len(head).to_bytes(4, "little"), head, content]), 1)


def unpacked_catalogue(snapshot: int, packed: bytes) -> RemoteMemory:
    """Return the contents of the bytes from `packed_catalogue`. Raises WireError for other bytes."""
    try:
        data = zlib.decompress(packed)
        begin = 4 + int.from_bytes(data[:4], "little")
        head = loads(data[4:begin])
        columns = ChunkColumns(
            np.cumsum(head["files"], dtype=np.int32), head["tokens"], head["upto"], head["mean"]
        )
        languages = frozenset(head["languages"])
    except (zlib.error, TypeError, ValueError, LookupError) as problem:
        raise WireError(_UNREADABLE) from problem
    name = f"cairn-remote-{next(_names)}"
    database = apsw.Connection(f"/{name}", vfs="memdb")
    received = apsw.Connection(":memory:")
    try:
        # A deserialized database belongs to one connection, but all threads can open a named copy of it.
        received.deserialize("main", data[begin:])
        with database.backup("main", received, "main") as copying:
            copying.step(-1)
    except apsw.Error as problem:
        database.close()
        raise WireError(_UNREADABLE) from problem
    finally:
        received.close()
    return RemoteMemory(snapshot=snapshot, database=database, name=name, columns=columns, languages=languages)
