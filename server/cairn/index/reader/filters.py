"""Filters that restrict which chunks a query may find."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw
from attrs import frozen

from cairn.index.reader.connection import ConnectedReader
from cairn.index.store.meta import read_facts
from cairn.workspace.ignore_patterns import Selection, folder_of_pattern

EVERY_FILE = "**"


@frozen
class ChunkFilter:
    """Conditions for chunks. An empty field admits all; several values admit chunks with any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Patterns by the real path of a folder, instead of `paths`. No chunk of other folders passes."""
    collections: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths of files whose chunks are not found and do not count towards a limit."""

    def __bool__(self) -> bool:
        """Whether the filter excludes anything but hidden files."""
        return bool(self.types or self.languages or self.paths or self.folders or self.collections)

    def paths_in(self, root: str) -> tuple[str, ...] | None:
        """Return the path patterns for the folder with this real path; None where any path passes."""
        patterns = dict(self.folders).get(root, ()) if self.folders else self.paths or None
        return None if patterns and patterns[-1] == EVERY_FILE else patterns


def files_named(reader: ConnectedReader, patterns: Sequence[str]) -> str:
    """Return the ids of the files that gitignore-style patterns name, as JSON; cached until files change."""
    with reader.reading() as db:
        identity = reader.memory.local.identity
        if identity is None:  # the few files of unsaved text
            return _read_named(db, patterns)
        version, key = (identity, read_facts(db).paths), tuple(patterns)
        return reader.memory.named.get(version, [key], lambda _: {key: _read_named(db, patterns)})[key]


def _read_named(db: apsw.Connection, patterns: Sequence[str]) -> str:
    selection, places = Selection(patterns), {folder_of_pattern(pattern) for pattern in patterns}
    places.discard(None)  # patterns that only exclude files
    if "" in places:
        found: Iterable[tuple[int, str]] = db.execute("SELECT id, path FROM files ORDER BY path")
    else:
        found = db.execute(_SELECT_BELOW, (json.dumps(sorted(filter(None, places))),))
    return json.dumps(selection.named(found))


# '0' is the character after '/': the range contains every path below, and uses the index.
_SELECT_BELOW = """SELECT DISTINCT f.id, f.path FROM json_each(?) place CROSS JOIN files f
    ON f.path = place.value OR (f.path > place.value || '/' AND f.path < place.value || '0')
    ORDER BY f.path"""
