"""The overview of a team's index for one caller: the visible repositories and the servers.

The store knows only the commits that `cairn team index` indexed, not later pushes. So the overview shows the
age of the indexed commit, and whether a newer commit of another branch is indexed. How many commits a clone
is ahead is known only on the machine with the clone, in the overview of that folder.
"""

from __future__ import annotations

import datetime

from attrs import frozen


@frozen
class TeamRepository:
    """A visible repository, and the branch that is searched if a request names none."""

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
    """The name of the server that stores the repository's text; "" for the store's own server."""
    answers: bool
    """Whether the server answered its latest request."""


@frozen
class TeamServer:
    """A database server with the index or a part of it."""

    name: str
    role: str
    """`primary`, `replica`, `part` for a server with some of the repositories, or "" if unknown."""
    answers: bool
    behind_seconds: float | None
    """How many seconds a replica is behind the primary; None if unknown."""
    problem: str
    """Why the server does not answer, and what to do."""


@frozen
class TeamOverview:
    """What one caller sees of a team's index."""

    repositories: tuple[TeamRepository, ...]
    """The repositories, sorted by name."""
    servers: tuple[TeamServer, ...] | None
    """The servers; None until the first check ends."""
