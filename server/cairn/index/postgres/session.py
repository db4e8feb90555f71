"""Reads in the team store as one reader: each in a transaction of its own, or all of one question in the same."""

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
        """What `ask` returns. When the connection breaks, `ask` is called once again, most likely on another server."""

    @property
    @abstractmethod
    def apart(self) -> SingleReads:
        """Reads as the same reader that may outlive the question."""


class SingleReads(Reads):
    """Each read has a transaction of its own."""

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self._begin = begin

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        try:
            return self._read(ask)
        except StoreUnavailableError as problem:
            if not problem.lost:
                raise
        return self._read(ask)

    @property
    def apart(self) -> SingleReads:
        return self

    def _read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        server, connection = self._begin()
        try:
            with explained(server.where):
                return ask(connection)
        finally:
            server.give_back(connection)


class Session(Reads):
    """One question: its threads read one after the other, in one transaction.

    The first read begins the transaction, and `end` ends it. A read that fails ends it too, since PostgreSQL refuses all
    further statements in it; the next read begins another. A thread that the question no longer waits for may still read
    after the end, in a transaction of its own.
    """

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self._begin = begin
        self._apart = SingleReads(begin)
        self._begun: Begun | None = None
        self._ended = False
        self._lock = threading.Lock()

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        if self._ended:
            return self._apart.read(ask)
        try:
            with self._lock:
                try:
                    return self._read(ask)
                except StoreUnavailableError as problem:
                    if not problem.lost:
                        raise
                return self._read(ask)
        finally:
            if self._ended:
                self._give_back()

    @property
    def apart(self) -> SingleReads:
        return self._apart

    def end(self) -> None:
        """End the transaction. Where another thread reads just now, that one ends it afterwards."""
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
        # Whoever has the lock comes here after releasing it, and then sees that the session has ended.
        if self._lock.acquire(blocking=False):
            try:
                begun, self._begun = self._begun, None
                if begun is not None:
                    server, connection = begun
                    server.give_back(connection)
            finally:
                self._lock.release()
