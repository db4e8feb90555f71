"""The stored form of git history: compressed blocks of commits, and for each file a list of its commits."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator

from cairn.workspace.git_log import Change, Commit

COMMITS_IN_BLOCK = 200
_TOUCH = struct.Struct("<IB")
TOUCH_BYTES = _TOUCH.size


def packed_commits(commits: Iterable[Commit]) -> bytes:
    """Return the stored form of a block of commits, whose ids are consecutive."""
    rows = [(c.hash, c.time, c.subject, [(x.path, x.before, x.deleted) for x in c.changes]) for c in commits]
    return zlib.compress(json.dumps(rows).encode())


def unpacked_commits(first: int, packed: bytes) -> Iterator[tuple[int, Commit]]:
    """Yield the commits of a block with their ids, the first of which is `first`."""
    rows = json.loads(zlib.decompress(packed))
    for number, (commit_hash, seconds, subject, changes) in enumerate(rows, first):
        yield number, Commit(commit_hash, seconds, subject, tuple(Change(*each) for each in changes))


def packed_touches(touches: Iterable[tuple[int, int]]) -> bytes:
    """Return the packed pairs (commit id, number of files in it) of the commits of a file, newest first."""
    return b"".join(_TOUCH.pack(number, files) for number, files in touches)


def unpacked_touches(packed: bytes) -> Iterator[tuple[int, int]]:
    """Yield the pairs given to `packed_touches`."""
    yield from _TOUCH.iter_unpack(packed)
