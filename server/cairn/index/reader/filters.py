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
_FEW_FILES, _FEW_CHUNKS = 500, 10_000
"""What is listed rather than looked at one by one. To list takes 0.2 ms for a thousand chunks, to look at one 6 µs; of a million
chunks a question looks at a few thousand."""


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
    conditions = _conditions(reader, only)
    if not (conditions or even_all):
        return "", []
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    sql = f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {_all_of(conditions)}"
    return sql, [values for _, values in conditions]


def admitted_files(reader: ConnectedReader, only: ChunkFilter) -> tuple[str, list[str]] | None:
    """SQL for the ids of the files whose chunks all pass, with its values; None where the filter asks more of a chunk than its file.

    Hidden files are among them.
    """
    if only.types or only.languages:
        return None
    conditions = _conditions(reader, only)
    return f"SELECT f.id FROM files f WHERE {_all_of(conditions)}", [values for _, values in conditions]


def passes(reader: ConnectedReader, column: str, only: ChunkFilter) -> tuple[str, list[str]]:
    """A condition for chunks to pass, on the column that contains their ids, with its values."""
    conditions = _conditions(reader, only)
    if not conditions and not only.hidden:
        return "true", []
    if not conditions:
        # Cheaper than listing all others: of 60,000 chunks that would take as long as the query itself.
        return f"{column} NOT IN ({HIDDEN_CHUNKS})", [json.dumps(only.hidden)]
    if not _are_many(reader, only):
        where, values = admitted(reader, only)
        return f"{column} IN ({where})", values
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    # The column has its name outside: `c` and `id` are others in here.
    asked = f"(SELECT {column} AS asked) CROSS JOIN chunks c ON c.id = asked CROSS JOIN files f ON f.id = c.file_id"
    return f"EXISTS (SELECT 1 FROM {asked} WHERE {_all_of(conditions)})", [values for _, values in conditions]


def _conditions(reader: ConnectedReader, only: ChunkFilter) -> list[tuple[str, str]]:
    """What is asked of a chunk `c` and its file `f`, but for hidden ones: each with the JSON list that it is followed by."""
    named = (("c.type", only.types), ("c.language", only.languages), ("f.collection", only.collections))
    conditions = [(f"{column} IN", json.dumps(allowed)) for column, allowed in named if allowed]
    patterns = only.paths_in(reader.root)
    if patterns is not None:
        conditions.append(("f.id IN", files_named(reader, patterns)))
    return conditions


def _all_of(conditions: Sequence[tuple[str, str]]) -> str:
    return (
        " AND ".join(f"{condition} (SELECT value FROM json_each(?))" for condition, _ in conditions) or "true"
    )


def _are_many(reader: ConnectedReader, only: ChunkFilter) -> bool:
    """Whether so many chunks may pass that it is cheaper to look at each one that is found than to list them."""
    patterns = only.paths_in(reader.root)
    if patterns is not None:
        return files_named(reader, patterns).count(",") >= _FEW_FILES
    with reader.reading() as db:
        return read_facts(db).chunks > _FEW_CHUNKS


def files_named(reader: ConnectedReader, patterns: Sequence[str]) -> str:
    """The ids of the files that gitignore-style patterns name, as JSON. It is kept until files come or go."""
    with reader.reading() as db:
        identity = reader.memory.local.identity
        if identity is None:  # the few files of unsaved text
            return _read_named(db, patterns)
        version, key = (identity, read_facts(db).paths), tuple(patterns)
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
