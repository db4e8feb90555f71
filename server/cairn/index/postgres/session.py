"""Reads with the rights of a reader, with a transaction per read or one for a whole request."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.failures import explained
from cairn.index.postgres.server import Server

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
