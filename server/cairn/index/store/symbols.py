"""Finds definitions by how their names are written, in the index and on the screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

import apsw
from attrs import evolve, frozen

from cairn.index.overlay.overlaid_reader import OverlaidReader

_MOST_NAMES = 400
"""Names that are compared, the shortest first; each takes some 15 µs."""
_ENOUGH = 200
"""As many names that begin as asked leave no room for others."""
_MOST_SORTED = 3_000
_MOST_PLACES = 300
_FEWEST_SCATTERED = 4
"""Fewer letters are scattered over very many names, of which the first 3,000 would be an arbitrary choice."""


@frozen
class FoundName:
    """A name that a chunk defines; the same name may be defined by several."""

    name: str
    chunk_id: int


@frozen
class DefinitionPlace:
    """What tells how much a chunk's definitions matter."""

    chunk_id: int
    path: str
    kind: str
    """Of the file: source, tests, …"""
    symbol: str
    symbol_kind: str
    parent: str
    in_degree: int
    """How many files import its file."""


def names_like(reader: OverlaidReader, letters: str, cancelled: Callable[[], bool]) -> list[str]:
    """Names that begin with `letters`, hold them, or hold each of them in this order, whatever the case; the shortest.

    `letters` without what parts words in names. Where many names begin with them, no others are looked for.
    """

    def ask(db: apsw.Connection) -> list[str]:
        after = "\U0010ffff"
        rows = db.execute(_SELECT_PREFIXED, (letters, letters + after)).fetchall()
        if len(rows) < _ENOUGH:
            scattered = len(letters) >= _FEWEST_SCATTERED
            pattern = "%".join(letters) if scattered else letters
            rows += db.execute(_SELECT_LIKE, (f"%{pattern}%",)).fetchall()
            if not scattered:  # initials: `aur` of `add_url_rule`
                first = (letters[0], letters[0] + after, "%".join(letters) + "%")
                rows += db.execute(_SELECT_LIKE_FROM, first).fetchall()
        return [str(row[0]) for row in rows]

    if not letters:
        return []
    with reader.overlay.shown() as (screen, _):
        here = (screen.read(ask, cancelled) if screen else None) or []
    return list(dict.fromkeys([*(reader.read(ask, cancelled) or ()), *here]))


# Sorting all names that match `%est%` took 100 ms.
_SELECT_SHORTEST = f"""SELECT name FROM (SELECT DISTINCT name FROM definitions WHERE {{}} LIMIT {_MOST_SORTED})
    ORDER BY length(name), name LIMIT {_MOST_NAMES}"""
_SELECT_PREFIXED = _SELECT_SHORTEST.format("name >= ? AND name < ?")
_SELECT_LIKE = _SELECT_SHORTEST.format("name LIKE ?")
_SELECT_LIKE_FROM = _SELECT_SHORTEST.format("name >= ? AND name < ? AND name LIKE ?")


def defining(reader: OverlaidReader, names: Sequence[str], cancelled: Callable[[], bool]) -> list[FoundName]:
    """The chunks that define these names in any case, at most 300 and 60 of a name, those of the
    first names first."""

    def ask(db: apsw.Connection) -> list[FoundName]:
        rows = db.execute(_SELECT_DEFINING, (json.dumps(list(names)), _MOST_PLACES))
        return [FoundName(str(row[0]), int(str(row[1]))) for row in rows]

    return _on_screen_too(reader, ask, cancelled)


_SELECT_DEFINING = """
    SELECT name, chunk_id FROM (
        SELECT n.key AS place, d.name, d.chunk_id,
               row_number() OVER (PARTITION BY n.key ORDER BY d.chunk_id) AS nth
        FROM json_each(?) n CROSS JOIN definitions d ON d.name = n.value)
    WHERE nth <= 60 ORDER BY place, chunk_id LIMIT ?"""


def important_names(reader: OverlaidReader, most: int, cancelled: Callable[[], bool]) -> list[FoundName]:
    """What the most imported source files define, at most so many names."""

    def ask(db: apsw.Connection) -> list[FoundName]:
        rows = db.execute(_SELECT_IMPORTANT, (most,))
        return [FoundName(str(row[0]), int(str(row[1]))) for row in rows]

    return _on_screen_too(reader, ask, cancelled)


_SELECT_IMPORTANT = """
    SELECT c.symbol, c.id FROM (
        SELECT f.id, coalesce(i.in_degree, 0) AS imported, f.path FROM files f
        LEFT JOIN file_imports i ON i.path = f.path WHERE f.kind = 'source' AND f.chunks > 0
        ORDER BY imported DESC, f.path LIMIT 200) important
    CROSS JOIN chunks c ON c.file_id = important.id
    WHERE c.symbol <> '' AND c.signature <> ''
    ORDER BY important.imported DESC, c.symbol_kind IN ('method', 'field', 'variable', 'constant'), important.path, c.position
    LIMIT ?"""


def _on_screen_too(
    reader: OverlaidReader, ask: Callable[[apsw.Connection], list[FoundName]], cancelled: Callable[[], bool]
) -> list[FoundName]:
    with reader.overlay.shown() as (screen, hidden):
        here = (screen.read(ask, cancelled) if screen else None) or []
    there = reader.read(ask, cancelled) or []
    if hidden:
        gone = set(reader.read(lambda db: _chunks_in(db, hidden)) or ())
        there = [each for each in there if each.chunk_id not in gone]
    return [*there, *(evolve(each, chunk_id=-each.chunk_id) for each in here)]


def _chunks_in(db: apsw.Connection, paths: Sequence[str]) -> list[int]:
    rows = db.execute(
        "SELECT c.id FROM json_each(?) p CROSS JOIN files f ON f.path = p.value CROSS JOIN chunks c ON c.file_id = f.id",
        (json.dumps(list(paths)),),
    )
    return [int(str(row[0])) for row in rows]


def places(reader: OverlaidReader, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
    """Where these chunks are and what they mainly define; one that is gone is left out."""
    every = list(ids)

    def ask(db: apsw.Connection, wanted: Sequence[int]) -> list[DefinitionPlace]:
        rows = db.execute(_SELECT_PLACES, (json.dumps(wanted),))
        return [
            DefinitionPlace(
                int(str(chunk)),
                str(path),
                str(kind),
                str(symbol),
                str(symbol_kind),
                str(parent),
                int(str(degree)),
            )
            for chunk, path, kind, symbol, symbol_kind, parent, degree in rows
        ]

    shown = [-each for each in every if each < 0]
    with reader.overlay.shown() as (screen, _):
        here = (screen.read(lambda db: ask(db, shown)) if screen and shown else None) or []
    there = reader.read(lambda db: ask(db, [each for each in every if each > 0])) or []
    found = {each.chunk_id: each for each in there}
    found.update((-each.chunk_id, evolve(each, chunk_id=-each.chunk_id)) for each in here)
    return found


_SELECT_PLACES = """
    SELECT c.id, f.path, f.kind, c.symbol, c.symbol_kind, c.parent, coalesce(i.in_degree, 0)
    FROM json_each(?) w CROSS JOIN chunks c ON c.id = w.value CROSS JOIN files f ON f.id = c.file_id
    LEFT JOIN file_imports i ON i.path = f.path"""
