"""The git history of one file, as far as the index keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.commits import unpacked_commits, unpacked_touches
from cairn.workspace.git_log import Commit


@frozen
class Touch:
    commit: Commit
    files: int
    """The number of the folder's files that the commit touched."""


@frozen
class TouchedFile:
    """The commits of one file, without those that touched more than 60 files."""

    touches: Sequence[Touch] = ()
    """The latest commits, newest first; empty for an index without commits, such as a team's catalogue."""
    count: int = 0
    last_time: int = 0
    """The time of the newest commit in Unix seconds; 0 if none is known."""


def commits_of(reader: IndexReader, path: str, limit: int) -> TouchedFile:
    """Return the history of the file with its `limit` latest commits, in 1 ms for each block of commits."""
    rows = reader.select("SELECT touches, count, last_time FROM file_history WHERE path = ?", (path,))
    if not rows:
        return TouchedFile()
    touches, count, last_time = rows[0]
    latest = list(unpacked_touches(touches))[:limit]
    commits = _commits(reader, [number for number, _ in latest])
    found = tuple(Touch(commits[number], files) for number, files in latest if number in commits)
    return TouchedFile(found, count, last_time)


def _commits(reader: IndexReader, numbers: Iterable[int]) -> dict[int, Commit]:
    found: dict[int, Commit] = {}
    for number in numbers:
        if number not in found:
            sql = "SELECT first, packed FROM commits WHERE first <= ? ORDER BY first DESC LIMIT 1"
            for first, packed in reader.select(sql, (number,)):
                found.update(unpacked_commits(first, packed))
    return found


def copies_of(reader: IndexReader, path: str) -> list[str]:
    rows = reader.select("SELECT path FROM copies WHERE original = ? ORDER BY path", (path,))
    return [copy for (copy,) in rows]
