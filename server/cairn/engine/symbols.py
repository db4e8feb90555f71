"""Answers LSP's `workspace/symbol`: finds definitions in the open folders by name."""

from __future__ import annotations

from collections.abc import Sequence

from cairn import protocol
from cairn.engine.folders import Folder, readers_with_unsaved
from cairn.engine.request import Request
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.file_queries import in_degrees
from cairn.index.queries.name_queries import defining, important_names, names_like
from cairn.index.reader.records import FoundName, Outline
from cairn.index.store.deadline import check_end
from cairn.retrieval.name_fit import Fit, Typed, fit, likeness, weight
from cairn.retrieval.places import outlines

_LIMIT = 100
"""The maximum number of results. Converting one takes 40 µs."""
_CANDIDATES = 300
"""The number of best matching names that are also ranked by the importance of their definitions."""

Candidate = tuple[float, int, FoundName]
"""The score of the name, the folder's number, and the name."""


def symbols(request: Request, params: protocol.SymbolParams) -> tuple[protocol.Symbol, ...]:
    """Return the 100 definitions that match the query best; for "", those in the most imported files."""
    folders = request.folders
    readers = readers_with_unsaved(folders)
    typed = Typed.of(params.query)
    candidates: list[Candidate] = []
    for number, reader in enumerate(readers):
        if params.query.strip():
            candidates += [(score, number, found) for score, found in _fitting(reader, typed)]
        else:
            names = important_names(reader, _LIMIT)
            candidates += [(-place / _LIMIT, number, found) for place, found in enumerate(names)]
        check_end()
    candidates.sort(key=lambda each: (-each[0], each[2].name, each[1], each[2].chunk_id))
    return _shown(folders, readers, weighted(readers, candidates[:_CANDIDATES]))


def _fitting(reader: OverlaidReader, typed: Typed) -> list[tuple[float, FoundName]]:
    def score(name: str) -> float:
        fits = fit(typed, name)
        return 0.0 if fits is Fit.NONE else fits + likeness(typed, name)

    scores = {name: score(name) for name in names_like(reader, typed.letters)}
    best = sorted(filter(scores.__getitem__, scores), key=lambda name: (-scores[name], name))
    # A name is found in any letter case, and a definition in another case may match better.
    found = defining(reader, best)
    scores.update((name, score(name)) for name in {each.name for each in found} - scores.keys())
    return [(scores[each.name], each) for each in found]


def weighted(
    readers: Sequence[OverlaidReader], candidates: Sequence[Candidate]
) -> list[tuple[int, FoundName, Outline]]:
    """Return the candidates, ranked by the score of the name plus the weight of the definition."""
    weighted = []
    for number, reader in enumerate(readers):
        here = [(score, found) for score, folder, found in candidates if folder == number]
        known = reader.outlines({found.chunk_id for _, found in here})
        degrees = in_degrees(reader, {place.path for place in known.values()})
        for score, found in here:
            if place := known.get(found.chunk_id):
                weighted.append(
                    (score + weight(place, found.name, degrees[place.path]), number, found, place)
                )
    weighted.sort(key=lambda each: (-each[0], each[2].name, each[1], each[3].path, each[2].chunk_id))
    return [(number, found, place) for _, number, found, place in weighted[:_LIMIT]]


def _shown(
    folders: Sequence[Folder],
    readers: Sequence[OverlaidReader],
    chosen: Sequence[tuple[int, FoundName, Outline]],
) -> tuple[protocol.Symbol, ...]:
    chunks = [
        reader.chunks({found.chunk_id for folder, found, _ in chosen if folder == number})
        for number, reader in enumerate(readers)
    ]
    outlined = [outlines(reader, here.values()) for reader, here in zip(readers, chunks, strict=True)]
    symbols = []
    for number, found, _ in chosen:
        stored = chunks[number].get(found.chunk_id)
        if stored is None:  # The chunk may have been removed since its name was read.
            continue
        place = outlined[number][stored.path].place_in(stored.chunk, found.name)
        if place is not None and place.line is not None:
            container = place.around[-1] if place.around else ""
            uri, lines = folders[number].uri_of(stored.path), protocol.whole_lines(place.line, place.end)
            symbols.append(protocol.Symbol(found.name, place.kind, container, uri, lines))
    return tuple(symbols)
