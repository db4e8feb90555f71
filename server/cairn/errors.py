"""The errors Cairn raises on purpose. Each message says what is wrong and what to do about it."""

from __future__ import annotations


class CairnError(Exception):
    """Base of every error that is meant to be shown to a user as it stands."""


class ModelError(CairnError):
    """The embedding model could not be fetched, built or loaded."""


class IndexUnavailableError(CairnError):
    """The index file cannot be opened or written."""


class InvalidRequestError(CairnError):
    """A request or a setting has a bad value; `field` is its dotted camelCase path."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


class OutOfTimeError(CairnError):
    """A query did not end in the time it was given."""


class QueryCancelledError(CairnError):
    """The client cancelled the request while it ran."""


class TeamError(CairnError):
    """The team's database, or a PostgreSQL server that Cairn runs on this machine, cannot be used."""


class StoreUnavailableError(CairnError):
    """The team store cannot be reached, may not be used this way, or has another version.

    `lost` says that a server went away, so that the same question may succeed on another connection.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class PartUnavailableError(StoreUnavailableError):
    """Another server, on which some repositories of the team store lie, does not answer; all others can be asked."""


class WireError(CairnError):
    """What came over the network is not what a reader of a team's index asks or answers."""
