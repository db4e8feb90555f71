"""Roles of the database cluster: one per reader, the group of readers, and the group of servers.

Roles belong to the cluster, not to a database: two stores in a cluster share the role `cairn:alice`, but each
has its own grants. So Cairn never drops a role; a role without grants sees nothing.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress

from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres.policies import READERS, SERVERS

PREFIX = "cairn:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,56}")  # PostgreSQL truncates role names to 63 bytes.
_TRIES = 8


def role_name(reader: str) -> str:
    """Return the database role of a reader. Raise `InvalidRequestError` for an invalid name."""
    if not _NAME.fullmatch(reader):
        raise InvalidRequestError(
            "reader",
            "must be 1 to 57 letters, digits or any of . _ @ + -, and begin with a letter or a digit",
        )
    return PREFIX + reader


def reader_name(role: str) -> str:
    return role.removeprefix(PREFIX)


def make_groups(connection: Connection[TupleRow]) -> None:
    """Create the groups of readers and of servers if the cluster lacks them."""
    _make_role(connection, READERS)
    _make_role(connection, SERVERS)


def make_reader(connection: Connection[TupleRow], reader: str) -> str:
    """Create the role of a reader if it is missing, let servers become this role, and return its name."""
    role = role_name(reader)
    _make_role(connection, role)
    _make_member(connection, READERS, role, inherit=True)
    _make_member(connection, role, SERVERS, inherit=False)
    return role


def admit_server(connection: Connection[TupleRow], login: str) -> None:
    """Let a login become any reader. Raise `InvalidRequestError` for a login that bypasses row security."""
    found = connection.execute(
        "SELECT rolcanlogin, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (login,)
    ).fetchone()
    if found is None or not found[0]:
        problem = f"{login} is not a role that can log in; make it with CREATE ROLE … LOGIN"
        raise InvalidRequestError("login", problem)
    if found[1]:
        problem = f"{login} is a superuser or has BYPASSRLS; use a role without either"
        raise InvalidRequestError("login", problem)
    _make_member(connection, SERVERS, login, inherit=True)


def _make_role(connection: Connection[TupleRow], role: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        return

    # Another session may be creating the role.
    with suppress(errors.DuplicateObject, errors.UniqueViolation):
        _change(connection, sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))


def _make_member(connection: Connection[TupleRow], group: str, member: str, *, inherit: bool) -> None:
    """Let a role become a group. With `inherit`, also give it the group's rights."""
    joined = connection.execute(
        "SELECT count(*) = 1 AND bool_and(inherit_option = %s AND set_option)"
        " FROM pg_auth_members WHERE roleid = to_regrole(%s) AND member = to_regrole(%s)",
        (inherit, _quoted(connection, group), _quoted(connection, member)),
    ).fetchone()
    if joined and joined[0]:
        return

    names = (sql.Identifier(group), sql.Identifier(member))
    inherits = sql.SQL(str(inherit).upper())
    _change(connection, sql.SQL("GRANT {} TO {} WITH INHERIT {}, SET TRUE").format(*names, inherits))


def _change(connection: Connection[TupleRow], statement: sql.Composed) -> None:
    """Change roles in a savepoint, and retry while another session changes the same roles.

    PostgreSQL reports the race as an internal error ("tuple concurrently updated") without a specific code.
    """
    for attempt in range(_TRIES):
        try:
            with connection.transaction():
                connection.execute(statement)
            return
        except errors.InsufficientPrivilege:
            raise StoreUnavailableError(
                "The login may not manage the roles of Cairn's readers. Use the login that prepared the"
                " store, with CREATEROLE; where another login made cairn_reader and cairn_server,"
                " let it grant them WITH ADMIN OPTION."
            ) from None
        except errors.InternalError_:
            if attempt == _TRIES - 1:
                raise
            time.sleep(0.01 * 2**attempt)


def _quoted(connection: Connection[TupleRow], role: str) -> str:
    return sql.Identifier(role).as_string(connection)
