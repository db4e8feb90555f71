"""Answer a query of one to three letters: by the definitions that begin with them, and by recent files.

So few letters are in nearly every text, and a palette asks for them while its user types. Reading names alone
takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cairn.engine.request import Request
from cairn.engine.symbols import weighted
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.name_queries import defining
from cairn.index.reader.records import FoundName
from cairn.index.store.deadline import check_end
from cairn.retrieval.name_fit import Fit, Typed, fit, likeness
from cairn.retrieval.place_choice import Shown, shown
from cairn.retrieval.places import outlines
from cairn.retrieval.scores import Contribution, Ranked

_MOST_LETTERS = 3
_NAMES = 60
"""The number of names whose definitions are ranked."""
_FILES = 3
"""The maximum number of recent files."""
_BEGINS = Contribution("begins with the letters", 1.0, 1.0)

_SELECT_RECENT = f"""
    SELECT f.path FROM paths_fts p JOIN files f ON f.id = p.rowid
    WHERE paths_fts MATCH ? AND f.chunks > 0 ORDER BY f.mtime_ns DESC LIMIT {_FILES}"""


def is_few_letters(text: str) -> bool:
    text = text.strip()
    return 0 < len(text) <= _MOST_LETTERS and text.isascii() and text.isalnum() and not text.isdigit()


def by_first_letters(request: Request, text: str, limit: int) -> list[Shown]:
    """Return up to `limit` rows, definitions before files; none if nothing begins with the letters."""
    typed = Typed.of(text)
    readers = request.readers
    candidates = [
        (fit(typed, found.name) + likeness(typed, found.name), number, found)
        for number, reader in enumerate(readers)
        for found in _beginning(request, reader, typed)
    ]
    check_end()
    rows = _definitions(request, weighted(readers, candidates))
    files = [row for number, reader in enumerate(readers) for row in _files(number, reader, typed)]
    return (rows[: max(limit - _FILES, limit - len(files))] + files)[:limit]


def _beginning(request: Request, reader: OverlaidReader, typed: Typed) -> list[FoundName]:
    names = dict.fromkeys(
        name
        for source in reader.sources
        for name in source.names_matching(typed.letters, "")
        if fit(typed, name) >= Fit.PREFIX
    )
    best = sorted(names, key=lambda name: (-likeness(typed, name), name))[:_NAMES]
    return defining(reader, best)


def _definitions(request: Request, found: Iterable[tuple[int, FoundName, object]]) -> list[Shown]:
    """Return a row for each name, in order, at its first definition."""
    first: dict[str, tuple[int, FoundName]] = {}
    for number, each, _ in found:
        first.setdefault(each.name, (number, each))
    rows: dict[str, Shown] = {}
    for number, reader in enumerate(request.readers):
        here = {each.chunk_id: name for name, (folder, each) in first.items() if folder == number}
        chunks = reader.chunks(here)
        files = outlines(reader, chunks.values())
        for chunk_id, stored in chunks.items():
            name = here[chunk_id]
            if (place := files[stored.path].place_in(stored.chunk, name)) is not None:
                rows[name] = shown(Ranked(number, stored, 1.0, "exact", (_BEGINS,)), stored, place)
    return [rows[name] for name in first if name in rows]


def _files(number: int, reader: OverlaidReader, typed: Typed) -> Iterator[Shown]:
    match = f'stem : "{typed.letters}" *'
    for path in dict.fromkeys(str(path) for (path,) in reader.select_all(_SELECT_RECENT, (match,))):
        for stored in reader.between(path, 0, 1)[:1]:
            place = outlines(reader, [stored])[path].file
            yield shown(Ranked(number, stored, 0.5, "exact", (_BEGINS,)), stored, place)
