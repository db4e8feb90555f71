"""A server beside the store's own that has some of its shards: who asks for them while it hangs is told so at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from attrs import define, field
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from cairn.errors import StoreUnavailableError

_PATIENCE_MS = 3_000
"""How long a statement about rows there may take. A process that is stopped keeps its connections open and says nothing."""
_HUNG_SECONDS = 5.0
"""How long nobody asks it again after that. Without this, questions about it would hold all threads, and all others up."""

T = TypeVar("T")


@define(eq=False, slots=False)
class OtherServer:
    """One of them, as this process knows it. Methods may be called from several threads at once."""

    name: str
    """That of its foreign server in the database."""
    _hung_until: float = field(default=float("-inf"), init=False)

    def watched(self, ask: Callable[[Connection[TupleRow]], T]) -> Callable[[Connection[TupleRow]], T]:
        """`ask`, for statements that end soon. It raises what `watching` does."""

        def watched(connection: Connection[TupleRow]) -> T:
            with self.watching():
                connection.execute(f"SET LOCAL statement_timeout = {_PATIENCE_MS}")
                return ask(connection)

        return watched

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raises StoreUnavailableError where a statement takes too long, and before any where one did just now."""
        if time.monotonic() < self._hung_until:
            raise self._problem()
        try:
            yield
        except errors.QueryCanceled:
            self._hung_until = time.monotonic() + _HUNG_SECONDS
            raise self._problem() from None

    def _problem(self) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"The repository lies on another server, {self.name}, that does not answer. Restart PostgreSQL there; other"
            " repositories can be asked by name meanwhile."
        )


_KNOWN: WeakValueDictionary[tuple[str, int, str, str], OtherServer] = WeakValueDictionary()


def server_of(connection: Connection[TupleRow], shard: int) -> OtherServer | None:
    """The server that has the shard; None where that is the store's own."""
    # Readers may not read cairn.shards, and PostgreSQL's catalogue shows nothing but the name.
    row = connection.execute(
        """SELECT s.srvname FROM pg_foreign_table t JOIN pg_foreign_server s ON s.oid = t.ftserver
           WHERE t.ftrelid = to_regclass('cairn.chunks_' || %s::int)""",
        (shard,),
    ).fetchone()
    if row is None:
        return None
    info = connection.info
    return _KNOWN.setdefault((info.host, info.port, info.dbname, row[0]), OtherServer(row[0]))
