"""The fixtures of a PostgreSQL server and of a small team store for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.index.postgres.store_rows import TeamStore, team_store
from tests.postgres import postgres, postgres_server, prepared_postgres, server_folder

from cairn.index.postgres.access import grant
from cairn.team.trial import LocalServer

__all__ = ["postgres", "postgres_server", "prepared_postgres", "server_folder"]


@pytest.fixture
def bare_team(postgres_server: LocalServer) -> Iterator[TeamStore]:
    """A store without grants."""
    with team_store(postgres_server) as made:
        yield made


@pytest.fixture
def team(bare_team: TeamStore) -> TeamStore:
    """A store in which ann sees `main`, and bob sees `other`."""
    grant(bare_team.owner, "ann", [bare_team.main.id])
    grant(bare_team.owner, "bob", [bare_team.other.id])
    return bare_team
