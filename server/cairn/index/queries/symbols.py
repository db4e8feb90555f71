"""Finds definitions by their names, as they are written or nearly so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import starmap

from attrs import frozen

from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.deadline import Cancelled

_MOST_NAMES = 400
"""Names that are compared, the shortest first; each takes some 15 µs."""
_ENOUGH = 200
"""As many names that begin as asked leave no room for others."""
_MOST_SORTED = 3_000
_MOST_PLACES = 300
_MOST_DEFINITIONS = 12
"""A name that more chunks define tells nothing; without a bound, `get` would be looked up thousands of times."""
_FEWEST_SCATTERED = 4
"""Fewer letters are scattered over very many names, of which the first 3,000 would be an arbitrary choice."""


@frozen
class FoundName:
    """A name that a chunk defines; the same name may be defined by several."""

    chunk_id: int
    path: str
    name: str


@frozen
class DefinitionPlace:
    """What tells how much a chunk's definitions matter."""

    chunk_id: int
    path: str
    kind: str
    """The kind of the file: source, tests, …"""
    symbol: str
    symbol_kind: str
    parent: str
    in_degree: int
    """How many files import its file."""


def names_like(reader: IndexReader, letters: str, cancelled: Cancelled) -> list[str]:
    """Names that begin with `letters`, contain them, or contain each of them in this order, whatever the case; the shortest.

    `letters` without what parts words in names. Where many names begin with them, no others are looked for.
    """
    after = "\U0010ffff"
    found: dict[str, None] = {}
    for source in reader.sources if letters else ():
        rows = source.select(_SELECT_PREFIXED, (letters, letters + after), cancelled)
        if len(rows) < _ENOUGH:
            scattered = len(letters) >= _FEWEST_SCATTERED
            pattern = "%".join(letters) if scattered else letters
            rows += source.select(_SELECT_LIKE, (f"%{pattern}%",), cancelled)
            if not scattered:  # initials: `aur` of `add_url_rule`
                first = (letters[0], letters[0] + after, "%".join(letters) + "%")
                rows += source.select(_SELECT_LIKE_FROM, first, cancelled)
        found.update((name, None) for (name,) in rows)
    return list(found)


# Sorting all names that match `%est%` took 100 ms.
_SELECT_SHORTEST = f"""SELECT name FROM (SELECT DISTINCT name FROM definitions WHERE {{}} LIMIT {_MOST_SORTED})
    ORDER BY length(name), name LIMIT {_MOST_NAMES}"""
_SELECT_PREFIXED = _SELECT_SHORTEST.format("name >= ? AND name < ?")
_SELECT_LIKE = _SELECT_SHORTEST.format("name LIKE ?")
_SELECT_LIKE_FROM = _SELECT_SHORTEST.format("name >= ? AND name < ? AND name LIKE ?")


def defining(reader: IndexReader, names: Sequence[str], cancelled: Cancelled) -> list[FoundName]:
    """The chunks that define these names in any case, at most 300 and 60 of a name, those of the
    first names first."""
    rows = reader.chunk_rows(_SELECT_DEFINING, (json.dumps(list(names)), _MOST_PLACES), cancelled)
    return list(starmap(FoundName, rows))


_SELECT_DEFINING = """
    SELECT found.chunk_id, f.path, found.name FROM (
        SELECT n.key AS place, d.name, d.chunk_id,
               row_number() OVER (PARTITION BY n.key ORDER BY d.chunk_id) AS nth
        FROM json_each(?) n CROSS JOIN definitions d ON d.name = n.value) found
    CROSS JOIN chunks c ON c.id = found.chunk_id CROSS JOIN files f ON f.id = c.file_id
    WHERE nth <= 60 ORDER BY place, chunk_id LIMIT ?"""


def important_names(reader: IndexReader, most: int, cancelled: Cancelled) -> list[FoundName]:
    """What the most imported source files define, at most so many names."""
    return list(starmap(FoundName, reader.chunk_rows(_SELECT_IMPORTANT, (most,), cancelled)))


_SELECT_IMPORTANT = """
    SELECT c.id, important.path, c.symbol FROM (
        SELECT f.id, coalesce(i.in_degree, 0) AS imported, f.path FROM files f
        LEFT JOIN file_imports i ON i.path = f.path WHERE f.kind = 'source' AND f.chunks > 0
        ORDER BY imported DESC, f.path LIMIT 200) important
    CROSS JOIN chunks c ON c.file_id = important.id
    WHERE c.symbol <> '' AND c.signature <> ''
    ORDER BY important.imported DESC, c.symbol_kind IN ('method', 'field', 'variable', 'constant'), important.path, c.position
    LIMIT ?"""


def definitions_of(
    reader: IndexReader, names: Iterable[str], most: int = _MOST_DEFINITIONS
) -> list[FoundName]:
    """Where these very names are defined; names that more than `most` chunks define are left out."""
    rows = reader.chunk_rows(_SELECT_DEFINITIONS, (json.dumps(list(names)), most))
    return list(starmap(FoundName, rows))


_SELECT_DEFINITIONS = """
    SELECT d.chunk_id, f.path, n.value FROM json_each(?1) n
    CROSS JOIN definitions d ON d.name = n.value CROSS JOIN chunks c ON c.id = d.chunk_id
    CROSS JOIN files f ON f.id = c.file_id
    WHERE d.name = n.value COLLATE BINARY
    AND (SELECT count(*) FROM (SELECT 1 FROM definitions o WHERE o.name = n.value LIMIT ?2 + 1)) <= ?2"""


def places(reader: IndexReader, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
    """Where these chunks are and what they mainly define; one that is gone is left out."""
    found: dict[int, DefinitionPlace] = {}
    for source, sign, wanted in reader.by_source(ids):
        rows = source.select(_SELECT_PLACES, (json.dumps(wanted),))
        found.update((sign * chunk, DefinitionPlace(sign * chunk, *place)) for chunk, *place in rows)
    return found


_SELECT_PLACES = """
    SELECT c.id, f.path, f.kind, c.symbol, c.symbol_kind, c.parent, coalesce(i.in_degree, 0)
    FROM json_each(?) w CROSS JOIN chunks c ON c.id = w.value CROSS JOIN files f ON f.id = c.file_id
    LEFT JOIN file_imports i ON i.path = f.path"""
