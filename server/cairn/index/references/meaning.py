"""What a name may mean, and what an expression may be."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from attrs import frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.references.tables import Symbol

TYPES = (CONTAINERS - {"module", "impl", "extension"}) | {"type"}
MOST_SHARED = 12
"""A name that more definitions share is told of the nearest alone."""

SURE, LIKELY = 0.95, 0.9


@frozen
class Meaning:
    """What a reference may mean."""

    symbol: Symbol
    confidence: float
    """0 to 1."""
    via: str


class Is(Enum):
    """What kind of thing an expression is."""

    INSTANCE = auto()
    TYPE = auto()
    MODULE = auto()
    FUNCTION = auto()
    ELSEWHERE = auto()
    """Not in the workspace."""
    UNKNOWN = auto()


@frozen
class Value:
    """What an expression is."""

    what: Is
    symbols: tuple[Symbol, ...] = ()
    """The types of an instance, the types or functions themselves."""
    paths: tuple[str, ...] = ()
    """The files of a module."""
    is_collection: bool = False
    confidence: float = SURE


UNKNOWN_VALUE = Value(Is.UNKNOWN)
ELSEWHERE = Value(Is.ELSEWHERE)


def parent_of(symbol: Symbol) -> int:
    """The definition around a definition; `TOP_LEVEL` where there is none."""
    return symbol.table.parent(symbol.number)


def meanings(symbols: Iterable[Symbol], confidence: float, via: str) -> list[Meaning]:
    """All of the symbols, equally sure and for the same reason."""
    return [Meaning(each, confidence, via) for each in symbols]


def shared(symbols: Sequence[Symbol], confidence: float, via: str) -> list[Meaning]:
    """Several that are meant equally well: each has its share. Declarations and definitions of one thing are one."""
    owners = {
        (each.definition.owner, "" if each.kind in CALLABLE and not each.definition.owner else each.path)
        for each in symbols
    }
    count = max(1, len(owners))
    if count == 1:
        return meanings(
            symbols,
            confidence,
            f"the only {via.removeprefix('the ').removeprefix('one of the ')}" if symbols else via,
        )
    return meanings(symbols[: MOST_SHARED * 4], confidence / count, f"one of {count} of this name")


def nearest(path: str, symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols, those first whose files share most folders with `path`."""
    here = path.split("/")

    def distance(symbol: Symbol) -> tuple[int, str]:
        there = symbol.path.split("/")
        return -len(posixpath.commonprefix([here, there])), symbol.path

    return sorted(symbols, key=distance)


def once(found: Sequence[Meaning]) -> list[Meaning]:
    """Each symbol once, as it is meant most surely; the likeliest first."""
    best: dict[Symbol, Meaning] = {}
    for each in found:
        if each.symbol not in best or best[each.symbol].confidence < each.confidence:
            best[each.symbol] = each
    return sorted(best.values(), key=lambda each: (-each.confidence, each.symbol.path, each.symbol.number))
