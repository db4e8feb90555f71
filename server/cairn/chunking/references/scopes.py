"""The enclosing definitions of a place, for building a symbol table."""

from __future__ import annotations

from collections.abc import Sequence, Set

from attrs import define, field

from cairn.chunking.references.model import TOP_LEVEL, Definition


@define(eq=False)
class Scope:
    """A definition in a symbol table that is being built."""

    number: int
    definition: Definition
    start: int
    end: int
    bound: set[str] = field(factory=set)
    """The names that the definition binds for the code inside."""


@define(eq=False)
class Sweep:
    """The innermost definition around a place that moves forward through the file."""

    scopes: Sequence[Scope]
    number: int = TOP_LEVEL
    local: Set[str] = frozenset()
    """The names that the definitions around the place bind for the code inside."""
    next_change: int = 0
    """The byte offset of the next place with other enclosing definitions."""
    _coming: int = 0
    _around: list[Scope] = field(factory=list)

    def move_to(self, place: int) -> None:
        around, scopes = self._around, self.scopes
        while self._coming < len(scopes) and scopes[self._coming].start <= place:
            around.append(scopes[self._coming])
            self._coming += 1
        around[:] = [scope for scope in around if scope.end > place]
        self.number = around[-1].number if around else TOP_LEVEL
        # Most places are inside just one definition, whose names need not be copied. Copying is slow.
        self.local = around[0].bound if len(around) == 1 else set().union(*(scope.bound for scope in around))
        ends = [scope.end for scope in around]
        coming = [scopes[self._coming].start] if self._coming < len(scopes) else []
        self.next_change = min([*ends, *coming], default=1 << 62)
