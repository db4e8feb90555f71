"""Transactions in the team store: reads on any server, with the rights of a reader."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
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
    """Reads that each have their own transaction, which `begin` begins."""

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self._begin = begin

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        return retried(self._read, ask)

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


def retried(
    read: Callable[[Callable[[Connection[TupleRow]], T]], T], ask: Callable[[Connection[TupleRow]], T]
) -> T:
    try:
        return read(ask)
    except StoreUnavailableError as problem:
        if not problem.lost:
            raise
    return read(ask)


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

    Reads go to the replicas in turn, or to any other server that answers if these do not.
    """

    def __init__(self, urls: Sequence[str], *, connections: int = CONNECTIONS) -> None:
        if not urls:
            raise StoreUnavailableError("The team store has no URL. Give that of a PostgreSQL server.")
        self._servers = tuple(Server(url, connections) for url in urls)
        self._turns = itertools.count()

    def read(self, reader: str | None, ask: Callable[[Connection[TupleRow]], T]) -> T:
        """Return the result of `ask` in a transaction of its own. Retry once if the connection breaks."""
        return self.single_reads(reader).read(ask)

    def single_reads(self, reader: str | None) -> SingleReads:
        return SingleReads(partial(self.begin, reader))

    def states(self) -> list[ServerState]:
        return [server.state() for server in self._servers]

    def close(self) -> None:
        for server in self._servers:
            server.close()

    def begin(self, reader: str | None) -> Begun:
        """Begin a read-only transaction that sees only the rows that `reader` may see.

        None means the login itself, which can only look up tokens. Raise `InvalidRequestError` for an unknown
        reader, and `StoreUnavailableError` if no server answers.
        """
        settings = (str(TIMEOUT_MS), "none" if reader is None else role_name(reader))
        problems: list[StoreUnavailableError] = []
        for server in self._in_order():
            for _ in range(_TRIES):
                try:
                    connection = server.take()
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
