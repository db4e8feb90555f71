"""Pending work of an indexing thread."""

from __future__ import annotations

from attrs import define, field

BURST = 50
"""More changed files than this at once are a burst, as of a checkout, and no longer what somebody saved just now."""


@define
class Work:
    """Falsy when there is nothing to do."""

    rescan: bool = False
    force: bool = False
    """Index every file anew, also what has not changed."""
    paths: set[str] = field(factory=set)
    forced: set[str] = field(factory=set)
    """Paths to index anew, changed or not."""
    opened: set[str] = field(factory=set)
    """Paths of files that were opened."""
    head_moved: bool = False
    """There was a commit or a checkout."""
    check: bool = False
    """Look whether the index is sound."""

    def __bool__(self) -> bool:
        return bool(self.rescan or self.paths or self.forced or self.opened or self.head_moved or self.check)

    @property
    def is_few_files(self) -> bool:
        """Whether it is nothing but a few changed files."""
        return 0 < len(self.paths) <= BURST and not self.rescan and not self.forced

    def add(self, other: Work) -> None:
        """Do this as well."""
        self.rescan |= other.rescan
        self.force |= other.force
        self.paths |= other.paths
        self.forced |= other.forced
        self.opened |= other.opened
        self.head_moved |= other.head_moved
        self.check |= other.check
