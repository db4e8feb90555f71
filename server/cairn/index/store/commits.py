"""How git history is stored: commits in compressed blocks, and for each file the commits that touched it, packed."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator

from cairn.workspace.history import Change, Commit

COMMITS_IN_BLOCK = 200
"""Commits compressed together."""
_TOUCH = struct.Struct("<IB")


def packed_commits(commits: Iterable[Commit]) -> bytes:
    """A block of commits as it is stored; their ids follow each other."""
    rows = [(c.hash, c.time, c.subject, [(x.path, x.before, x.deleted) for x in c.changes]) for c in commits]
    return zlib.compress(json.dumps(rows).encode())


def unpacked_commits(first: int, packed: bytes) -> Iterator[tuple[int, Commit]]:
    """The commits of a block with their ids, of which `first` is the first."""
    for number, (commit_hash, seconds, subject, changes) in enumerate(
        json.loads(zlib.decompress(packed)), first
    ):
        yield number, Commit(commit_hash, seconds, subject, tuple(Change(*each) for each in changes))


def packed_touches(touches: Iterable[tuple[int, int]]) -> bytes:
    """What is stored of a file: the ids of the commits that touched it, newest first, each with how many files it touched."""
    return b"".join(_TOUCH.pack(number, files) for number, files in touches)


def unpacked_touches(packed: bytes) -> Iterator[tuple[int, int]]:
    """The commits of `packed_touches`."""
    yield from _TOUCH.iter_unpack(packed)
