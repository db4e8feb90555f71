"""Filters that restrict which chunks a query may find."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw
from attrs import frozen

from cairn.index.reader.index_memory import ConnectedReader
from cairn.index.store.meta import read_facts
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
        version, key = (identity, read_facts(db).paths), tuple(patterns)
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
