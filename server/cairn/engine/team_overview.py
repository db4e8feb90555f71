"""The overview of a team's index for one caller: its visible repositories and its servers.

The store knows only the commits that `cairn team index` indexed, not later pushes. So the overview shows the
age of the indexed commit, and whether a newer commit of another branch is indexed. Only the machine with a
clone knows how many commits the clone is behind; its folder shows that.
"""

from __future__ import annotations

import datetime

from attrs import frozen


@frozen
class TeamRepository:
    """A visible repository, at the branch that requests without a ref search."""

    name: str
    uri: str
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime
    files: int
    chunks: int
    refs: int
    """The number of indexed branches and tags."""
    newer_ref: str
    """Another ref with a newer indexed commit; "" if there is none."""
    newer_at: datetime.datetime
    """The time of the newest indexed commit."""
    server: str
    """The server with its text; "" for the store's own server."""
    answers: bool
    """Whether that server answered its latest request."""


@frozen
class TeamServer:
    """A server with the index or a part of it."""

    name: str
    role: str
    """`primary`, `replica`, `part` for a server with some of the repositories, or "" if unknown."""
    answers: bool
    behind_seconds: float | None
    """The delay of a replica; None if unknown."""
    problem: str
    """Why it does not answer, and what to do."""


@frozen
class TeamOverview:
    """What one caller sees of a team's index."""

    repositories: tuple[TeamRepository, ...]
    """The repositories, sorted by name."""
    servers: tuple[TeamServer, ...] | None
    """The servers; None until the first check ends."""
