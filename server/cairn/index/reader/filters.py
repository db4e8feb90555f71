"""Filters that restrict which chunks a query may find, and their SQL for a catalogue or an index file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw
from attrs import frozen

from cairn.index.reader.index_memory import ConnectedReader
from cairn.index.store.meta import known_facts
from cairn.workspace.ignore_patterns import Selection, folder_of_pattern

EVERY_FILE = "**"


@frozen
class ChunkFilter:
    """Conditions that a chunk must meet. An empty field admits every chunk; a field with several values
    admits chunks that match any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The path patterns for each folder, by the folder's real path. They replace `paths`. Chunks of other
    folders do not pass."""
    collections: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """The paths of files whose chunks are neither found nor counted towards a limit."""

    def __bool__(self) -> bool:
        """Whether the filter excludes anything but hidden files."""
        return bool(self.types or self.languages or self.paths or self.folders or self.collections)

    def paths_in(self, root: str) -> tuple[str, ...] | None:
        """Return the path patterns for the folder with this real path; None if every path passes."""
        patterns = dict(self.folders).get(root, ()) if self.folders else self.paths or None
        return None if patterns and patterns[-1] == EVERY_FILE else patterns


def files_named(reader: ConnectedReader, patterns: Sequence[str]) -> str:
    """Return the ids of the files that match gitignore-style patterns, as a JSON list. The result is cached
    until paths are added or removed."""
    with reader.reading() as db:
        identity = reader.memory.local.identity
        if identity is None:  # a reader of unsaved text, which has few files
            return _read_named(db, patterns)
        version, key = (identity, known_facts(db).paths), tuple(patterns)
        return reader.memory.named.get(version, [key], lambda _: {key: _read_named(db, patterns)})[key]


def _read_named(db: apsw.Connection, patterns: Sequence[str]) -> str:
    selection, places = Selection(patterns), {folder_of_pattern(pattern) for pattern in patterns}
    places.discard(None)  # from patterns that only exclude files
    if "" in places:
        found: Iterable[tuple[int, str]] = db.execute("SELECT id, path FROM files ORDER BY path")
    else:
        found = db.execute(_SELECT_BELOW, (json.dumps(sorted(filter(None, places))),))
    return json.dumps(selection.named(found))


# '0' is the character after '/', so the range has every path below a folder, and SQLite can use an index.
_SELECT_BELOW = """SELECT DISTINCT f.id, f.path FROM json_each(?) place CROSS JOIN files f
    ON f.path = place.value OR (f.path > place.value || '/' AND f.path < place.value || '0')
    ORDER BY f.path"""


HIDDEN_CHUNKS = (
    "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
    " WHERE f.path IN (SELECT value FROM json_each(?))"
)
"""A query for the ids of the chunks of hidden files. Its parameter is the JSON list of the files' paths."""

_FEW_FILES, _FEW_CHUNKS = 500, 10_000
"""Up to these numbers, the chunks that pass are listed, which takes 0.2 ms for a thousand. Beyond them, each
found chunk is checked, in 6 µs: of a million chunks, a query finds a few thousand."""


def admitted(reader: ConnectedReader, only: ChunkFilter, *, even_all: bool = False) -> tuple[str, list[str]]:
    """Return SQL for the ids of the chunks that pass, and its values. If the filter excludes no more than
    hidden files, the SQL is "", unless `even_all` is set."""
    conditions = _conditions(reader, only)
    if not (conditions or even_all):
        return "", []
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    sql = f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {_all_of(conditions)}"
    return sql, [values for _, values in conditions]


def admitted_files(reader: ConnectedReader, only: ChunkFilter) -> tuple[str, list[str]] | None:
    """Return SQL for the ids of the files whose chunks all pass, and its values; None if only some chunks of
    a file may pass."""
    if only.types or only.languages:
        return None
    conditions = _conditions(reader, only)
    return f"SELECT f.id FROM files f WHERE {_all_of(conditions)}", [values for _, values in conditions]


def passes(reader: ConnectedReader, column: str, only: ChunkFilter) -> tuple[str, list[str]]:
    """Return an SQL condition for chunks that pass, and its values. `column` contains the chunks' ids."""
    conditions = _conditions(reader, only)
    if not conditions and not only.hidden:
        return "true", []
    if not conditions:
        # For 60,000 chunks, listing all other chunks would take as long as the query itself.
        return f"{column} NOT IN ({HIDDEN_CHUNKS})", [json.dumps(only.hidden)]
    if not _are_many(reader, only):
        where, values = admitted(reader, only)
        return f"{column} IN ({where})", values
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    # The alias is needed because `c` and `id` mean something else inside the subquery.
    sql = (
        f"EXISTS (SELECT 1 FROM (SELECT {column} AS found) CROSS JOIN chunks c ON c.id = found"
        f" CROSS JOIN files f ON f.id = c.file_id WHERE {_all_of(conditions)})"
    )
    return sql, [values for _, values in conditions]


def _conditions(reader: ConnectedReader, only: ChunkFilter) -> list[tuple[str, str]]:
    """Return the conditions on a chunk `c` and file `f`, each with its allowed values as JSON."""
    named = (("c.type", only.types), ("c.language", only.languages), ("f.collection", only.collections))
    conditions = [(f"{column} IN", json.dumps(allowed)) for column, allowed in named if allowed]
    patterns = only.paths_in(reader.root)
    if patterns is not None:
        conditions.append(("f.id IN", files_named(reader, patterns)))
    return conditions


def _all_of(conditions: Sequence[tuple[str, str]]) -> str:
    every = (f"{condition} (SELECT value FROM json_each(?))" for condition, _ in conditions)
    return " AND ".join(every) or "true"


def _are_many(reader: ConnectedReader, only: ChunkFilter) -> bool:
    """Whether so many chunks may pass that checking each found chunk is faster than listing all that pass."""
    patterns = only.paths_in(reader.root)
    if patterns is not None:
        return files_named(reader, patterns).count(",") >= _FEW_FILES
    with reader.reading() as db:
        return known_facts(db).chunks > _FEW_CHUNKS
