"""Which chunks a question may find, as SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw
from attrs import frozen

from cairn.index.reader.connection import ConnectedReader
from cairn.index.store.meta import read_facts
from cairn.workspace.ignore_patterns import Selection, place_of_pattern

HIDDEN_CHUNKS = (
    "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
    " WHERE f.path IN (SELECT value FROM json_each(?))"
)
"""The ids of the chunks of hidden files; its value is the JSON list of their paths."""

EVERY_FILE = "**"
"""The pattern that names all files."""


@frozen
class ChunkFilter:
    """Which chunks may be found. An empty field lets all pass; several values mean any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Gitignore-style patterns."""
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Instead of `paths`, where they differ by folder: the patterns of each, by its real path. Without any, nothing of it passes."""
    collections: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths of files whose chunks are not found; they use up nothing of a limit."""

    def __bool__(self) -> bool:
        """Whether anything but hidden files is kept out."""
        return bool(self.types or self.languages or self.paths or self.folders or self.collections)

    def paths_in(self, root: str) -> tuple[str, ...] | None:
        """The patterns of paths in the folder with this real path; None where any path passes."""
        patterns = dict(self.folders).get(root, ()) if self.folders else self.paths or None
        return None if patterns and patterns[-1] == EVERY_FILE else patterns


def admitted(reader: ConnectedReader, only: ChunkFilter, *, even_all: bool = False) -> tuple[str, list[str]]:
    """SQL for the ids of the chunks that pass, with its values; "" where at most hidden files are kept out, but for
    `even_all`."""
    named = (("c.type", only.types), ("c.language", only.languages), ("f.collection", only.collections))
    conditions = [(f"{column} IN", json.dumps(allowed)) for column, allowed in named if allowed]
    patterns = only.paths_in(reader.root)
    if patterns is not None:
        conditions.append(("f.id IN", files_named(reader, patterns)))
    if not (conditions or even_all):
        return "", []
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    where = " AND ".join(f"{condition} (SELECT value FROM json_each(?))" for condition, _ in conditions)
    sql = f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {where}"
    return sql, [values for _, values in conditions]


def passes(reader: ConnectedReader, column: str, only: ChunkFilter) -> tuple[str, list[str]]:
    """A condition for chunks to pass, on the column that contains their ids, with its values."""
    where, values = admitted(reader, only)
    if where:
        return f"{column} IN ({where})", values
    if not only.hidden:
        return "true", []
    # Cheaper than listing all others: of 60,000 chunks that would take as long as the query itself.
    return f"{column} NOT IN ({HIDDEN_CHUNKS})", [json.dumps(only.hidden)]


def files_named(reader: ConnectedReader, patterns: Sequence[str]) -> str:
    """The ids of the files that gitignore-style patterns name, as JSON. It is kept as long as no content changes."""
    with reader.reading() as db:
        identity = reader.memory.local.identity
        if identity is None:  # the few files of unsaved text
            return _read_named(db, patterns)
        version, key = (identity, read_facts(db).content), tuple(patterns)
        return reader.memory.named.get(version, [key], lambda _: {key: _read_named(db, patterns)})[key]


def _read_named(db: apsw.Connection, patterns: Sequence[str]) -> str:
    selection, places = Selection(patterns), {place_of_pattern(pattern) for pattern in patterns}
    places.discard(None)  # what only leaves out
    if "" in places:
        found: Iterable[tuple[int, str]] = db.execute("SELECT id, path FROM files ORDER BY path")
    else:
        found = db.execute(_SELECT_BELOW, (json.dumps(sorted(filter(None, places))),))
    return json.dumps(selection.named(found))


# '0' is the character after '/': the range contains every path below, and uses the index.
_SELECT_BELOW = """SELECT DISTINCT f.id, f.path FROM json_each(?) place CROSS JOIN files f
    ON f.path = place.value OR (f.path > place.value || '/' AND f.path < place.value || '0')
    ORDER BY f.path"""
