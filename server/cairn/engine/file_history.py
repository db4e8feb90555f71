"""Collects a file's git history, the files that change with it, its imports and its copies."""

from __future__ import annotations

from attrs import frozen

from cairn.index.queries.files import copies_among
from cairn.index.queries.history import commits_of, copies_of
from cairn.index.queries.relations import changed_together, imports_around
from cairn.index.reader.index_reader import IndexReader

_COMMITS = 12
"""The number of latest commits shown. Each further block of 200 commits that they lie in takes 1 ms."""
_TOGETHER = 8


@frozen
class FileCommit:
    hash: str
    time: int
    """The committer's time in Unix seconds."""
    subject: str
    files: int
    """The number of files of the folder that it touched."""


@frozen
class ChangedWith:
    path: str
    likeness: float
    """A value from 0 to 1, where 1 means always together. Only commits of up to nine files count."""


@frozen
class FileHistory:
    """What the index knows of one file besides its text. Unknown fields are empty."""

    commits: tuple[FileCommit, ...] = ()
    """The latest 12 commits, newest first. They are empty in a team's index, which has only the counts."""
    commit_count: int = 0
    """The number of commits that touched it, except those that touched more than 60 files."""
    last_time: int = 0
    """The time of the newest commit in Unix seconds; 0 if unknown."""
    changed_with: tuple[ChangedWith, ...] = ()
    """The eight files that change with it most, in descending order."""
    imports: tuple[str, ...] = ()
    imported_by: tuple[str, ...] = ()
    original: str = ""
    """The file that it is a copy of; "" if it is not a copy."""
    copied_share: float = 0.0
    """The share of its lines that are also in the original, 0 to 1."""
    copies: tuple[str, ...] = ()


def file_history(reader: IndexReader, path: str) -> FileHistory:
    touched = commits_of(reader, path, _COMMITS)
    together = changed_together(reader, path)
    nearest = sorted(together, key=lambda other: (-together[other], other))[:_TOGETHER]
    imported, importers = imports_around(reader, path)
    original, share = copies_among(reader, [path]).get(path, ("", 0.0))
    return FileHistory(
        commits=tuple(
            FileCommit(each.commit.hash, each.commit.time, each.commit.subject, each.files)
            for each in touched.touches
        ),
        commit_count=touched.count,
        last_time=touched.last_time,
        changed_with=tuple(ChangedWith(other, together[other]) for other in nearest),
        imports=tuple(sorted(imported)),
        imported_by=tuple(sorted(importers)),
        original=original,
        copied_share=share,
        copies=tuple(copies_of(reader, path)),
    )
