"""Possible meanings of names and values of expressions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from attrs import frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.references.tables import Symbol

TYPES = (CONTAINERS - {"module", "impl", "extension"}) | {"type"}
MOST_SHARED = 12
"""The maximum number of definitions of one name to consider; the nearest ones win."""

SURE, LIKELY = 0.95, 0.9


@frozen
class Meaning:
    """A definition that a reference may mean."""

    symbol: Symbol
    confidence: float
    """A number from 0 to 1."""
    via: str


class ValueKind(Enum):
    INSTANCE = auto()
    TYPE = auto()
    MODULE = auto()
    FUNCTION = auto()
    ELSEWHERE = auto()
    """A thing outside the workspace."""
    UNKNOWN = auto()


@frozen
class Value:
    kind: ValueKind
    symbols: tuple[Symbol, ...] = ()
    """For an instance its types; for a type or a function its definitions."""
    paths: tuple[str, ...] = ()
    is_collection: bool = False
    confidence: float = SURE


UNKNOWN_VALUE = Value(ValueKind.UNKNOWN)
ELSEWHERE = Value(ValueKind.ELSEWHERE)


def parent_of(symbol: Symbol) -> int:
    """Return the number of the enclosing definition; `TOP_LEVEL` if there is none."""
    return symbol.table.parent(symbol.number)


def meanings(symbols: Iterable[Symbol], confidence: float, via: str) -> list[Meaning]:
    return [Meaning(each, confidence, via) for each in symbols]


def ambiguous(symbols: Sequence[Symbol], confidence: float, via: str) -> list[Meaning]:
    """Return the meanings of equally likely symbols, which divide the confidence among them. Declarations of
    the same thing count as one."""
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
    """Return the symbols sorted by the number of folders that their files share with `path`, most first."""
    here = path.split("/")

    def distance(symbol: Symbol) -> tuple[int, str]:
        there = symbol.path.split("/")
        return -len(posixpath.commonprefix([here, there])), symbol.path

    return sorted(symbols, key=distance)


def distinct(found: Sequence[Meaning]) -> list[Meaning]:
    """Return one meaning for each symbol, the one of highest confidence; the likeliest symbol comes first."""
    best: dict[Symbol, Meaning] = {}
    for each in found:
        if each.symbol not in best or best[each.symbol].confidence < each.confidence:
            best[each.symbol] = each
    return sorted(best.values(), key=lambda each: (-each.confidence, each.symbol.path, each.symbol.number))
