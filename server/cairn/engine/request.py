"""What a method's handler is given, and what it may return beside a plain answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import define, frozen

from cairn.errors import QueryCancelledError

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.folders import Folder
    from cairn.protocol import DiscoverProgress
    from cairn.settings.tree import Settings

Cancelled = Callable[[], bool]
Tell = Callable[["DiscoverProgress"], None]

CACHE, GENERIC = "cache", "generic"
"""What stands in for an answer: one that was kept from before, or a message alone."""

T = TypeVar("T")


def never() -> bool:
    """A request that nobody cancels."""
    return False


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
