"""The errors that Cairn raises on purpose. Each message says what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CairnError(Exception):
    """The base of all errors whose messages users see."""


def missing_extra(*extras: str) -> CairnError:
    """Return the error that the libraries of optional extras are not installed."""
    return CairnError(f'This needs more libraries: pip install "cairn-ls[{",".join(extras)}]"')


@contextmanager
def needing(*extras: str) -> Iterator[None]:
    """Raise `missing_extra` if the block fails to import a library of these extras."""
    try:
        yield
    except ImportError as problem:
        raise missing_extra(*extras) from problem


class ModelError(CairnError):
    """The embedding model could not be loaded."""


class IndexUnavailableError(CairnError):
    """The index file cannot be opened or written."""


class InvalidRequestError(CairnError):
    """A request or a setting has a bad value; `field` is its dotted camelCase path."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


class OutOfTimeError(CairnError):
    """A query reached its deadline."""


class QueryCancelledError(CairnError):
    """The client cancelled the request while it ran."""


class TeamError(CairnError):
    """The team's database, or a PostgreSQL server that Cairn runs on this machine, cannot be used."""


class StoreUnavailableError(CairnError):
    """The team store is unreachable, refuses access, or has another version.

    `lost` means that a server disconnected, so the same query may succeed on another connection.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class PartUnavailableError(StoreUnavailableError):
    """A further server with some repositories of the team store does not answer; the others do."""


class WireError(CairnError):
    """A message over the network is not one of the protocol of team indexes."""
