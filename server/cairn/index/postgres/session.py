"""Reads as one reader: each in a transaction of its own, or all of one request in the same."""

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
"""A connection in a transaction of the reader, and its server."""


class Reads(ABC):
    """Reads as one reader. Any thread may use it."""

    @abstractmethod
    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        """Return what `ask` returns. Retry once when the connection breaks, most likely on another server."""

    @property
    @abstractmethod
    def detached(self) -> SingleReads:
        """Reads as the same reader that may outlive the request."""


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
    """The reads of one request: its threads read one after the other, in one transaction.

    The first read begins the transaction, and `end` ends it. A failed read ends it too, since PostgreSQL
    refuses all further statements in it; the next read begins another. A thread that the request no longer
    waits for may still read after the end, in a transaction of its own.
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
        """End the transaction, or let a thread that is reading now end it afterwards."""
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
        # A thread that has the lock calls this after releasing it, and then sees that the session has ended.
        if self._lock.acquire(blocking=False):
            try:
                begun, self._begun = self._begun, None
                if begun is not None:
                    server, connection = begun
                    server.give_back(connection)
            finally:
                self._lock.release()
