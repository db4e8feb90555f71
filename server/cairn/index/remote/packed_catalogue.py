"""The form in which a server sends the catalogue of a snapshot to a reader."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import attrs
import numpy as np
from numpy.typing import NDArray

from cairn.errors import WireError
from cairn.index.reader.postings import ChunkColumns
from cairn.index.remote.messages import MOST_BYTES, check, dumps, loads
from cairn.index.remote.remote_reader import RemoteMemory
from cairn.index.store.database import create, distrust
from cairn.index.store.meta import read_facts
from cairn.index.store.rows import TOUCH_BYTES
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.paths import data_dir, private_folder
from cairn.workspace.scan import is_relative

if TYPE_CHECKING:
    from cairn.index.postgres.snapshot_catalogue import SnapshotMemory


_UNREADABLE = (
    "The catalogue of the team's index is not used, because it is damaged or of another version. Install the"
    " same version of Cairn on this machine and the server."
)
_MOST_BYTES = 128 << 20
"""The size limit of a decompressed catalogue."""
_BLOCK = 1 << 16
_IDS, _LENGTHS = NDArray[np.int32], NDArray[np.uint16]

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
    """Return the contents of the bytes from `packed_catalogue`. Raises WireError for other bytes, and OSError
    if the data folder has no room for them."""
    # The database may be large, so it is not unpacked in memory.
    file = private_folder(data_dir() / "team") / f"catalogue-{os.urandom(8).hex()}.new"
    try:
        head = loads(_unpack(packed, file))
        columns = ChunkColumns(
            np.cumsum(check(_IDS, head["files"]), dtype=np.int32),
            check(_LENGTHS, head["tokens"]),
            check(int, head["upto"]),
            check(float, head["mean"]),
        )
        languages = frozenset(check(list[str], head["languages"]))
        is_sound = len(columns.file_of) == len(columns.tokens) == columns.upto + 1
        if not is_sound or columns.file_of.min() < 0 or columns.mean_tokens <= 0:
            raise ValueError("The columns do not fit each other.")
        name, database = _opened(file)
    except (zlib.error, TypeError, ValueError, LookupError, RecursionError, apsw.Error) as problem:
        raise WireError(_UNREADABLE) from problem
    finally:
        file.unlink(missing_ok=True)
    return RemoteMemory(snapshot=snapshot, database=database, name=name, columns=columns, languages=languages)


def _unpack(packed: bytes, into: Path) -> bytes:
    """Decompress a catalogue: write the database to the file `into`, and return what precedes it."""
    blocks, rest = _decompressed(packed), bytearray()

    def taken(count: int) -> bytes:
        for block in blocks:
            rest.extend(block)
            if len(rest) >= count:
                break
        found = bytes(rest[:count])
        del rest[:count]
        return found

    length = int.from_bytes(taken(4), "little")
    if length > MOST_BYTES:
        raise ValueError("The catalogue is too large.")
    head = taken(length)
    with into.open("xb") as file:
        file.writelines(itertools.chain([rest], blocks))
    return head


def _decompressed(packed: bytes) -> Iterator[bytes]:
    """Yield the decompressed bytes. Raise ValueError if they are too many or not complete."""
    unpacking, size = zlib.decompressobj(), 0
    for begin in range(0, len(packed), _BLOCK):
        block, data = packed[begin : begin + _BLOCK], b"more"
        while (block or data) and not unpacking.eof:
            data = unpacking.decompress(block, _BLOCK)
            block = unpacking.unconsumed_tail
            size += len(data)
            if size > _MOST_BYTES:
                raise ValueError("The catalogue is too large.")
            yield data
    if not unpacking.eof:
        raise ValueError("The catalogue is not complete.")


def _opened(file: Path) -> tuple[str, apsw.Connection]:
    """Return a copy of the received database in memory, and its name. Raise ValueError or apsw.Error if its
    tables or rows are not those of a catalogue."""
    name = f"cairn-remote-{next(_names)}"
    # Only the connection that opens a file can read it, but all threads can open a named copy in memory.
    database = apsw.Connection(f"/{name}", vfs="memdb")
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        received = apsw.Connection(f"{file.absolute().as_uri()}?immutable=1", flags=flags)
        try:
            with database.backup("main", received, "main") as copying:
                copying.step(-1)
        finally:
            received.close()
        distrust(database)
        _check_database(database)
    except BaseException:
        database.close()
        raise
    return name, database


def _check_database(database: apsw.Connection) -> None:
    if database.pragma("user_version") != SCHEMA_VERSION or _tables(database) != _own_tables():
        raise ValueError("The tables are not those of this version.")
    if database.execute("PRAGMA quick_check(1)").get != "ok":
        raise ValueError("The catalogue is damaged.")
    for table in ("paths_fts", "subjects_fts"):
        database.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
    if any(abs(each) >= 2**53 for each in attrs.astuple(read_facts(database))):
        raise ValueError("The facts are not those of a catalogue.")
    for table, columns in _ROWS.items():
        for row in database.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            if not all(is_valid(value) for is_valid, value in zip(columns.values(), row, strict=True)):
                raise ValueError(f"A row of {table} is not one of a catalogue.")


def _tables(database: apsw.Connection) -> list[tuple[object, ...]]:
    return database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()


@functools.cache
def _own_tables() -> list[tuple[object, ...]]:
    with contextlib.closing(create(":memory:", vfs=None)) as own:
        return _tables(own)


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_id(value: object) -> bool:
    return type(value) is int and 0 < value < 2**31


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= 1_000


_ROWS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "meta": {"key": _is_text, "value": lambda value: _is_text(value) or type(value) is int},
    "files": {
        "id": _is_id,
        "path": is_relative,
        "size": _is_number,
        "is_text": _is_number,
        "kind": _is_text,
        "collection": _is_text,
        "indexed_at": _is_text,
        "chunks": _is_number,
        "symbols_id": lambda value: value is None or _is_id(value),
    },
    "file_imports": {"path": is_relative, "in_degree": _is_number},
    "copies": {
        "path": is_relative,
        "original": is_relative,
        "share": lambda value: isinstance(value, int | float) and 0 <= value <= 1,
    },
    "file_history": {
        "path": is_relative,
        "file_id": _is_number,
        "touches": lambda value: type(value) is bytes and not len(value) % TOUCH_BYTES,
        "count": _is_number,
        "last_time": lambda value: type(value) is int and abs(value) < 2**53,
    },
}
"""What the columns of a catalogue's tables may have."""
