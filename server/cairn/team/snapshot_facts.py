"""Facts that depend on all files of a snapshot: imports, copies, and git history.

They are computed in an in-memory index of all files, whether this run read a file or the store had it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import apsw
from attrs import frozen

from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.links import count_links, store_links
from cairn.index.postgres.segment import FileFacts, bytes_of, parts_of, unpacked_part
from cairn.index.reader.bm25 import register
from cairn.index.store.database import create
from cairn.index.store.meta import set_facts
from cairn.workspace.history import Tip

_ROUNDS = 40
"""The maximum number of rounds, of 30 s each. 20,000 commits take one round, or several on a slow disk."""
_numbers = itertools.count()


@frozen
class SnapshotFacts:
    """The packed parts and the facts of a snapshot."""

    parts: dict[str, bytes]
    facts: dict[str, Any]
    problem: str
    """Why a part of the history is missing, or ""."""


def describe(
    tip: Tip,
    files: Iterable[FileFacts],
    commits: bytes | None,
    with_history: bool,
    progress: Callable[[str], None],
) -> SnapshotFacts:
    """Count imports and copies among the files of a commit, and read their history.

    `commits` is the packed part `commits` of an earlier snapshot, None without one.
    """
    db = create(f"/cairn-whole-{next(_numbers)}", vfs="memdb")
    try:
        register(db)
        # The facts must not depend on which files the store had.
        files = sorted(files, key=lambda file: file.path)
        _fill(db, files, commits)
        store_links(db, count_links(db))
        problem = _read_history(db, tip, progress) if with_history else ""
        facts = {
            "files_total": len(files),
            "chunks": sum(file.chunks for file in files),
            "paths": 1,
            "links": 1,
            "counted": 1,
            "compared": 1,
            "content": 1,
            "static": 1,
            "static_queued": 0,
            "history": json.dumps([tip.commit, 1]),
        }
        return SnapshotFacts(parts_of(db), facts, problem)
    finally:
        db.close(True)


def _fill(db: apsw.Connection, files: Iterable[FileFacts], commits: bytes | None) -> None:
    with db:
        db.executemany(
            """INSERT INTO files(path, size, mtime_ns, content_hash, is_text, kind, collection, indexed_at,
                                 chunks, imports, sketch)
               VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                (
                    each.path, each.size, each.content_hash, int(each.is_text), each.kind, each.collection,
                    each.indexed_at, each.chunks, each.imports, each.sketch,
                )
                for each in files
            ),
        )  # fmt: skip
        set_facts(db, paths=1, links=1)
        for first, packed in unpacked_part(commits) if commits else ():
            db.execute("INSERT INTO commits(first, packed) VALUES (?, ?)", (first, bytes_of(packed)))


def _read_history(db: apsw.Connection, tip: Tip, progress: Callable[[str], None]) -> str:
    """Read the history as far as possible. Return why a part is missing, or ""."""
    known = -1
    for _ in range(_ROUNDS):
        history = GitHistory(db, tip)
        history.update(lambda: False)
        stored = int(db.execute("SELECT count(*) FROM commits").get or 0)
        if not history.problem or stored == known:
            return history.problem
        known = stored
        progress("Reading the history takes longer than usual; it goes on")
        with db:
            db.execute("DELETE FROM meta WHERE key = 'history'")
    return history.problem
