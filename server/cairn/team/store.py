"""A team's database, as the commands and servers of this machine use it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import psycopg
from attrs import field, frozen
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres import access, roles
from cairn.index.postgres.access import Reader
from cairn.index.postgres.connection import Store
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.schema import check_version, prepare
from cairn.index.postgres.shards import ShardServer, add_shard
from cairn.index.postgres.urls import VARIABLE, store_urls
from cairn.team import trial

SERVER_LOGIN = "cairn_serve"
"""The login that the trial's servers use: it sees nothing but what the reader of a request may see."""
_SERVER_FILE = "serve-url"


@frozen
class StoredRepository:
    """A repository of the store."""

    name: str
    url: str
    refs: tuple[str, ...]
    files: int
    """Of the ref that was indexed last."""
    chunks: int
    commit: str
    indexed_at: str


@frozen
class StoreState:
    """What there is of a store."""

    place: str
    """Host, port and database."""
    version: str
    """Of PostgreSQL."""
    repositories: int
    snapshots: int
    chunks: int
    bytes: int
    """On disk, indexes included."""
    shards: int
    shards_elsewhere: int
    """Shards that lie on other servers."""
    replicas: tuple[str, ...] = field(kw_only=True)
    """Servers that follow this one, with how far they lag behind, in bytes."""
    readers: int = field(kw_only=True)


@frozen
class TeamStore:
    """Connections for questions to a team's database."""

    connections: Store

    @classmethod
    def at(cls, given: Sequence[str]) -> TeamStore:
        """The database at these URLs, or those in these files, or in the environment. Raises StoreUnavailableError for one that cannot be used."""
        store = cls(Store(urls_of(given)))
        store.connections.read(None, lambda db: db.execute("SELECT 1"))
        return store

    def reader_of(self, token: str) -> str | None:
        """The name of the reader whose token it is; None for one that is unknown, revoked or expired."""
        return self.connections.read(None, lambda db: access.role_of(db, token))


@frozen
class OwnedStore:
    """A team's database, with the rights of its owner: whoever indexes and grants."""

    url: str

    @classmethod
    def at(cls, given: Sequence[str]) -> OwnedStore:
        """The database at this URL, or that in this file, or in the environment, or else this machine's trial."""
        if not given and not os.environ.get(VARIABLE):
            state = trial.state(trial.trial_folder())
            if state.running and state.url:
                return cls(state.url)
        (url, *_) = urls_of(given)
        return cls(url)

    def prepare(self, login: str = "") -> int:
        """Bring the schema up to date, and let servers log in as `login`; the schema's version."""
        version = prepare(self.url)
        if login:
            with self._connected() as connection:
                roles.admit_server(connection, login)
        return version

    def make_login(self, login: str, password: str) -> None:
        """Make a role that can log in with the password, or give it that password."""
        with explained(place(self.url)), psycopg.connect(self.url, autocommit=True) as connection:
            role, quoted = sql.Identifier(login), sql.Literal(password)
            with suppress(errors.DuplicateObject):
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(role, quoted))

    def add_server(self, name: str, given: str) -> None:
        """Let repositories lie on another PostgreSQL, whose URL is given, or the file that has it.

        Raises InvalidRequestError for a name that is taken or not plain, and StoreUnavailableError.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            raise InvalidRequestError(
                "name", f"{name!r} is not plain: give small letters, digits and underscores"
            )
        (url, *_) = urls_of([given])
        with self._connected() as connection:
            if connection.execute("SELECT 1 FROM pg_foreign_server WHERE srvname = %s", (name,)).fetchone():
                raise InvalidRequestError("name", f"the store has a server {name} already; give another name")
            try:
                add_shard(connection, ShardServer(name, url))
            except errors.InsufficientPrivilege:
                raise StoreUnavailableError(
                    f"The owner of {place(self.url)} may not use other servers. Let an administrator run there, once:\n"
                    "CREATE EXTENSION IF NOT EXISTS postgres_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO "
                    f"{connection.info.user}"
                ) from None

    def repositories(self) -> list[StoredRepository]:
        """All repositories, by name."""
        with self._connected() as connection:
            rows = connection.execute(_SELECT_REPOSITORIES).fetchall()
        return [StoredRepository(name, url, tuple(refs), *rest) for name, url, refs, *rest in rows]

    def grant(self, reader: str, repositories: Sequence[str], *, everything: bool) -> None:
        """Let a reader see repositories by name, or all. Raises InvalidRequestError for one that there is not."""
        with self._connected() as connection:
            access.grant(connection, reader, "all" if everything else _ids(connection, repositories))

    def token(self, reader: str, note: str = "") -> str:
        """A new token for a reader. It cannot be shown again."""
        with self._connected() as connection:
            return access.issue_token(connection, reader, note)

    def knows(self, token: str) -> bool:
        """Whether a reader of this store has the token."""
        with self._connected() as connection:
            return access.role_of(connection, token) is not None

    def revoke(self, reader: str, repositories: Sequence[str]) -> None:
        """Take repositories from a reader; without any, everything and all tokens."""
        with self._connected() as connection:
            access.revoke(connection, reader, _ids(connection, repositories) if repositories else None)

    def readers(self) -> list[Reader]:
        """Who may see what."""
        with self._connected() as connection:
            return access.readers(connection)

    def state(self) -> StoreState:
        """How the store is."""
        with self._connected() as connection:
            row = connection.execute(_SELECT_STATE).fetchone()
            assert row is not None
            lags = connection.execute(_SELECT_REPLICAS).fetchall()
            readers = len(access.readers(connection))
        replicas = tuple(f"{name} ({lag or 0} bytes behind)" for name, lag in lags)
        return StoreState(place(self.url), *row, replicas=replicas, readers=readers)

    def _connected(self) -> _Owner:
        return _Owner(self.url)


class _Owner:
    """A connection for one command, whose problems are told in plain words."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._explained = explained(place(url))

    def __enter__(self) -> Connection[TupleRow]:
        self._explained.__enter__()
        try:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=10, application_name="cairn team"
            )
            check_version(self._connection)
        except BaseException as problem:
            self._explained.__exit__(type(problem), problem, problem.__traceback__)
            raise
        return self._connection

    def __exit__(self, *problem: object) -> None:
        self._connection.close()
        self._explained.__exit__(*problem)  # type: ignore[arg-type]


def urls_of(given: Sequence[str]) -> tuple[str, ...]:
    """The URLs that are given themselves or by the name of a file; those of the environment where none is, or else the trial's."""
    if not given:
        if os.environ.get(VARIABLE):
            return store_urls()
        state = trial.state(trial.trial_folder())
        if not (state.exists and _server_file().exists()):
            raise StoreUnavailableError(
                f"No database is named: give --store, or set {VARIABLE}; `cairn team up` makes one on this machine to try it out."
            )
        if not state.running:
            raise StoreUnavailableError(
                "The trial database of this machine does not run; `cairn team up` starts it."
            )
        return store_urls(_server_file())
    urls: list[str] = []
    for each in given:
        urls += [each] if "://" in each else store_urls(Path(each))
    return tuple(urls)


def start_trial() -> tuple[trial.TrialState, OwnedStore]:
    """Start a trial database on this machine, with a login for servers, whose URL `urls_of` finds from then on."""
    state = trial.up(trial.trial_folder())
    assert state.url is not None
    store = OwnedStore(state.url)
    store.prepare()
    file = _server_file()
    password = _password_in(file) or secrets.token_urlsafe(24)
    store.make_login(SERVER_LOGIN, password)
    file.parent.mkdir(parents=True, exist_ok=True)
    made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as opened:
        opened.write(_with_login(state.url, SERVER_LOGIN, password) + "\n")
    store.prepare(SERVER_LOGIN)
    return state, store


def logins_folder() -> Path:
    """The folder of what logs in to the trial: beside that of the server, in which PostgreSQL has nothing else."""
    folder = trial.trial_folder()
    return folder.with_name(f"{folder.name}-logins")


def _server_file() -> Path:
    return logins_folder() / _SERVER_FILE


def _password_in(file: Path) -> str:
    """The password of the URL in the file; "" where there is none."""
    try:
        return unquote(urlsplit(file.read_text(encoding="utf-8").strip()).password or "")
    except (OSError, ValueError):
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
            raise InvalidRequestError(
                "repository", f"{name!r} is not in the store; `cairn team repositories` lists those that are"
            )
    return [known[name] for name in names]


_SELECT_REPOSITORIES = """
    SELECT r.name, r.url, array_agg(f.ref ORDER BY f.ref), l.files, l.chunks, l.commit, l.indexed_at
    FROM cairn.repositories r LEFT JOIN cairn.refs f ON f.repository = r.id
    LEFT JOIN LATERAL (
        SELECT octet_length(s.files) / 4 AS files, coalesce((s.facts->>'chunks')::int, 0) AS chunks, s.commit,
            to_char(s.indexed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS indexed_at
        FROM cairn.snapshots s WHERE s.repository = r.id ORDER BY s.indexed_at DESC LIMIT 1) l ON true
    WHERE l.commit IS NOT NULL
    GROUP BY r.id, l.files, l.chunks, l.commit, l.indexed_at ORDER BY r.name"""
_SELECT_STATE = """
    SELECT current_setting('server_version'), (SELECT count(*) FROM cairn.repositories), (SELECT count(*) FROM cairn.snapshots),
        (SELECT coalesce(sum(chunks), 0)::bigint FROM cairn.shards), pg_database_size(current_database()),
        (SELECT count(*) FROM cairn.shards), (SELECT count(*) FROM cairn.shards WHERE server IS NOT NULL)"""
_SELECT_REPLICAS = """
    SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a replica'),
        pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint
    FROM pg_stat_replication ORDER BY 1"""
