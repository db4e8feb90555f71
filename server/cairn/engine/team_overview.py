"""What there is of a team's index, as far as one caller may see it: its repositories and its servers.

Of a repository the store has the commits that `cairn team index` was run for, and nothing of what was pushed since: no server
here asks the repository's own. So it tells how old the indexed commit is, and whether a newer one of another branch is there.
How many commits a clone is behind is known to the machine that has the clone, and told with its folder.
"""

from __future__ import annotations

import datetime

from attrs import frozen


@frozen
class TeamRepository:
    """A repository that the caller may see, by the branch that is searched where none is named."""

    name: str
    uri: str
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime
    files: int
    chunks: int
    refs: int
    """How many of its branches and tags are indexed."""
    newer_ref: str
    """Another one whose indexed commit is newer; empty without any."""
    newer_at: datetime.datetime
    """When the newest indexed commit was made."""
    server: str
    """The server beside the store's own that has its text; empty for that itself."""
    answers: bool
    """Whether that server answered when it was last asked."""


@frozen
class TeamServer:
    """A server that has the index, or a part of it."""

    name: str
    role: str
    """`primary`, `replica`, `part` for one that has some repositories, or empty where that is not known."""
    answers: bool
    behind_seconds: float | None
    """How old what a replica shows is; None where that is not known."""
    problem: str
    """Why it does not answer, and what to do."""


@frozen
class TeamOverview:
    """What one caller sees of a team's index."""

    repositories: tuple[TeamRepository, ...]
    """By name."""
    servers: tuple[TeamServer, ...] | None
    """None while they are asked for the first time."""
