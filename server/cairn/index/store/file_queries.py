"""What an index knows of files as wholes: by the words of their paths, by the subjects of their commits, by imports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

import apsw
from attrs import frozen

from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.store.reader import IndexMemory, IndexReader
from cairn.index.store.remembered import Remembered
from cairn.index.store.rows import key_blob


@frozen
class FileFacts:
    """What is known of one file but its text."""

    in_degree: int = 0
    """How many files import it."""
    last_commit: int = 0
    """Unix seconds; 0 without one."""
    commits: int = 0
    size: int = 0
    """Bytes."""


def files_by_path(reader: IndexReader, match: str, limit: int, cancelled: Callable[[], bool]) -> list[str]:
    """Paths in which words of the FTS5 expression `match` stand, best first; files on the screen come last."""

    def ask(db: apsw.Connection) -> list[str]:
        rows = db.execute(
            """SELECT f.path FROM paths_fts CROSS JOIN files f ON f.id = paths_fts.rowid
                WHERE paths_fts MATCH ? AND f.is_text ORDER BY bm25(paths_fts, 2.5, 1), f.id LIMIT ?""",
            (match, limit),
        )
        return [str(row[0]) for row in rows]

    if not match:
        return []
    found = reader.read(ask, cancelled) or []
    if isinstance(reader, OverlaidReader):
        with reader.overlay.shown() as (screen, _):
            found += (screen.read(ask, cancelled) or []) if screen else []
    return list(dict.fromkeys(found))


def files_holding(reader: IndexReader, content_hash: str, path: str = "") -> list[str]:
    """Paths of the files that hold a chunk of this content hash, on the screen or on disk; with `path`, that one alone.

    Without it all chunks are looked at: 5 ms for 16,000.
    """
    of_path, wanted = ("AND f.path = ?", (path,)) if path else ("", ())

    def ask(db: apsw.Connection) -> list[str]:
        rows = db.execute(
            f"""SELECT DISTINCT f.path FROM files f JOIN chunks c ON c.file_id = f.id
                WHERE c.content_hash = ? {of_path} ORDER BY f.path""",
            (key_blob(content_hash), *wanted),
        )
        return [str(row[0]) for row in rows]

    found = reader.read(ask) or []
    if isinstance(reader, OverlaidReader):
        with reader.overlay.shown() as (screen, _):
            found += (screen.read(ask) or []) if screen else []
    return list(dict.fromkeys(found))


def files_at(
    reader: IndexReader, fragments: Sequence[str], limit: int, cancelled: Callable[[], bool]
) -> list[str]:
    """Paths that end with one of the `fragments`, or lie in a folder of that name; a longer one may end with the path.

    A fragment is taken as it is written, for `[slug].tsx` is a name of files, and as a glob.
    """
    wanted = json.dumps([place for fragment in fragments if (place := fragment.strip("/"))])

    def ask(db: apsw.Connection) -> list[str]:
        rows = db.execute(
            # `f.path`: json_each has a column `path`, too.
            """SELECT f.path FROM files f WHERE f.is_text AND EXISTS (SELECT 1 FROM json_each(?1) named
                   WHERE instr('/' || f.path || '/', '/' || named.value || '/')
                      OR '/' || f.path || '/' GLOB '*/' || named.value || '/*'
                      OR substr('/' || named.value, -length(f.path) - 1) = '/' || f.path)
               ORDER BY length(f.path), f.path LIMIT ?2""",
            (wanted, limit),
        )
        return [str(row[0]) for row in rows]

    if not fragments:
        return []
    found = reader.read(ask, cancelled) or []
    if isinstance(reader, OverlaidReader):
        with reader.overlay.shown() as (screen, _):
            found += (screen.read(ask, cancelled) or []) if screen else []
    return sorted(dict.fromkeys(found), key=lambda path: (len(path), path))[:limit]


def files_by_subjects(reader: IndexReader, match: str, cancelled: Callable[[], bool]) -> dict[str, float]:
    """BM25 of the FTS5 expression `match` over the subjects of the commits that touched each file, by path."""
    if not match:
        return {}
    rows = reader.read(
        lambda db: db.execute(
            """SELECT f.path, -bm25(subjects_fts) FROM subjects_fts
                CROSS JOIN files f ON f.id = subjects_fts.rowid WHERE subjects_fts MATCH ?""",
            (match,),
        ).fetchall(),
        cancelled,
    )
    return {str(path): float(str(score)) for path, score in rows or ()}


_known_facts: WeakKeyDictionary[IndexMemory, Remembered[str, FileFacts]] = WeakKeyDictionary()
_MOST_FACTS = 20_000
"""Facts kept for each index: 0.28 MB for 1,000."""


def file_facts(reader: IndexReader, paths: Iterable[str]) -> dict[str, FileFacts]:
    """What is known of these files."""
    known = _known_facts.setdefault(reader.memory, Remembered(_MOST_FACTS))
    version = (reader.identity(), IndexReader.facts(reader).generation)
    return known.get(version, paths, lambda missing: _read_facts(reader, missing))


def _read_facts(reader: IndexReader, paths: Sequence[str]) -> dict[str, FileFacts]:
    rows = reader.read(
        lambda db: db.execute(
            """SELECT wanted.value, coalesce(i.in_degree, 0), coalesce(h.last_time, 0), coalesce(h.count, 0),
                      coalesce(f.size, 0)
               FROM json_each(?) wanted LEFT JOIN files f ON f.path = wanted.value LEFT JOIN file_imports i ON i.path = wanted.value
               LEFT JOIN file_history h ON h.path = wanted.value""",
            (json.dumps(paths),),
        ).fetchall()
    )
    return {cast("str", path): FileFacts(*cast("list[int]", facts)) for path, *facts in rows or ()}


def best_by_file(scores: Mapping[str, float], limit: int) -> list[str]:
    """The paths with the highest scores."""
    return sorted(scores, key=lambda path: (-scores[path], path))[:limit]
