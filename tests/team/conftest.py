"""The fixtures of a PostgreSQL server, stores, and a repository for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git_repository import GitRepository
from tests.postgres import postgres, postgres_server, prepared_postgres, server_folder
from tests.team.git_repositories import harbour
from tests.team.shared_town import town

__all__ = ["postgres", "postgres_server", "prepared_postgres", "server_folder", "town"]


@pytest.fixture
def store(prepared_postgres: str, bare_data_dir: Path) -> str:
    """The URL of an empty store, on a machine without data."""
    return prepared_postgres


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return harbour(tmp_path / "harbour")
