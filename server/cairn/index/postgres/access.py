"""Access rights: grants let a reader see repositories, and tokens identify the reader of a request.

All functions except `role_of` need a connection of the store's owner. Each runs in its own transaction or in
the caller's. A grant takes effect in the reader's next transaction. Changes of grants wait for each other and
for transactions that create or delete repositories, so keep all of these short.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import attrs
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError
from cairn.index.postgres.roles import make_reader, reader_name, role_name

TOKEN_PREFIX = "cairn_"
"""The first characters of each token. Secret scanners recognise tokens by them."""
_TOKEN_BYTES = 32


@attrs.frozen
class Reader:
    """A reader and the repositories that it may see."""

    name: str
    everything: bool
    """Whether the reader sees all repositories, including future ones."""
    repositories: tuple[str, ...]
    """The names of the repositories that were granted individually."""
    tokens: int
    """The number of tokens, including expired ones."""


def grant(
    connection: Connection[TupleRow], reader: str, repositories: Iterable[int] | Literal["all"]
) -> None:
    """Let a reader see the repositories with these ids, or all present and future ones.

    If an id does not exist, raise `InvalidRequestError` and grant nothing.
    """
    with connection.transaction():
        role = make_reader(connection, reader)
        if repositories == "all":
            connection.execute(
                "INSERT INTO cairn.everything(role) VALUES (%s) ON CONFLICT DO NOTHING", (role,)
            )
            return
        try:
            connection.execute(
                """INSERT INTO cairn.grants(role, repository) SELECT %s, unnest(%s::int[])
                   ON CONFLICT DO NOTHING""",
                (role, list(repositories)),
            )
        except errors.ForeignKeyViolation:
            problem = "has an id that no repository of the store has"
            raise InvalidRequestError("repositories", problem) from None


def revoke(connection: Connection[TupleRow], reader: str, repositories: Iterable[int] | None = None) -> None:
    """Revoke a reader's access to these repositories; None revokes all access and the reader's tokens.

    Raise `InvalidRequestError` if repositories are given and the reader may see all repositories.
    """
    role = role_name(reader)
    with connection.transaction():
        if repositories is None:
            connection.execute("DELETE FROM cairn.tokens WHERE role = %s", (role,))
            connection.execute("DELETE FROM cairn.everything WHERE role = %s", (role,))
            connection.execute("DELETE FROM cairn.grants WHERE role = %s", (role,))
            return
        if connection.execute("SELECT 1 FROM cairn.everything WHERE role = %s", (role,)).fetchone():
            raise InvalidRequestError(
                "repositories", f"{reader} sees all repositories; revoke everything, then grant those to keep"
            )
        connection.execute(
            "DELETE FROM cairn.grants WHERE role = %s AND repository = ANY(%s::int[])",
            (role, list(repositories)),
        )


def readers(connection: Connection[TupleRow]) -> list[Reader]:
    """Return all readers that have a grant or a token, by name."""
    rows = connection.execute(
        """
        SELECT role,
            EXISTS (SELECT FROM cairn.everything AS every WHERE every.role = known.role),
            ARRAY(
                SELECT repository.name FROM cairn.grants AS granted
                JOIN cairn.repositories AS repository ON repository.id = granted.repository
                WHERE granted.role = known.role ORDER BY repository.name
            ),
            (SELECT count(*) FROM cairn.tokens AS token WHERE token.role = known.role)
        FROM (
            SELECT role FROM cairn.grants UNION SELECT role FROM cairn.everything
            UNION SELECT role FROM cairn.tokens
        ) AS known
        ORDER BY role COLLATE "C"
        """
    ).fetchall()
    return [Reader(reader_name(role), every, tuple(names), tokens) for role, every, names, tokens in rows]


def issue_token(
    connection: Connection[TupleRow], reader: str, note: str = "", expires_at: datetime | None = None
) -> str:
    """Create a token for a reader and return it. It cannot be shown again: the store keeps only its hash."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    with connection.transaction():
        role = make_reader(connection, reader)
        connection.execute(
            "INSERT INTO cairn.tokens(hash, role, note, expires_at) VALUES (%s, %s, %s, %s)",
            (_hash(token), role, note, expires_at),
        )
    return token


def role_of(connection: Connection[TupleRow], token: str) -> str | None:
    """Return the reader of a token, or None for a token that is unknown, revoked or expired.

    `connection` must use the server's own login. A replica may not have received the latest revocations: call
    this on the primary if they must take effect at once. Only the hash of the token is sent.
    """
    found = connection.execute("SELECT cairn.role_of_token(%s)", (_hash(token),)).fetchone()
    return None if found is None or found[0] is None else reader_name(found[0])


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
