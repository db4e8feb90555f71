"""Access to a team's database, for the commands and servers on this machine."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import psycopg
from attrs import field, frozen
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres import access, roles
from cairn.index.postgres.access import Reader
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.postgres_server import VARIABLE, store_urls
from cairn.index.postgres.shards import ShardServer, add_shard
from cairn.index.postgres.team_schema import prepare
from cairn.index.postgres.transactions import Store
from cairn.paths import write_private
from cairn.settings.sources import user_file
from cairn.settings.team_token import FILE
from cairn.team.runs import owner_connection
from cairn.team.trial import DATABASE, LocalServer, trial_server

SERVER_LOGIN = "cairn_serve"
"""The login of the trial's servers, which see only rows that the reader of a request may see."""
_SERVER_FILE = "serve-url"
_READER = "me"
"""The reader for whom the trial has a token."""


@frozen
class StoredRepository:
    """A repository of the store, with facts of the snapshot that was indexed last."""

    name: str
    url: str
    refs: tuple[str, ...]
    files: int
    chunks: int
    commit: str
    indexed_at: str
    apart: bool
    """Whether it shares no rows with forks."""


@frozen
class StoreState:
    place: str
    """The host, port and database."""
    version: str
    repositories: int
    snapshots: int
    chunks: int
    bytes: int
    """The size on disk, with indexes."""
    shards: int
    shards_elsewhere: int
    """The number of shards on other servers."""
    replicas: tuple[str, ...] = field(kw_only=True)
    """The replicas of this server, each with its lag in bytes."""
    readers: int = field(kw_only=True)


@frozen
class OwnedStore:
    """A team's database with the rights of its owner, for indexing and grants."""

    url: str

    @classmethod
    def at(cls, given: Sequence[str]) -> OwnedStore:
        """Return the store at the first of `urls_of(given)`, or the trial's with the rights of its owner."""
        if not given and not os.environ.get(VARIABLE):
            server = trial_server()
            if server.running():
                return cls(server.url(DATABASE))
        (url, *_) = urls_of(given)
        return cls(url)

    def prepare(self, login: str = "") -> int:
        """Create or migrate the schema, and admit `login` for servers. Return the schema's version."""
        version = prepare(self.url)
        if login:
            with self._connected() as connection:
                roles.admit_server(connection, login)
        return version

    def make_login(self, login: str, password: str) -> None:
        """Create the role `login` if it is missing, and let it log in with the password."""
        with explained(place(self.url)), psycopg.connect(self.url, autocommit=True) as connection:
            role, quoted = sql.Identifier(login), sql.Literal(password)
            with suppress(errors.DuplicateObject):
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(role, quoted))

    def add_server(self, name: str, given: str) -> None:
        """Add another PostgreSQL server for repositories. `given` is its URL, or a file with the URL.

        Raise InvalidRequestError if the name is taken or not plain. Raise StoreUnavailableError.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            problem = f"{name!r} is not plain: give small letters, digits and underscores"
            raise InvalidRequestError("name", problem)
        (url, *_) = urls_of([given])
        with self._connected() as connection:
            if connection.execute("SELECT 1 FROM pg_foreign_server WHERE srvname = %s", (name,)).fetchone():
                raise InvalidRequestError("name", f"the store has a server {name} already; give another name")
            try:
                add_shard(connection, ShardServer(name, url))
            except errors.InsufficientPrivilege:
                raise StoreUnavailableError(
                    f"The owner of {place(self.url)} may not use other servers."
                    " Let an administrator run there, once:\nCREATE EXTENSION IF NOT EXISTS postgres_fdw;"
                    f" GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO {connection.info.user}"
                ) from None

    def repositories(self) -> list[StoredRepository]:
        with self._connected() as connection:
            rows = connection.execute(_SELECT_REPOSITORIES).fetchall()
        return [StoredRepository(name, url, tuple(refs), *rest) for name, url, refs, *rest in rows]

    def grant(self, reader: str, repositories: Sequence[str], *, everything: bool) -> None:
        """Let a reader see the named repositories, or all. Raise InvalidRequestError for an unknown name."""
        with self._connected() as connection:
            access.grant(connection, reader, "all" if everything else _ids(connection, repositories))

    def token(self, reader: str, note: str = "") -> str:
        """Create a token for a reader. It cannot be shown again."""
        with self._connected() as connection:
            return access.issue_token(connection, reader, note)

    def knows(self, token: str) -> bool:
        with self._connected() as connection:
            return access.role_of(connection, token) is not None

    def revoke(self, reader: str, repositories: Sequence[str]) -> None:
        """Revoke a reader's access to the named repositories; without names, all access and its tokens."""
        with self._connected() as connection:
            access.revoke(connection, reader, _ids(connection, repositories) if repositories else None)

    def readers(self) -> list[Reader]:
        with self._connected() as connection:
            return access.readers(connection)

    def state(self) -> StoreState:
        with self._connected() as connection:
            row = connection.execute(_SELECT_STATE).fetchone()
            assert row is not None
            lags = connection.execute(_SELECT_REPLICAS).fetchall()
            readers = len(access.readers(connection))
        replicas = tuple(f"{name} ({lag or 0} bytes behind)" for name, lag in lags)
        return StoreState(place(self.url), *row, replicas=replicas, readers=readers)

    def _connected(self) -> AbstractContextManager[Connection[TupleRow], bool | None]:
        return owner_connection(self.url, "cairn team")


def connect(given: Sequence[str]) -> Store:
    """Connect a server to the database at `urls_of(given)`. Raise StoreUnavailableError if that fails."""
    store = Store(urls_of(given))
    store.read(None, lambda db: db.execute("SELECT 1"))
    return store


def urls_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return the given URLs and the URLs in given files, by default those of the environment or the trial."""
    if not given:
        if os.environ.get(VARIABLE):
            return store_urls()
        server = trial_server()
        if not (server.exists and _server_file().exists()):
            raise StoreUnavailableError(
                f"No database is named: give --store, or set {VARIABLE};"
                " `cairn team up` makes one on this machine to try it out."
            )
        if not server.running():
            raise StoreUnavailableError(
                "The trial database of this machine does not run; `cairn team up` starts it."
            )
        return store_urls(_server_file())
    return tuple(url for each in given for url in ((each,) if "://" in each else store_urls(Path(each))))


def start_trial() -> tuple[LocalServer, OwnedStore]:
    """Start the trial's server, which outlives this process, with a database and a login for servers, which
    `urls_of` finds. Raise TeamError if the server does not start."""
    server = trial_server()
    server.start()
    with (
        psycopg.connect(server.url(), autocommit=True) as connection,
        suppress(errors.DuplicateDatabase),
    ):
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    url = server.url(DATABASE)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    store = OwnedStore(url)
    store.prepare()
    file = _server_file()
    password = _password_in(file) or secrets.token_urlsafe(24)
    store.make_login(SERVER_LOGIN, password)
    write_private(file, _with_login(url, SERVER_LOGIN, password) + "\n")
    store.prepare(SERVER_LOGIN)
    return server, store


def ensure_trial_token(store: OwnedStore, folder: Path) -> Path:
    """Return a file with a valid token for all repositories, and create it if it is missing.

    This is the user's token file, or a file in `folder` if the user's has the token of another store.
    """
    store.grant(_READER, (), everything=True)
    usual, own = user_file().with_name(FILE), folder / FILE
    for file in (usual, own):
        if not file.exists():
            write_private(file, store.token(_READER, "the trial on this machine") + "\n")
            return file
        if store.knows(_text_of(file)):
            return file
    own.unlink()
    write_private(own, store.token(_READER, "the trial on this machine") + "\n")
    return own


def logins_folder() -> Path:
    """Return the folder of the trial's URLs and tokens, next to the server's folder."""
    folder = trial_server().folder
    return folder.with_name(f"{folder.name}-logins")


def _server_file() -> Path:
    return logins_folder() / _SERVER_FILE


def _password_in(file: Path) -> str:
    try:
        return unquote(urlsplit(_text_of(file)).password or "")
    except ValueError:
        return ""


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # The path belongs to another user, or is a folder.
        return ""


def _with_login(url: str, user: str, password: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    host, port, database = parts.get("host"), parts.get("port"), parts.get("dbname")
    return f"postgresql://{user}:{quote(password)}@{host}:{port}/{database}"


def _ids(connection: Connection[TupleRow], names: Sequence[str]) -> list[int]:
    rows = connection.execute("SELECT name, id FROM cairn.repositories WHERE name = ANY(%s)", (list(names),))
    known: dict[str, int] = dict(rows.fetchall())
    for name in names:
        if name not in known:
            problem = f"{name!r} is not in the store; `cairn team repositories` lists those that are"
            raise InvalidRequestError("repository", problem)
    return [known[name] for name in names]


_SELECT_REPOSITORIES = """
    SELECT r.name, r.url, array_agg(f.ref ORDER BY f.ref), l.files, l.chunks, l.commit, l.indexed_at, p.apart
    FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool
    LEFT JOIN cairn.refs f ON f.repository = r.id
    LEFT JOIN LATERAL (
        SELECT octet_length(s.files) / 4 AS files, coalesce((s.facts->>'chunks')::int, 0) AS chunks, s.commit,
            to_char(s.indexed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS indexed_at
        FROM cairn.snapshots s WHERE s.repository = r.id ORDER BY s.indexed_at DESC LIMIT 1) l ON true
    WHERE l.commit IS NOT NULL
    GROUP BY r.id, p.id, l.files, l.chunks, l.commit, l.indexed_at ORDER BY r.name"""
_SELECT_STATE = """
    SELECT current_setting('server_version'), (SELECT count(*) FROM cairn.repositories),
        (SELECT count(*) FROM cairn.snapshots),
        (SELECT coalesce(sum(chunks), 0)::bigint FROM cairn.shards), pg_database_size(current_database()),
        (SELECT count(*) FROM cairn.shards), (SELECT count(*) FROM cairn.shards WHERE server IS NOT NULL)"""
_SELECT_REPLICAS = """
    SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a replica'),
        pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint
    FROM pg_stat_replication ORDER BY 1"""
