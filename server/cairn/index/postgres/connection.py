"""Transactions in the team store: questions as a reader on any of its servers, writes on the primary."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres.failures import explain, explained
from cairn.index.postgres.roles import role_name
from cairn.index.postgres.schema import VERSION
from cairn.index.postgres.server import Server, ServerState
from cairn.index.postgres.session import Begun, Session, SingleReads

CONNECTIONS = 8
"""Connections to each server at most."""
TIMEOUT_MS = 10_000
"""How long one statement of a reader may take."""
_TRIES = 2

# One statement, so that a transaction begins with one round trip. The settings end with the transaction, so a pooler
# between Cairn and PostgreSQL may give each transaction another connection. The role comes last. Compiling is off: the
# planner overrates what the policies cost, and would compile questions of a few milliseconds. Plans are generic: planning
# the policies' subqueries for the values of each question took 0.4 ms of a statement's 0.6. Tables are not read as a whole:
# right after much was published, the planner takes them for small. The schema's version is
# looked at each time: a newer Cairn may bring the database up to date while this one serves.
_BEGIN_READING = """
SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('role', %s, true),
    (SELECT value FROM cairn.meta WHERE key = 'schema')
"""

T = TypeVar("T")


class Store:
    """Connections to the servers of one team store, given by URL: replicas in any number and at most one primary.

    Questions go to replicas first, in turn, and to whichever server answers when some are gone. Writes go to the
    primary. Which server is the primary is seen when connecting, so it may change.
    """

    def __init__(self, urls: Sequence[str], *, connections: int = CONNECTIONS) -> None:
        if not urls:
            raise StoreUnavailableError("The team store has no URL. Give that of a PostgreSQL server.")
        self._servers = tuple(Server(url, connections) for url in urls)
        self._turns = itertools.count()

    @contextmanager
    def reading(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Iterator[Connection[TupleRow]]:
        """A read-only transaction in which only what `reader` may see exists.

        `None` stands for the login itself, which sees no rows but can look up tokens. Raises `InvalidRequestError`
        for an unknown reader, `StoreUnavailableError`, and `OutOfTimeError` for a statement that takes too long.
        """
        server, connection = self._begin(reader, timeout_ms)
        try:
            with explained(server.where):
                yield connection
        finally:
            server.give_back(connection)

    @contextmanager
    def session(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Iterator[Session]:
        """One question of `reader`: all that it reads, from any thread, is read in one transaction as of `reading`.

        Nothing is connected before the first read. The transaction ends with the context.
        """
        session = Session(self.beginning(reader, timeout_ms))
        try:
            yield session
        finally:
            session.end()

    def single_reads(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> SingleReads:
        """Reads of `reader` for whoever does not know where a question ends: each has a transaction as of `reading`."""
        return SingleReads(self.beginning(reader, timeout_ms))

    def beginning(self, reader: str | None, timeout_ms: int = TIMEOUT_MS) -> Callable[[], Begun]:
        """Begins a transaction as of `reading` each time it is called."""
        return partial(self._begin, reader, timeout_ms)

    def read(
        self, reader: str | None, ask: Callable[[Connection[TupleRow]], T], timeout_ms: int = TIMEOUT_MS
    ) -> T:
        """What `ask` returns in a transaction of `reading`. When the connection breaks, `ask` is called once again."""
        return self.single_reads(reader, timeout_ms).read(ask)

    @contextmanager
    def writing(self) -> Iterator[Connection[TupleRow]]:
        """A transaction on the primary with the rights of the login, committed at the end."""
        server, connection = self._primary()
        try:
            with explained(server.where):
                yield connection
                connection.commit()
        finally:
            server.give_back(connection)

    def states(self) -> list[ServerState]:
        """Ask the servers, one after the other, whether they answer now."""
        return [server.state() for server in self._servers]

    def close(self) -> None:
        """Close all connections. The store cannot be used afterwards."""
        for server in self._servers:
            server.close()

    def _begin(self, reader: str | None, timeout_ms: int) -> tuple[Server, Connection[TupleRow]]:
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
                    server.look_again()  # Which says what is wrong.
                    continue
                except psycopg.Error as error:
                    broken = connection.closed
                    server.give_back(connection)
                    if isinstance(error, errors.InvalidParameterValue):
                        raise InvalidRequestError(
                            "reader", f"{reader} is not a reader of the team store"
                        ) from None
                    known = explain(error, server.where)
                    if not broken or not isinstance(known, StoreUnavailableError):
                        raise (known or error) from None
                    problems.append(known)
            server.mark_down()
        raise _of_all(problems)

    def _primary(self) -> tuple[Server, Connection[TupleRow]]:
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
            problems.append(
                StoreUnavailableError(
                    f"{server.where} is a read-only replica. Give the URL of the primary for writing."
                )
            )
        raise _of_all(problems)

    def _in_order(self) -> list[Server]:
        """Servers that answered before those that did not, replicas before the primary, equal ones in turn."""
        first = next(self._turns) % len(self._servers)
        turned = self._servers[first:] + self._servers[:first]
        return sorted(turned, key=lambda server: (server.down, server.primary is True))


def _of_all(problems: Sequence[StoreUnavailableError]) -> StoreUnavailableError:
    """One error for the problems of all servers, each said once."""
    messages = list(dict.fromkeys(map(str, problems)))
    lost = any(problem.lost for problem in problems)
    if len(messages) == 1:
        return StoreUnavailableError(messages[0], lost=lost)
    return StoreUnavailableError(
        "No server of the team store can be used.\n" + "\n".join(messages), lost=lost
    )
