"""Which chunks a question may find, as SQL for an index file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cairn.index.reader.connection import ConnectedReader
from cairn.index.reader.filters import ChunkFilter, files_named
from cairn.index.store.meta import read_facts

HIDDEN_CHUNKS = (
    "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
    " WHERE f.path IN (SELECT value FROM json_each(?))"
)
"""The ids of the chunks of hidden files; its value is the JSON list of their paths."""

_FEW_FILES, _FEW_CHUNKS = 500, 10_000
"""What is listed rather than looked at one by one. To list takes 0.2 ms for a thousand chunks, to look at one 6 µs; of a million
chunks a question looks at a few thousand."""


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
