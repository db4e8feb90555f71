"""The request that a method's handler gets, and the `Attempt` in which it may return its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import define, frozen

from cairn.errors import QueryCancelledError
from cairn.index.store.deadline import Cancelled, never
from cairn.text.uris import path_below

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.folders import Folder
    from cairn.protocol import DiscoverProgress
    from cairn.settings.tree import Settings

Tell = Callable[["DiscoverProgress"], None]

CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The caller, if the front distinguishes callers. Each request runs in its own context."""

CACHE, GENERIC = "cache", "generic"
"""The kinds of fallback answers: an earlier answer, or only a message."""

T = TypeVar("T")


@define(slots=False)
class Request:
    engine: Engine
    folders: Sequence[Folder]
    settings: Settings
    """The settings of the first folder, limited to the kinds of search that the phase allows."""
    cancelled: Cancelled = never
    tell: Tell | None = None
    """Called after each finished stage, on the thread of the request."""
    lagging: frozenset[str] = frozenset()
    """The URIs of the folders with changes that were not in the index when the request began."""

    @property
    def folder_uris(self) -> tuple[str, ...]:
        return tuple(folder.uri for folder in self.folders)

    def places_of(self, uri: str) -> list[tuple[Folder, str]]:
        """Return the folders that contain the file, several if nested, each with the relative path."""
        places = ((folder, path_below(folder.uri, uri)) for folder in self.folders)
        return [(folder, path) for folder, path in places if path is not None]

    def lines_on_disk(self, uri: str) -> Sequence[str] | None:
        """Return the current lines of a file, indexed or not; None if it is gone or not text."""
        every = (folder.lines_of(path) for folder, path in self.places_of(uri))
        return next((lines for lines in every if lines is not None), None)

    def check_cancelled(self) -> None:
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")


@frozen
class Attempt(Generic[T]):
    """An answer, and which part of the search failed."""

    answer: T
    problem: str | None = None
    """Why a part of the search failed while the others answered; None if none failed."""
    without_vectors: bool = False
    """Whether the failed part was the comparison of vectors."""
    cached: bool = False
