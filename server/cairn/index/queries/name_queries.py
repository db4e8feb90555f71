"""Finds definitions by their exact or approximate names."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import FoundName

_ENOUGH = 200
"""If this many names begin with the letters, no other names are searched for."""
_MOST_PLACES, _MOST_OF_EACH = 300, 60
_FEWEST_SCATTERED = 4
"""The minimum number of letters that a name may contain scattered. Fewer letters match very many names, of
which the first 3,000 would be an arbitrary choice."""
_MEMBERS = ("method", "field", "variable", "constant")


def names_like(reader: IndexReader, letters: str) -> list[str]:
    """Return the shortest names that begin with `letters`, contain them, or contain each letter in this
    order. Case does not matter. `letters` must not contain characters that separate words in names. If many
    names begin with `letters`, no others are searched for."""
    found: dict[str, None] = {}
    for source in reader.sources if letters else ():
        names = source.names_matching(letters, "")
        if len(names) < _ENOUGH:
            scattered = len(letters) >= _FEWEST_SCATTERED
            pattern = "%".join(letters) if scattered else letters
            names += source.names_matching("", f"%{pattern}%")
            if not scattered:  # initials such as `aur` of `add_url_rule`
                names += source.names_matching(letters[0], "%".join(letters) + "%")
        found.update(dict.fromkeys(names))
    return list(found)


def defining(reader: IndexReader, names: Sequence[str]) -> list[FoundName]:
    """Return up to 300 chunks that define the names in any case, up to 60 for each, in the names' order."""
    return reader.definitions(names, _MOST_PLACES, _MOST_OF_EACH)


def important_names(reader: IndexReader, most: int) -> list[FoundName]:
    """Return up to `most` names that the most imported source files define."""
    imported: dict[str, int] = {}
    for source in reader.sources:
        imported = dict(source.select(_SELECT_IMPORTANT, ())) | imported
    ids = [chunk for chunks in reader.chunk_ids(imported).values() for chunk in chunks]
    named = [each for each in reader.outlines(ids).values() if each.symbol and each.has_signature]
    named.sort(key=lambda o: (-imported[o.path], o.symbol_kind in _MEMBERS, o.path, o.position))
    return [FoundName(each.id, each.path, each.symbol) for each in named[:most]]


_SELECT_IMPORTANT = """
    SELECT f.path, coalesce(i.in_degree, 0) AS imported FROM files f
    LEFT JOIN file_imports i ON i.path = f.path WHERE f.kind = 'source' AND f.chunks > 0
    ORDER BY imported DESC, f.path LIMIT 200"""
