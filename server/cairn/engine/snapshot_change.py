"""What differs between two indexed revisions of a repository of a team's index, which has no working tree."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cairn.engine.folders import Folder
from cairn.workspace.changes import file_changes
from cairn.workspace.diff import BINARY, Change, FileChange

_AT_ONCE = 50
"""The number of files whose texts are read at once."""
_READING_SHARE = 0.7
"""The share of the time in which texts are read; their lines are compared in the rest."""


def snapshot_change(before: Folder, after: Folder, seconds: float) -> Change:
    """Return what differs between two revisions of the same repository."""
    started = time.monotonic()
    old, new = _files(before), _files(after)
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    texts: tuple[dict[str, str], dict[str, str]] = ({}, {})
    read = 0
    while read < len(paths) and time.monotonic() < started + _READING_SHARE * seconds:
        batch = paths[read : read + _AT_ONCE]
        for folder, into in zip((before, after), texts, strict=True):
            into.update(_texts(folder, batch))
        read += len(batch)
    unread = [FileChange(path, path, False, None, None, (), "not compared in time") for path in paths[read:]]
    without_text = [
        FileChange(path, path if path in old else None, path not in new, None, None, (), BINARY)
        for path in paths[:read]
        if path not in texts[0] and path not in texts[1]
    ]
    files, is_minimal = file_changes(*texts, started + seconds)
    problems = []
    if unread:
        problems.append(f"Reading took too long: {len(unread)} of {len(paths)} files were not compared.")
    elif not is_minimal:
        problems.append("Comparing took too long, so some hunks have more lines than necessary.")
    files = sorted((*files, *without_text, *unread), key=lambda file: file.path)
    base = before.revision.commit if before.revision is not None else ""
    return Change(tuple(files), base, tuple(problems), is_minimal and not unread)


def _files(folder: Folder) -> dict[str, str]:
    """Return the content hash of each file by path."""
    return dict(folder.reader.select_all("SELECT path, hex(content_hash) FROM files"))


def _texts(folder: Folder, paths: Sequence[str]) -> dict[str, str]:
    """Return the texts of those of the files that have one."""
    of_file = folder.reader.chunk_ids(paths)
    chunks = folder.reader.chunks(each for ids in of_file.values() for each in ids)
    return {path: "".join(chunks[each].chunk.text for each in ids) for path, ids in of_file.items()}
