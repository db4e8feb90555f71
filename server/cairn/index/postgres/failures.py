"""Turn errors of PostgreSQL into Cairn's errors, which say what to do and never contain a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from cairn.errors import OutOfTimeError, StoreUnavailableError

_SILENT = "does not answer. Check the network and firewalls between this machine and the server."
_UNKNOWN_HOST = "has a host name that is not known. Correct the host in the store's URL."
_FULL = "has no free connection. Raise max_connections there, or lower the pool's size."

# For a failed connection, PostgreSQL's client library gives no error code, only a text.
_REFUSALS = (
    ("password authentication failed", "refuses the password. Correct the password in the store's URL."),
    ("no password supplied", "asks for a password. Add it to the store's URL."),
    ("no pg_hba.conf entry", "does not admit this machine. Let an administrator add it to pg_hba.conf."),
    (
        "connection refused",
        "refuses connections. Start PostgreSQL there, or correct the port in the store's URL.",
    ),
    ("could not translate host name", _UNKNOWN_HOST),
    ("failed to resolve host", _UNKNOWN_HOST),
    ("timeout expired", _SILENT),
    ("timed out", _SILENT),
    ("no route to host", "cannot be reached. Check the network between this machine and the server."),
    (
        "no such file or directory",
        "has no server at that socket. Start PostgreSQL, or correct the store's URL.",
    ),
    ("too many clients", _FULL),
    ("too many connections", "has no free connection. Raise the limit there, or lower the pool's size."),
    ("remaining connection slots", _FULL),
    ("starting up", "is starting. Try again in a moment."),
    ("shutting down", "is shutting down. Start it again, or add another server to the store's URLs."),
    ("certificate", "has a certificate that is not trusted. Correct sslrootcert in the store's URL."),
    ("does not support ssl", "has no TLS. Enable it there, or change sslmode in the store's URL."),
)


def place(url: str) -> str:
    """Return the host, port and database of a URL for messages, without user and password.

    Raise `StoreUnavailableError` for an invalid URL, and for a password with unescaped special characters:
    with `user:pass/word@host`, the message would show a part of the password as the database.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parts = {"port": "unknown"}  # PostgreSQL's own message would quote the URL.
    host = str(parts.get("host") or parts.get("hostaddr") or "localhost")
    port = str(parts.get("port") or 5432)
    database = str(parts.get("dbname") or parts.get("user") or "")
    if not re.fullmatch(r"[0-9,]+", port) or "@" in host + database:
        raise StoreUnavailableError(
            "The store's URL is not valid. Write postgresql://user:password@host:port/database,"
            " with %-escapes for special characters of the password."
        )
    return f"{host}:{port}/{database}"


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn failures of the server or connection into errors with a remedy. Errors in SQL pass unchanged."""
    try:
        yield
    except psycopg.Error as error:
        problem = explain(error, where)
        if problem is None:
            raise
        raise problem from None


def explain(error: psycopg.Error, where: str) -> StoreUnavailableError | OutOfTimeError | None:
    """Return the error to show for an error of psycopg, or None for a programming error."""
    match error:
        case errors.ReadOnlySqlTransaction():
            return StoreUnavailableError(
                f"{where} is a read-only replica, or the transaction only reads."
                " Give the URL of the primary for writing."
            )
        case errors.InsufficientPrivilege():
            return StoreUnavailableError(
                f"The login may not do this on {where}."
                " Use the URL of the store's owner, or let the owner admit the login."
            )
        case errors.QueryCanceled():
            return OutOfTimeError("The team store did not answer in the time it was given.")
        case errors.DiskFull():
            return StoreUnavailableError(f"The disk of {where} is full. Make room there.")
        case errors.InvalidCatalogName():
            return _no_database(where)
        case errors.SerializationFailure():
            return StoreUnavailableError(
                f"{where} cancelled the question for its replication. Try again.", lost=True
            )
        case psycopg.OperationalError():
            return _connection_problem(error, where)
        case _:
            return None


def _connection_problem(error: psycopg.OperationalError, where: str) -> StoreUnavailableError:
    text = str(error).lower()
    if isinstance(error, errors.SqlclientUnableToEstablishSqlconnection):
        named = re.search(r'could not connect to server "([^"]*)"', str(error))
        name = named[1] if named else "which has a part of the store"
        return StoreUnavailableError(
            f"The repository is on another server, {name}, that cannot be reached from {where}."
            " Start PostgreSQL there. Meanwhile, search other repositories by name."
        )
    if "database" in text and "does not exist" in text:
        return _no_database(where)
    for part, problem in _REFUSALS:
        if part in text:
            return StoreUnavailableError(f"{where} {problem}", lost=True)
    kind = error.sqlstate or type(error).__name__
    return StoreUnavailableError(
        f"The connection to {where} failed ({kind}). Check that PostgreSQL runs there and read its log.",
        lost=True,
    )


def _no_database(where: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"{where} is not a database of that server. Create it, or correct the name in the store's URL.",
        lost=True,
    )
