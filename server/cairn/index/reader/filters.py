"""Which chunks a question may find, as SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from attrs import frozen

from cairn.index.reader.connection import ConnectedReader
from cairn.workspace.ignore_patterns import Selection

HIDDEN_CHUNKS = (
    "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
    " WHERE f.path IN (SELECT value FROM json_each(?))"
)
"""The ids of the chunks of hidden files; its value is the JSON list of their paths."""


@frozen
class ChunkFilter:
    """Which chunks may be found. An empty field lets all pass; several values mean any of them."""

    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Gitignore-style globs."""
    collections: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths of files whose chunks are not found; they use up nothing of a limit."""

    def __bool__(self) -> bool:
        """Whether anything but hidden files is kept out."""
        return bool(self.types or self.languages or self.paths or self.collections)


def admitted(reader: ConnectedReader, only: ChunkFilter, *, even_all: bool = False) -> tuple[str, list[str]]:
    """SQL for the ids of the chunks that pass, with its values; "" where at most hidden files are kept out, but for
    `even_all`."""
    if not (only or even_all):
        return "", []
    named = (("c.type", only.types), ("c.language", only.languages), ("f.collection", only.collections))
    conditions = [(f"{column} IN", json.dumps(allowed)) for column, allowed in named if allowed]
    if only.paths:
        conditions.append(("f.id IN", json.dumps(_files_named(reader, only.paths))))
    if only.hidden:
        conditions.append(("f.path NOT IN", json.dumps(only.hidden)))
    where = " AND ".join(f"{condition} (SELECT value FROM json_each(?))" for condition, _ in conditions)
    sql = f"SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE {where}"
    return sql, [values for _, values in conditions]


def _files_named(reader: ConnectedReader, patterns: Sequence[str]) -> list[int]:
    """The ids of the files that the globs name. Places by their whole path are looked up; else every path is compared."""
    if all(map(_is_place, patterns)):
        places = json.dumps([pattern.strip("/") for pattern in patterns])
        return [number for (number,) in reader.select(_SELECT_BELOW, (places,))]
    wanted = Selection(patterns)
    rows = reader.select("SELECT id, path FROM files")
    return [number for number, path in rows if wanted.names(path)]


# '0' is the character after '/': the range contains every path below, and uses the index.
_SELECT_BELOW = """SELECT f.id FROM json_each(?) place JOIN files f
    ON f.path = place.value OR (f.path > place.value || '/' AND f.path < place.value || '0')"""


def _is_place(pattern: str) -> bool:
    """Whether a pattern is the path of one file or folder: a name alone may stand anywhere."""
    return "/" in pattern.rstrip("/") and not re.search(r"[*?\[\]\\!#]", pattern)


def passes(reader: ConnectedReader, column: str, only: ChunkFilter) -> tuple[str, list[str]]:
    """A condition for chunks to pass, on the column that contains their ids, with its values."""
    where, values = admitted(reader, only)
    if where:
        return f"{column} IN ({where})", values
    if not only.hidden:
        return "true", []
    # Cheaper than listing all others: of 60,000 chunks that would take as long as the query itself.
    return f"{column} NOT IN ({HIDDEN_CHUNKS})", [json.dumps(only.hidden)]
