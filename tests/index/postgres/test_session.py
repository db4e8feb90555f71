"""All reads of one request share a transaction, whichever thread reads and whatever breaks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from tests.index.postgres.store_rows import TeamStore

from cairn.errors import OutOfTimeError, StoreUnavailableError
from cairn.index.postgres import transactions
from cairn.index.postgres.snapshots import RequestReads
from cairn.index.postgres.transactions import Store

WAIT_SECONDS = 10.0


@pytest.fixture
def store(team: TeamStore) -> Iterator[Store]:
    """A store with one connection, so that a test fails where a read does not give it back."""
    opened = Store([team.server_url], connections=1)
    yield opened
    opened.close()


def files(connection: Connection[TupleRow]) -> list[int]:
    return [number for (number,) in connection.execute("SELECT id FROM cairn.files ORDER BY id")]


def transaction(connection: Connection[TupleRow]) -> object:
    return connection.execute("SELECT pg_backend_pid(), now()").fetchone()


def is_in_transaction(team: TeamStore) -> bool:
    rows = team.owner.execute(
        """SELECT 1 FROM pg_stat_activity
           WHERE application_name = 'cairn' AND state LIKE 'idle in transaction%'"""
    )
    return bool(rows.fetchall())


def test_reads_of_a_session_share_a_transaction(team: TeamStore, store: Store) -> None:
    found: list[object] = []
    with RequestReads(store, "ann") as session:
        for _ in range(3):
            thread = threading.Thread(target=lambda: found.append(session.read(transaction)))
            thread.start()
            thread.join(WAIT_SECONDS)
        assert is_in_transaction(team)
    assert len(found) == 3
    assert len(set(found)) == 1
    assert not is_in_transaction(team)


def test_each_single_read_has_a_transaction(store: Store) -> None:
    reads = store.single_reads("ann")
    assert reads.read(transaction) != reads.read(transaction)


def test_session_connects_at_the_first_read() -> None:
    store = Store(["postgresql://127.0.0.1:1/nowhere"])
    with RequestReads(store, "ann") as session, pytest.raises(StoreUnavailableError, match="refuses"):
        session.read(files)
    store.close()


def test_sessions_show_what_their_reader_may_see(store: Store) -> None:
    for reader, seen in (("ann", [1, 2]), ("bob", [4]), ("ann", [1, 2])):
        with RequestReads(store, reader) as session:
            assert session.read(files) == seen
            assert session.read(files) == seen


def test_failed_read_ends_the_session_and_fails_later_reads(
    team: TeamStore, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "TIMEOUT_MS", 200)
    with RequestReads(store, "ann") as session:
        assert session.read(files) == [1, 2]
        with pytest.raises(OutOfTimeError):
            session.read(lambda db: db.execute("SELECT pg_sleep(10)"))
        assert not is_in_transaction(team)
        with pytest.raises(OutOfTimeError):
            session.read(files)


@pytest.mark.parametrize("breaks", [1, 2])
def test_session_reads_again_when_its_connection_breaks_once(
    team: TeamStore, store: Store, breaks: int
) -> None:
    backends: list[int] = []

    def ask(connection: Connection[TupleRow]) -> list[int]:
        backends.append(connection.info.backend_pid)
        if len(backends) <= breaks:
            team.owner.execute("SELECT pg_terminate_backend(%s, 5000)", (backends[-1],))
        return files(connection)

    with RequestReads(store, "ann") as session:
        if breaks == 1:
            assert session.read(ask) == [1, 2]
        else:
            with pytest.raises(StoreUnavailableError):
                session.read(ask)
    assert len(set(backends)) == len(backends) == 2


def test_ended_session_reads_in_transactions_of_their_own(team: TeamStore, store: Store) -> None:
    with RequestReads(store, "ann") as session:
        session.read(files)
    assert session.read(files) == [1, 2]
    assert not is_in_transaction(team)


def test_detached_reads_of_a_session_see_the_same(team: TeamStore) -> None:
    store = Store([team.server_url], connections=2)
    with RequestReads(store, "bob") as session:
        assert session.detached.read(transaction) != session.read(transaction)
        assert session.detached.read(files) == [4]
    store.close()


def test_read_that_outlives_its_session_returns_the_connection(team: TeamStore, store: Store) -> None:
    reading, may_end = threading.Event(), threading.Event()

    def slow(connection: Connection[TupleRow]) -> list[int]:
        reading.set()
        assert may_end.wait(WAIT_SECONDS)
        return files(connection)

    with RequestReads(store, "ann") as session:
        thread = threading.Thread(target=session.read, args=(slow,))
        thread.start()
        assert reading.wait(WAIT_SECONDS)
    may_end.set()
    thread.join(WAIT_SECONDS)
    assert not is_in_transaction(team)
    with RequestReads(store, "bob") as other:
        assert other.read(files) == [4]


def test_sessions_of_many_threads_do_not_mix(team: TeamStore) -> None:
    store = Store([team.server_url], connections=4)

    def seen(reader: str) -> set[tuple[int, ...]]:
        found = set()
        for _ in range(20):
            with RequestReads(store, reader) as session:
                found |= {tuple(session.read(files)), tuple(session.read(files))}
        return found

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(seen, ("ann", "bob", "ann"))) == [{(1, 2)}, {(4,)}, {(1, 2)}]
    store.close()
