"""The fixtures of a PostgreSQL server for the tests of this folder."""

from tests.postgres import postgres, postgres_server, server_folder

__all__ = ["postgres", "postgres_server", "server_folder"]
