"""Counts how many files of an index import each file."""

from __future__ import annotations

import json

import apsw

from cairn.index.store.meta import raise_generation


def update_in_degrees(db: apsw.Connection) -> None:
    """Count anew how many files import each file."""
    from cairn.workspace.imports import in_degrees  # a folder in which nothing changed is not counted

    rows = db.execute("SELECT path, imports FROM files WHERE is_text")
    counted = in_degrees({str(path): json.loads(str(imports)) for path, imports in rows})
    now = {path: count for path, count in counted.items() if count}
    known = {str(path): int(count) for path, count in db.execute("SELECT path, in_degree FROM file_imports")}
    if now != known:
        with db:
            db.executemany(
                "DELETE FROM file_imports WHERE path = ?", [(path,) for path in known.keys() - now.keys()]
            )
            db.executemany(
                "INSERT OR REPLACE INTO file_imports VALUES (?, ?)",
                [(path, count) for path, count in now.items() if known.get(path) != count],
            )
            raise_generation(db)
