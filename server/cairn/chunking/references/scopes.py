"""The definitions around a place, while a symbol table is made."""

from __future__ import annotations

from collections.abc import Sequence, Set

from attrs import define, field

from cairn.chunking.references.model import TOP_LEVEL, Definition


@define(eq=False)
class Scope:
    """A definition while the table is made."""

    number: int
    definition: Definition
    start: int
    end: int
    """Of its bytes."""
    bound: set[str] = field(factory=set)
    """Names that it makes known to what is in it."""


@define(eq=False)
class Sweep:
    """The innermost definition around a place that moves through the file."""

    scopes: Sequence[Scope]
    number: int = TOP_LEVEL
    local: Set[str] = frozenset()
    """The names that are known there and nowhere else."""
    next_change: int = 0
    """The byte up to which nothing changes."""
    _coming: int = 0
    _around: list[Scope] = field(factory=list)

    def move_to(self, place: int) -> None:
        """Go on to a byte further on."""
        around, scopes = self._around, self.scopes
        while self._coming < len(scopes) and scopes[self._coming].start <= place:
            around.append(scopes[self._coming])
            self._coming += 1
        around[:] = [scope for scope in around if scope.end > place]
        self.number = around[-1].number if around else TOP_LEVEL
        # Inside of one definition, which is the most frequent, its own names: a copy for each change took longer than the rest.
        self.local = around[0].bound if len(around) == 1 else set().union(*(scope.bound for scope in around))
        ends = [scope.end for scope in around]
        coming = [scopes[self._coming].start] if self._coming < len(scopes) else []
        self.next_change = min([*ends, *coming], default=1 << 62)
