"""Edges: what makes one, how sure it is, and in which order they are told."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.model import Reference, ReferenceKind
from cairn.index.references.meaning import LIKELY, Meaning
from cairn.index.references.model import Edge, Edges, Place
from cairn.index.references.tables import Symbol

CALLS = frozenset({ReferenceKind.CALL, ReferenceKind.DECORATE})
_HANDED_OVER = frozenset({"c", "cpp", "objc", "go"})
"""Languages in which to name a function is to have it called: elsewhere it is compared, decorated and mocked as well."""
MAYBE = 0.45
"""How sure it is that a function is called which is only named, or whose type is."""


def as_caller(meaning: Meaning, reference: Reference, is_itself: bool) -> tuple[float, str]:
    """How sure it is that the reference calls the function, 0 where it does not, and why.

    `is_itself` is false where the type is named whose constructor the function is.
    """
    symbol, sure = meaning.symbol, meaning.confidence
    language = symbol.table.language
    if reference.kind in CALLS:
        if is_itself or language != "python":
            return sure, meaning.via
        return min(sure, MAYBE), f"makes a `{symbol.name}`"  # which may have been given another constructor
    if symbol.definition.is_accessor:
        return (sure, meaning.via) if reference.receiver else (0.0, "")
    if symbol.kind not in CALLABLE or reference.kind is not ReferenceKind.READ:
        return 0.0, ""
    is_method = bool(symbol.definition.owner and reference.receiver)
    is_sure = sure >= LIKELY and (language in _HANDED_OVER or (language == "python" and is_method))
    return sure if is_sure else min(sure, MAYBE), f"handed over; {meaning.via}"


def place_of(symbol: Symbol) -> Place:
    """The place of a definition."""
    definition, table = symbol.definition, symbol.table
    names = [definition.name]
    for number in list(table.scopes(definition.parent)):
        names.append(table.name(number))
    if definition.owner and definition.owner not in names[1:]:
        names.insert(1, definition.owner)
    return Place(
        symbol.path, symbol.number, definition.name, ".".join(reversed(names)), definition.kind, definition.start_line,
        definition.end_line, definition.line, definition.character,
    )  # fmt: skip


def defining_edge(symbol: Symbol, target: Place, via: str, confidence: float = 0.9) -> Edge:
    """The edge from where a symbol is defined."""
    place = place_of(symbol)
    return Edge(
        place.path,
        place.line,
        place.character,
        place.name,
        ReferenceKind.INHERIT,
        place,
        target,
        confidence,
        via,
    )


def over_another(edge: Edge, between: Place) -> Edge:
    """The edge to what the function between calls."""
    return evolve(edge, confidence=edge.confidence * 0.8, via=f"calls `{between.qualified}`, which calls it")


def best_first(found: Sequence[Edge], limit: int, complete: bool) -> Edges:
    """Each reference once, as it is meant most surely; the surest first, then by path and line."""
    best: dict[tuple[str, int, int], Edge] = {}
    for each in found:
        key = (each.path, each.line, each.character)
        if key not in best or best[key].confidence < each.confidence:
            best[key] = each
    ordered = sorted(
        best.values(), key=lambda each: (-round(each.confidence, 2), each.path, each.line, each.character)
    )
    return Edges(tuple(ordered[:limit]), complete and len(ordered) <= limit)
