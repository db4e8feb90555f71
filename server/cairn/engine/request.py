"""What a method's handler is given, and what it may return beside a plain answer."""

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
"""Who asks, where a front tells callers apart; each request is answered in a context of its own."""

CACHE, GENERIC = "cache", "generic"
"""What stands in for an answer: one that was kept from before, or a message alone."""

T = TypeVar("T")


@define(slots=False)
class Request:
    """One request to one engine."""

    engine: Engine
    folders: Sequence[Folder]
    settings: Settings
    """Those of the first folder, in the phase that is answered in."""
    cancelled: Cancelled = never
    """Whether the client does not want the answer any more."""
    tell: Tell | None = None
    """Hears of each stage that has ended, on the thread of the request."""

    @property
    def folder_uris(self) -> tuple[str, ...]:
        return tuple(folder.uri for folder in self.folders)

    def places_of(self, uri: str) -> list[tuple[Folder, str]]:
        """The folders that the file lies in, each with its path there: several where folders lie in each other."""
        places = ((folder, path_below(folder.uri, uri)) for folder in self.folders)
        return [(folder, path) for folder, path in places if path is not None]

    def lines_on_disk(self, uri: str) -> Sequence[str] | None:
        """The lines of a file with unsaved changes, whether the index holds it or not; None where it is gone or not text."""
        every = (folder.lines_of(path) for folder, path in self.places_of(uri))
        return next((lines for lines in every if lines is not None), None)

    def check_cancelled(self) -> None:
        """Raises QueryCancelledError if the client does not want the answer any more."""
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")


@frozen
class Attempt(Generic[T]):
    """An answer in some phase."""

    answer: T
    problem: str | None = None
    """Why a leg failed, if one did; the others answered."""
    without_vectors: bool = False
    """Whether that was the leg of meaning."""
    cached: bool = False
    """Whether the answer was there already."""
