"""Answers LSP's `workspace/symbol`: definitions of the open folders, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from cairn import answers, protocol
from cairn.chunking.model import Chunk
from cairn.errors import QueryCancelledError
from cairn.folders import Folder, on_screen
from cairn.index.overlaid_reader import OverlaidReader
from cairn.index.symbols import (
    DefinitionPlace,
    FoundName,
    defining,
    important_names,
    names_like,
    places,
)
from cairn.retrieval.symbols import Fit, Typed, fit, likeness, weight

_LIMIT = 100
"""Nobody reads on; each costs 40 µs to show."""
_LOOKED_AT = 300
"""Definitions whose file decides about their rank; the rest is behind by the name alone."""

_Candidate = tuple[float, int, FoundName]
"""How well the name fits, the folder's number, and the name."""


def find_symbols(
    folders: Sequence[Folder], query: str, cancelled: Callable[[], bool]
) -> tuple[protocol.Symbol, ...]:
    """The 100 best definitions for `query`; for none, those that the most imported files have.

    Raises QueryCancelledError soon after `cancelled()` turns true.
    """
    readers = on_screen(folders)
    typed = Typed.of(query)
    candidates: list[_Candidate] = []
    for number, reader in enumerate(readers):
        if query.strip():
            candidates += [(score, number, found) for score, found in _fitting(reader, typed, cancelled)]
        else:
            names = important_names(reader, _LIMIT, cancelled)
            candidates += [(-place / _LIMIT, number, found) for place, found in enumerate(names)]
        if cancelled():
            raise QueryCancelledError("The request was cancelled.")
    candidates.sort(key=lambda each: (-each[0], each[2].name, each[1], each[2].chunk_id))
    return _shown(folders, readers, _weighted(readers, candidates[:_LOOKED_AT]))


def _fitting(
    reader: OverlaidReader, typed: Typed, cancelled: Callable[[], bool]
) -> list[tuple[float, FoundName]]:
    def score(name: str) -> float:
        fits = fit(typed, name)
        return 0.0 if fits is Fit.NONE else fits + likeness(typed, name)

    scores = {name: score(name) for name in names_like(reader, typed.letters, cancelled)}
    best = sorted(filter(scores.__getitem__, scores), key=lambda name: (-scores[name], name))
    # Found in any case, of which some fit better.
    found = defining(reader, best, cancelled)
    scores.update((name, score(name)) for name in {each.name for each in found} - scores.keys())
    return [(scores[each.name], each) for each in found]


def _weighted(
    readers: Sequence[OverlaidReader], candidates: Sequence[_Candidate]
) -> list[tuple[int, FoundName, DefinitionPlace]]:
    """The candidates by how well the name fits and how much the definition matters, best first."""
    weighted = []
    for number, reader in enumerate(readers):
        here = [(score, found) for score, folder, found in candidates if folder == number]
        known = places(reader, {found.chunk_id for _, found in here})
        for score, found in here:
            if place := known.get(found.chunk_id):
                weighted.append((score + weight(place, found.name), number, found, place))
    weighted.sort(key=lambda each: (-each[0], each[2].name, each[1], each[3].path, each[2].chunk_id))
    return [(number, found, place) for _, number, found, place in weighted[:_LIMIT]]


def _shown(
    folders: Sequence[Folder],
    readers: Sequence[OverlaidReader],
    chosen: Sequence[tuple[int, FoundName, DefinitionPlace]],
) -> tuple[protocol.Symbol, ...]:
    chunks = [
        reader.chunks({found.chunk_id for folder, found, _ in chosen if folder == number})
        for number, reader in enumerate(readers)
    ]
    symbols = []
    for number, found, place in chosen:
        stored = chunks[number].get(found.chunk_id)
        if stored is not None:  # it may have left meanwhile
            start, end = definition_lines(stored.chunk, found.name)
            is_main = found.name == place.symbol
            container = place.parent if is_main else place.symbol or place.parent
            kind = place.symbol_kind if is_main else _kind_at(stored.chunk, start)
            uri = folders[number].uri_of(stored.path)
            symbols.append(protocol.Symbol(found.name, kind, container, uri, answers.lines(start, end)))
    return tuple(symbols)


def definition_lines(chunk: Chunk, name: str) -> tuple[int, int]:
    """The lines `[start, end)` of the file in which the chunk defines `name`.

    Its main definition goes on to the chunk's end; of others the line is given that names it first.
    """
    is_main = name == chunk.symbol
    lines = chunk.text.split("\n")
    naming = [number for number, line in enumerate(lines) if name in line and _names(line, name)]
    head = "".join(chunk.signature.split()) if is_main else ""
    at = next((n for n in naming if head and _is_head(lines[n], head)), None)
    if at is None:
        at = next((n for n in naming if _DEFINING.match(lines[n])), naming[0] if naming else 0)
    start = min(chunk.start_line + at, chunk.end_line - 1)
    return start, (chunk.end_line if is_main else start + 1)


def _names(line: str, name: str) -> bool:
    """Whether the name stands in the line as a word of its own."""
    at = line.find(name)
    while at >= 0:
        around = line[max(0, at - 1) : at] + line[at + len(name) : at + len(name) + 1]
        if not any(letter.isalnum() or letter == "_" for letter in around):
            return True
        at = line.find(name, at + 1)
    return False


def _is_head(line: str, head: str) -> bool:
    """Whether the line holds the definition's head, without any space, or the first line of it."""
    squeezed = "".join(line.split())
    return head in squeezed or head.startswith(squeezed)


_KINDS = {
    "class": "class", "struct": "struct", "interface": "interface", "trait": "interface", "enum": "enum",
    "type": "class", "def": "function", "fn": "function", "func": "function", "fun": "function",
    "function": "function", "const": "constant", "let": "variable", "var": "variable", "val": "variable",
    "module": "module", "namespace": "module",
}  # fmt: skip
_DEFINING = re.compile(rf"[ \t]*(?:\w+[ \t]+)*?(?P<keyword>{'|'.join(_KINDS)})\b")


def _kind_at(chunk: Chunk, line: int) -> str:
    """What the keyword in a line of the file says that is defined there; "" if it has none."""
    lines = chunk.text.split("\n")
    found = _DEFINING.match(lines[min(line - chunk.start_line, len(lines) - 1)])
    return _KINDS[found["keyword"]] if found else ""
