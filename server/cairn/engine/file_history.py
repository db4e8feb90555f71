"""What ranking knows of a file beside its text: its commits, the files that change with it, imports and copies."""

from __future__ import annotations

from attrs import frozen

from cairn.index.queries.files import copies_among
from cairn.index.queries.history import commits_of, copies_of
from cairn.index.queries.relations import changed_together, imports_around
from cairn.index.reader.index_reader import IndexReader

_COMMITS = 12
"""Enough to see what was done lately; each further block of 200 commits that they lie in takes 1 ms."""
_TOGETHER = 8


@frozen
class FileCommit:
    """A commit that touched the file."""

    hash: str
    time: int
    """Unix seconds, by the committer's clock."""
    subject: str
    files: int
    """How many files of the folder it touched."""


@frozen
class ChangedWith:
    """Another file that changes in the same commits."""

    path: str
    likeness: float
    """0 to 1, where 1 means that neither ever changed without the other; only commits of at most nine files count."""


@frozen
class FileHistory:
    """What is kept of one file; empty where nothing is."""

    commits: tuple[FileCommit, ...] = ()
    """The latest 12, newest first; none in a team's index, which keeps the counts alone."""
    commit_count: int = 0
    """How many commits touched it, without those that touched more than 60 files."""
    last_time: int = 0
    """Unix seconds of the newest commit; 0 where none is known."""
    changed_with: tuple[ChangedWith, ...] = ()
    """The eight that change with it most, most first."""
    imports: tuple[str, ...] = ()
    """The files of the folder that it imports."""
    imported_by: tuple[str, ...] = ()
    """The files that import it."""
    original: str = ""
    """The file that it is a copy of, "" for none."""
    copied_share: float = 0.0
    """The share of its lines that are also in the original, 0 to 1."""
    copies: tuple[str, ...] = ()
    """The files that are copies of it."""


def file_history(reader: IndexReader, path: str) -> FileHistory:
    """What the index knows of the file at `path`."""
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
