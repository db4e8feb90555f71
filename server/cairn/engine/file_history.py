"""Collects a file's git history, the files that change with it, its imports and its copies."""

from __future__ import annotations

from attrs import frozen

from cairn.index.queries.file_queries import commits_of, copies_among, copies_of
from cairn.index.queries.relations import changed_together, imports_around
from cairn.index.reader.index_reader import IndexReader

_COMMITS = 12
"""The number of latest commits shown. Commits are stored in blocks of 200; reading a block takes 1 ms."""
_TOGETHER = 8


@frozen
class FileCommit:
    hash: str
    time: int
    """The committer's time in Unix seconds."""
    subject: str
    files: int
    """The number of files of the folder that the commit touched."""


@frozen
class ChangedWith:
    path: str
    likeness: float
    """How often both files change together, 0 to 1 (always). Only commits of up to nine files count."""


@frozen
class FileHistory:
    """What the index knows of one file besides its text. Unknown fields are empty."""

    commits: tuple[FileCommit, ...] = ()
    """The latest 12 commits, newest first. Empty for a team's index, which has only the number of commits."""
    commit_count: int = 0
    """The number of commits that touched the file, without commits of more than 60 files."""
    last_time: int = 0
    """The time of the newest commit in Unix seconds; 0 if unknown."""
    changed_with: tuple[ChangedWith, ...] = ()
    """The eight files that most often change together with the file, in descending order."""
    imports: tuple[str, ...] = ()
    imported_by: tuple[str, ...] = ()
    original: str = ""
    """The file of which this file is a copy; "" if it is not a copy."""
    copied_share: float = 0.0
    """The share of the file's lines that are also in the original, 0 to 1."""
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
