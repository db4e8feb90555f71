"""Finds where names are defined, with what each definition belongs to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from attrs import frozen

from cairn.index.reader.filters import ChunkFilter, passes
from cairn.index.reader.index_reader import IndexReader
from cairn.workspace.collections import FileKind

_MOST = 60
"""Definitions of one name that are read."""


@frozen
class Definition:
    """A chunk that defines a name."""

    chunk_id: int
    path: str
    parent: str
    """The type around it; "" for none."""
    is_test: bool

    def belongs_to(self, owner: str) -> bool:
        """Whether `owner` is the type around it, or the name of its file or folder."""
        *folders, name = self.path.split("/")
        return owner in (self.parent.rpartition(".")[2], name.partition(".")[0], *folders[-1:])


def definitions_of(
    reader: IndexReader, names: Sequence[str], only: ChunkFilter
) -> dict[str, list[Definition]]:
    """For each of `names` the chunks that define it in the very spelling."""
    condition, values = passes(reader, "d.chunk_id", only)
    rows = reader.select(
        f"""SELECT n.value, d.chunk_id, f.path, c.parent, f.kind FROM json_each(?) n
            CROSS JOIN definitions d ON d.name = n.value
            CROSS JOIN chunks c ON c.id = d.chunk_id CROSS JOIN files f ON f.id = c.file_id
            WHERE d.name = n.value COLLATE BINARY AND {condition} LIMIT ?""",
        (json.dumps(list(dict.fromkeys(names))), *values, _MOST * max(1, len(names))),
    )
    found: dict[str, list[Definition]] = defaultdict(list)
    for name, chunk_id, path, parent, kind in rows:
        found[name].append(Definition(chunk_id, path, parent or "", kind == FileKind.TESTS))
    return found
