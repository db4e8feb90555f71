"""Transactions in the team store: reads on any server, with a reader's rights, and writes on the primary."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres.failures import explain, explained
from cairn.index.postgres.postgres_server import Server, ServerState
from cairn.index.postgres.roles import role_name
from cairn.index.postgres.team_schema import VERSION

T = TypeVar("T")
Begun = tuple[Server, Connection[TupleRow]]
"""A server, and a connection to it in a transaction of the reader."""


class Reads(ABC):
    """Reads with the rights of one reader. Any thread may use this."""

    @abstractmethod
    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        """Return the result of `ask`. Retry once, probably on another server, if the connection breaks."""

    @property
    @abstractmethod
    def detached(self) -> SingleReads:
        """Reads with the rights of the same reader, which may outlive the request."""


class SingleReads(Reads):
    def __init__(self, begin: Callable[[], Begun]) -> None:
        self._begin = begin

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        return _retried(self._read, ask)

    @property
    def detached(self) -> SingleReads:
        return self

    def _read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        server, connection = self._begin()
        try:
            with explained(server.where):
                return ask(connection)
        finally:
            server.give_back(connection)


def _retried(
    read: Callable[[Callable[[Connection[TupleRow]], T]], T], ask: Callable[[Connection[TupleRow]], T]
) -> T:
    try:
        return read(ask)
    except StoreUnavailableError as problem:
        if not problem.lost:
            raise
    return read(ask)


class Session(Reads):
    """The reads of one request, in a single transaction that its threads use in turn.

    The first read begins the transaction, and `end` ends it. A failed read also ends it, since PostgreSQL
    would refuse all further statements; the next read begins another transaction. A thread that the request
    no longer waits for may still read after `end`: each such read has its own transaction.
    """

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self._begin = begin
        self._detached = SingleReads(begin)
        self._begun: Begun | None = None
        self._ended = False
        self._lock = threading.Lock()

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        if self._ended:
            return self._detached.read(ask)
        try:
            with self._lock:
                return _retried(self._read, ask)
        finally:
            if self._ended:
                self._give_back()

    @property
    def detached(self) -> SingleReads:
        return self._detached

    def end(self) -> None:
        """End the transaction. If a thread is reading now, that thread ends it after the read."""
        self._ended = True
        self._give_back()

    def _read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        self._begun = server, connection = self._begun or self._begin()
        try:
            with explained(server.where):
                return ask(connection)
        except BaseException:
            self._begun = None
            server.give_back(connection)
            raise

    def _give_back(self) -> None:
        # If another thread has the lock, it calls this method after releasing the lock.
        if self._lock.acquire(blocking=False):
            try:
                begun, self._begun = self._begun, None
                if begun is not None:
                    server, connection = begun
                    server.give_back(connection)
            finally:
                self._lock.release()


CONNECTIONS = 8
"""The maximum number of connections to each server."""
TIMEOUT_MS = 10_000
"""The timeout of one statement of a reader."""
_TRIES = 2

# A single statement, in one round trip, begins a transaction. Its settings end with the transaction, so a
# connection pooler may be used between Cairn and PostgreSQL. The role is set last, so that the other settings
# are made with the rights of the login.
# - jit: the planner overestimates the cost of the policies and would compile queries of a few milliseconds.
# - plan_cache_mode: planning the subqueries of the policies took 0.4 ms of each statement's 0.6 ms.
# - enable_seqscan: after a large publication, the planner assumes that the tables are small and would scan
#   them.
# - The schema's version is checked, because a newer Cairn may migrate the database meanwhile.
_BEGIN_READING = """
SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('role', %s, true),
    (SELECT value FROM cairn.meta WHERE key = 'schema')
"""


class Store:
    """Connections to the servers of a team store: any number of replicas and at most one primary.

    Reads go to the replicas in turn, or to any other server that answers if these do not. Writes go to the
    primary. Each new connection shows whether its server is the primary, so another server may become the
    primary.
    """

    def __init__(self, urls: Sequence[str], *, connections: int = CONNECTIONS) -> None:
        if not urls:
            raise StoreUnavailableError("The team store has no URL. Give that of a PostgreSQL server.")
        self._servers = tuple(Server(url, connections) for url in urls)
        self._turns = itertools.count()

    @contextmanager
    def reading(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Iterator[Connection[TupleRow]]:
        """Begin a read-only transaction that sees only the rows that `reader` may see.

        None means the login itself, which can only look up tokens. Raise `InvalidRequestError` for an unknown
        reader, `StoreUnavailableError` if no server answers, and `OutOfTimeError` if a statement takes too
        long.
        """
        server, connection = self._begin(reader, timeout_ms)
        try:
            with explained(server.where):
                yield connection
        finally:
            server.give_back(connection)

    @contextmanager
    def session(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Iterator[Session]:
        """Begin a request of `reader`, whose reads in any thread share a transaction like that of `reading`.

        The transaction begins at the first read and ends with the context.
        """
        session = Session(self.beginning(reader, timeout_ms))
        try:
            yield session
        finally:
            session.end()

    def single_reads(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> SingleReads:
        """Return reads of `reader` that each have their own transaction, like that of `reading`."""
        return SingleReads(self.beginning(reader, timeout_ms))

    def beginning(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Callable[[], Begun]:
        """Return a function that begins a transaction like that of `reading`."""
        return partial(self._begin, reader, timeout_ms)

    def read(
        self, reader: str | None, ask: Callable[[Connection[TupleRow]], T], timeout_ms: int = TIMEOUT_MS
    ) -> T:
        """Return the result of `ask` in a transaction of `reading`. Retry once if the connection breaks."""
        return self.single_reads(reader, timeout_ms).read(ask)

    @contextmanager
    def writing(self) -> Iterator[Connection[TupleRow]]:
        """Begin a transaction on the primary with the rights of the login; commit it at the context's end."""
        server, connection = self._primary()
        try:
            with explained(server.where):
                yield connection
                connection.commit()
        finally:
            server.give_back(connection)

    def states(self) -> list[ServerState]:
        return [server.state() for server in self._servers]

    def close(self) -> None:
        for server in self._servers:
            server.close()

    def _begin(self, reader: str | None, timeout_ms: int) -> Begun:
        settings = (str(timeout_ms), "none" if reader is None else role_name(reader))
        problems: list[StoreUnavailableError] = []
        for server in self._in_order():
            for _ in range(_TRIES):
                try:
                    connection = server.take(read_only=True)
                except StoreUnavailableError as problem:
                    problems.append(problem)
                    break
                try:
                    row = connection.execute(_BEGIN_READING, settings).fetchone()
                    if row is not None and row[-1] == str(VERSION):
                        return server, connection
                    server.give_back(connection)
                    server.recheck_schema()  # In the next attempt, `take` checks the schema and raises.
                    continue
                except psycopg.Error as error:
                    broken = connection.closed
                    server.give_back(connection)
                    if isinstance(error, errors.InvalidParameterValue):
                        unknown = f"{reader} is not a reader of the team store"
                        raise InvalidRequestError("reader", unknown) from None
                    known = explain(error, server.where)
                    if not broken or not isinstance(known, StoreUnavailableError):
                        raise (known or error) from None
                    problems.append(known)
            server.mark_down()
        raise _combined(problems)

    def _primary(self) -> Begun:
        problems: list[StoreUnavailableError] = []
        for server in sorted(self._servers, key=lambda server: (server.down, server.primary is False)):
            try:
                connection = server.take(read_only=False)
            except StoreUnavailableError as problem:
                problems.append(problem)
                server.mark_down()
                continue
            if server.primary:
                return server, connection
            server.give_back(connection)
            replica = f"{server.where} is a read-only replica. Give the URL of the primary for writing."
            problems.append(StoreUnavailableError(replica))
        raise _combined(problems)

    def _in_order(self) -> list[Server]:
        """Return the servers: replicas before the primary, in turn, and servers that are down last."""
        first = next(self._turns) % len(self._servers)
        turned = self._servers[first:] + self._servers[:first]
        return sorted(turned, key=lambda server: (server.down, server.primary is True))


def _combined(problems: Sequence[StoreUnavailableError]) -> StoreUnavailableError:
    """Combine the problems of all servers into one error, without repetition."""
    messages = list(dict.fromkeys(map(str, problems)))
    if len(messages) > 1:
        messages.insert(0, "No server of the team store can be used.")
    return StoreUnavailableError("\n".join(messages), lost=any(problem.lost for problem in problems))
