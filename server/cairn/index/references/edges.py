"""Edges: references that lead to places of definitions, their confidence and their order."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, field, frozen

from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import Reference, ReferenceKind
from cairn.index.references.known_symbols import LIKELY, Meaning, Symbol


@frozen
class Place:
    """A definition in a file. Lines are 0-based, characters are UTF-16 code units, as in LSP."""

    path: str
    number: int = field(repr=False)
    name: str
    qualified: str
    """The name, preceded by the names of the enclosing definitions: `Application.handle`."""
    kind: str
    start_line: int
    end_line: int
    """The line after the last one."""
    line: int
    """The line of the name."""
    character: int
    """Where the name starts in that line."""


@frozen
class Edge:
    path: str
    line: int
    character: int
    name: str
    kind: ReferenceKind
    enclosing: Place | None
    """The innermost function or type around the reference; None at the top level of its file."""
    target: Place | None
    """The definition that the reference means; None if it is not in the workspace."""
    confidence: float
    """A number from 0 to 1."""
    via: str
    """The reason for choosing this target, in a few words."""


@frozen
class Edges:
    """References ordered by descending confidence, then by path and line."""

    found: tuple[Edge, ...] = ()
    complete: bool = True
    """Whether every reference was examined. Of a very common name, only some references are."""


CALLS = frozenset({ReferenceKind.CALL, ReferenceKind.DECORATE})
MAYBE = 0.45
"""The confidence that code calls a function if it only mentions the function or its type."""


def as_caller(meaning: Meaning, reference: Reference, is_itself: bool) -> tuple[float, str]:
    """Return the confidence (0 for no call) that the reference calls the function, and the reason.
    `is_itself` is False if the reference names a type, and the function is that type's constructor."""
    symbol, sure = meaning.symbol, meaning.confidence
    language = symbol.table.language
    if reference.kind in CALLS:
        if is_itself or language != "python":
            return sure, meaning.via
        return min(sure, MAYBE), f"makes a `{symbol.name}`"  # Another constructor may run instead.
    if symbol.definition.is_accessor:
        return (sure, meaning.via) if reference.receiver else (0.0, "")
    if symbol.kind not in CALLABLE or reference.kind is not ReferenceKind.READ:
        return 0.0, ""
    if symbol.name == symbol.definition.owner:  # The name of a type is not a mention of its constructor.
        return 0.0, ""
    is_method = bool(symbol.definition.owner and reference.receiver)
    is_sure = sure >= LIKELY and (
        symbol.facts.scoping.passes_functions or (language == "python" and is_method)
    )
    return sure if is_sure else min(sure, MAYBE), f"handed over; {meaning.via}"


def place_of(symbol: Symbol) -> Place:
    definition, table = symbol.definition, symbol.table
    names = [definition.name, *map(table.name, table.scopes(definition.parent))]
    if definition.owner and definition.owner not in names[1:]:
        names.insert(1, definition.owner)
    return Place(
        symbol.path, symbol.number, definition.name, ".".join(reversed(names)), definition.kind,
        definition.start_line, definition.end_line, definition.line, definition.character,
    )  # fmt: skip


def defining_edge(symbol: Symbol, target: Place, via: str, confidence: float = 0.9) -> Edge:
    place = place_of(symbol)
    kind = ReferenceKind.INHERIT
    return Edge(place.path, place.line, place.character, place.name, kind, place, target, confidence, via)


def through_another(edge: Edge, between: Place) -> Edge:
    return evolve(edge, confidence=edge.confidence * 0.8, via=f"calls `{between.qualified}`, which calls it")


def best_first(found: Sequence[Edge], limit: int, complete: bool) -> Edges:
    """Return the first `limit` references in the order of `Edges`, each once, with its highest confidence."""
    best: dict[tuple[str, int, int], Edge] = {}
    for each in found:
        key = (each.path, each.line, each.character)
        if key not in best or best[key].confidence < each.confidence:
            best[key] = each
    ordered = sorted(
        best.values(), key=lambda each: (-round(each.confidence, 2), each.path, each.line, each.character)
    )
    return Edges(tuple(ordered[:limit]), complete and len(ordered) <= limit)
