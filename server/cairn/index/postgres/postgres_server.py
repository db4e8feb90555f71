"""One PostgreSQL server of the team store: its URL, its connection pool and its state."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs
import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.team_schema import check_version

VARIABLE = "CAIRN_STORE_URL"
"""The name of the environment variable with the URLs of the store's servers, separated by white space."""


def store_urls(file: Path | None = None) -> tuple[str, ...]:
    """Return the URLs of the store's servers: the lines of `file` if given, otherwise from the environment.

    The URLs contain passwords, so only the owner of the file may be able to read it (mode 0600). Lines that
    begin with # are comments. Raise `StoreUnavailableError` if there are no URLs.
    """
    if file is None:
        urls = os.environ.get(VARIABLE, "").split()
    else:
        lines = map(str.strip, _secret(file).splitlines())
        urls = [line for line in lines if line and not line.startswith("#")]
    if not urls:
        raise StoreUnavailableError(
            f"The URL of the team store is missing. Set {VARIABLE}, or write it to a file."
        )
    return tuple(urls)


def _secret(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise StoreUnavailableError(
                    f"Others can read {file}, which contains the store's password. Run: chmod 600 {file}"
                )
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StoreUnavailableError(
            f"The file of the store's URL, {file}, cannot be read: {reason}."
        ) from None


# With these timeouts together, a request tries the next server within 5 s.
CONNECT_SECONDS = 2
"""The timeout of a connection attempt, the shortest that the client library allows."""
_BUSY_SECONDS = 2.0
"""The timeout of waiting for a free connection of the pool."""
_DOWN_SECONDS = 5.0
"""How long a server is tried last after it did not answer."""
_SILENT_SECONDS = 1.5
"""How long a statement waits before it tests whether the server still accepts connections. A stopped, full or
overloaded machine keeps its connections open and never answers."""
_SHARED_SECONDS = 3.0
"""How long other threads reuse the failure of a connection attempt that timed out."""
_IDLE_SECONDS = 300.0
NETWORK_OPTIONS: Mapping[str, int] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": 2500,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
"""Options by which a connection to an unreachable machine fails within 4 s (`tcp_user_timeout` is in ms)."""
_DEFAULTS: Mapping[str, str | int] = {"application_name": "cairn", **NETWORK_OPTIONS}

R = TypeVar("R")

# A replica that has replayed everything it received has no lag, however old the last change is.
_SELECT_LAG = """
    SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL
        WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
        ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8"""


@attrs.frozen
class ServerState:
    """A database server with the index or a part of it, as the page shows it."""

    name: str
    """The host, port and database."""
    answers: bool
    role: str
    """`primary`, `replica`, `part` for a server with some of the repositories, or "" if unknown."""
    behind_seconds: float | None = None
    """The lag of a replica; None for the primary, and if it is unknown."""
    problem: str = ""
    """Why the server does not answer, and what to do."""


class _Watched(Connection[TupleRow]):
    """A connection whose statements fail when the server stops answering."""

    is_silent: Callable[[], bool] = staticmethod(lambda: False)
    """Returns whether the server accepts no connections. A slow statement calls this."""

    def wait(self, gen: Generator[Any, Any, R], *given: Any, **more: Any) -> R:
        """Wait as usual, but close the connection and raise OperationalError if the server is silent."""
        return super().wait(self._watching(gen), *given, **more)

    def _watching(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        try:
            state = next(gen)
            while True:
                next_test = time.monotonic() + _SILENT_SECONDS
                # psycopg sends an empty value ten times per second while nothing is ready.
                while not (ready := (yield state)):
                    if time.monotonic() >= next_test:
                        if self.is_silent():
                            self.pgconn.finish()
                            raise psycopg.OperationalError("timed out")
                        next_test = time.monotonic() + _SILENT_SECONDS
                state = gen.send(ready)
        except StopIteration as end:
            found: R = end.value
            return found


@attrs.define(eq=False)
class Server:
    """A pool of connections to one server, opened at the first use. Any thread may use it."""

    url: str = attrs.field(repr=False)
    connections: int
    """The maximum number of connections to the server."""
    where: str = attrs.field(init=False)
    """The host, port and database, for messages."""
    primary: bool | None = attrs.field(init=False, default=None)
    """Whether the server accepts writes; None before the first connection."""
    _pool: ConnectionPool[Connection[TupleRow]] = attrs.field(init=False, repr=False)
    _ready: bool = attrs.field(init=False, default=False)
    _retry_at: float = attrs.field(init=False, default=0.0)
    _failure: tuple[float, StoreUnavailableError] | None = attrs.field(init=False, default=None)
    """The time and the error of the last failed connection attempt."""
    _silent: bool = attrs.field(init=False, default=False)
    """Whether that attempt timed out."""
    _lock: threading.Lock = attrs.field(init=False, repr=False, factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self.where = place(self.url)
        given = conninfo_to_dict(self.url)
        missing = {name: value for name, value in _DEFAULTS.items() if name not in given}
        self.url = make_conninfo(self.url, **missing)
        self._pool = ConnectionPool(
            self.url,
            connection_class=_Watched,
            configure=self._watch,
            # With a higher minimum, a thread of the pool would retry forever if the server is gone.
            min_size=0,
            max_size=self.connections,
            max_idle=_IDLE_SECONDS,
            reconnect_timeout=CONNECT_SECONDS,
            timeout=_BUSY_SECONDS,
            open=False,
        )

    @property
    def down(self) -> bool:
        """Whether the server failed to answer within the last `_DOWN_SECONDS`."""
        return time.monotonic() < self._retry_at

    def take(self) -> Connection[TupleRow]:
        """Take a connection for reading, without a transaction. Raise `StoreUnavailableError`."""
        self._make_ready()
        try:
            connection = self._pool.getconn()
        except PoolTimeout:
            self._ready = False
            self._make_ready()  # This raises if the server fails. Otherwise all connections are in use.
            raise StoreUnavailableError(
                f"All {self.connections} connections to {self.where} are in use."
                " Try again, or allow more of them."
            ) from None
        except PoolClosed:
            raise StoreUnavailableError("The connections to the team store were closed.") from None
        self.primary = _is_primary(connection)
        connection.read_only = True
        # Reads need one snapshot of the database: if a revocation or a publication removed rows between two
        # statements, these rows would be missing from shared caches.
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        return connection

    def give_back(self, connection: Connection[TupleRow]) -> None:
        """Return a connection to the pool, and roll back an open transaction."""
        if not connection.closed:
            try:
                connection.rollback()
            except psycopg.Error:
                connection.close()
        broken = connection.closed
        self._pool.putconn(connection)
        if broken and not self._pool.closed:
            # The other connections are probably broken too. The next request tests the server.
            self._ready = False
            self._pool.drain()

    def recheck_schema(self) -> None:
        """Make the next request check the version of the schema."""
        self._ready = False

    def state(self) -> ServerState:
        """Connect to the server and return its state. This takes some seconds if it does not answer."""
        try:
            connection = self.take()
            try:
                with explained(self.where):
                    row = connection.execute(_SELECT_LAG).fetchone()
            finally:
                self.give_back(connection)
        except StoreUnavailableError as problem:
            return ServerState(self.where, False, self._role, problem=str(problem))
        return ServerState(self.where, True, self._role, row[0] if row else None)

    @property
    def _role(self) -> str:
        return "" if self.primary is None else "primary" if self.primary else "replica"

    def mark_down(self) -> None:
        """Try this server last for a while."""
        self._ready = False
        self._retry_at = time.monotonic() + _DOWN_SECONDS

    def close(self) -> None:
        self._pool.close()

    def _watch(self, connection: Connection[TupleRow]) -> None:
        assert isinstance(connection, _Watched)
        connection.is_silent = self._is_silent

    def _is_silent(self) -> bool:
        """Return whether the server accepts no connections. Other threads share the result."""
        self._ready = False
        try:
            self._make_ready()
        except StoreUnavailableError:
            if self._silent:
                self.mark_down()
            return self._silent
        return False

    def _make_ready(self) -> None:
        """Connect once without the pool, whose errors are vague, and check the schema's version.

        If another thread is connecting, wait for it and share its failure.
        """
        began = time.monotonic()
        with self._lock:
            if self._ready:
                return
            shared = _SHARED_SECONDS if self._silent else 0.0
            if self._failure is not None and self._failure[0] >= began - shared:
                raise StoreUnavailableError(str(self._failure[1]), lost=self._failure[1].lost)
            try:
                with explained(self.where), self._connected() as connection:
                    self.primary = _is_primary(connection)
                    check_version(connection)
            except StoreUnavailableError as problem:
                self._failure = (time.monotonic(), problem)
                raise
            if self._pool.closed:
                self._pool.open()
            self._ready, self._retry_at = True, 0.0

    def _connected(self) -> Connection[TupleRow]:
        self._silent = False
        try:
            return psycopg.connect(self.url)
        except psycopg.errors.ConnectionTimeout:
            self._silent = True
            raise


def _is_primary(connection: Connection[TupleRow]) -> bool:
    """Return whether the server accepts writes, by the status that it sent when the connection was made."""
    return connection.info.parameter_status("in_hot_standby") != "on"
